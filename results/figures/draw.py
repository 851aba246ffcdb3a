"""Figures, drawn from the database alone: PNG for the screen and print, SVG for the report."""

import sqlite3
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib.figure import Figure

from results.analysis.explorer import KIND
from results.analysis.many_cores import FACT as MANY_CORES
from results.analysis.reference import References, Source
from results.analysis.study import NoDataError, machines, optional_fact
from results.errors import LockcrossError
from results.figures.engines import draw_engines
from results.figures.latency import draw_latency
from results.figures.many_cores import draw_cancellation, draw_cores, draw_distance
from results.figures.reproductions import draw_reproduction
from results.figures.rounds import draw_rounds
from results.figures.run_length import draw_run_length
from results.figures.style import RC
from results.figures.validation import draw_validation
from results.figures.winner_map import draw_map
from results.published.reproduction import load as load_reproductions


class FigureError(LockcrossError):
    """A figure cannot be written."""


@dataclass(frozen=True)
class Drawing:
    """A figure's name (also its files'), its title, and what it shows, in words. `section`:
    the part of the report that it belongs to. `each_machine`: there is one for each of the study's
    machines, which `draw` takes as `machine`."""

    name: str
    section: str
    title: str
    text: str
    draw: Callable[..., Figure]
    each_machine: bool = False


STUDY, LATENCY, VALIDATION = "study", "latency", "validation"

DRAWINGS = (
    Drawing(
        "winner_map",
        STUDY,
        "Who wins, by the latency of a CAS and of a full fence",
        "Winner map for each instruction set over measured CAS latency (horizontal) and measured "
        "full-fence latency (vertical): the lock with the fewest cycles per acquire-release pair. "
        "Black lines join the crossovers that were searched for (dots, thick over the band of all "
        "seeds). Between the points that were run costs are interpolated. "
        "Where the map is lighter, the lead over the next lock is a tie. On the toothed "
        "side of the pink line the thin lock would be cheaper still. Real processors, on the map "
        "of the study's own machine, have colour and shape of the lock that wins on them as they "
        "are, two colours for a tie, a star where a latency is assumed.",
        draw_map,
        each_machine=True,
    ),
    Drawing(
        "run_length",
        STUDY,
        "What pays for a cancellation: cost against run length",
        "Cycles per acquire-release pair against the number of acquisitions by the owner before "
        "another thread takes the lock as often, for tasuki, asymmetric and reservation locks at "
        "several cancellation costs. Marks show the break-even run lengths, black bars their band "
        "over all seeds where that is wider than a mark.",
        draw_run_length,
        each_machine=True,
    ),
    Drawing(
        "rounds",
        STUDY,
        "Two threads in turns of three rounds (thesis, Figure 6.15)",
        "Time of each round relative to the first round of the tasuki lock, logarithmic scale, a "
        "panel for each kind of fence. "
        "The reservation lock's fourth round, in which the second thread cancels every "
        "reservation, stands far above all others.",
        draw_rounds,
    ),
    Drawing(
        "many_cores",
        MANY_CORES,
        "Many cores that contend for one lock",
        "Cost of an acquire-release pair, the time from one section to the next, what a pair sends "
        "over the network, and how busy the busiest home of lines is, each against the number of "
        "cores that contend, for every lock. Bands are the least and the greatest of all seeds.",
        draw_cores,
    ),
    Drawing(
        "many_cores_distance",
        MANY_CORES,
        "An owner and one contender, by the way between them",
        "Cost of a pair, and messages on the network, against the number of links between the "
        "owner's node and the contender's, a column for each share of the acquisitions that is the "
        "owner's. Bands are the least and the greatest of all seeds.",
        draw_distance,
    ),
    Drawing(
        "many_cores_map",
        MANY_CORES,
        "What it takes to cancel a reservation, from each node of the mesh",
        "The mesh with, at each node, the cycles that a contender there takes to cancel a "
        "reservation of the owner's, without the charge for stopping a thread, which is the same "
        "from everywhere. The owner is in the corner. The homes of the lines that they exchange "
        "are where their addresses put them, and the way to those counts too.",
        draw_cancellation,
    ),
    Drawing(
        "latency_calibration",
        LATENCY,
        "Latency mechanisms: set against measured latency",
        "Measured latency of a CAS, of a full fence and of a cancellation against the latency that "
        "was set, a column for each engine, a line for each instruction set and "
        "mechanism, labelled with its line of least squares; brackets distinguish engines that "
        "use the same mechanism. The grey line has slope 1.",
        draw_latency,
    ),
    Drawing(
        "validation",
        VALIDATION,
        "The candidate engine against the reference",
        "Cycles per acquire-release pair on the engine that is judged, relative to its reference, "
        "over the cost on the reference, a panel for each validation set: colours "
        "distinguish instruction sets, markers locks. The grey band is 10 % on either side; each "
        "panel's worst cell is named.",
        draw_validation,
    ),
)  # fmt: skip


# Drawn from several databases, so not one of the above.
ENGINES = Drawing(
    "engines",
    STUDY,
    "Where the cheapest lock changes, by engine",
    "The borders of the winner map on several engines, drawn over one another, each over the "
    "latencies measured on that engine.",
    lambda connection: draw_engines({"the database": connection}),
)


def draw_all(
    connection: sqlite3.Connection, folder: Path, others: References | None = None
) -> dict[str, Path]:
    """Draws every figure that the database has data for into `folder`; returns the PNG of each by
    name. The SVG lies beside it. A figure that a study lacks is named on stderr. `others`: where
    validations and latency sweeps come from, if not from the database.

    The same database gives the same bytes. Raises NoDataError for a database with nothing to
    draw, FigureError when a file cannot be written.
    """
    found = {}
    study = optional_fact(connection, "plan") is not None
    for drawing, source in drawings(connection, others):
        try:
            draw = partial(drawing.draw, source)
            found[drawing.name] = write(drawing.name, drawing.title, draw, folder)
        except NoDataError as missing:
            if study and drawing.section == STUDY:
                print(f"figure {drawing.name} left out: {missing.message}", file=sys.stderr)
    for one in load_reproductions(connection):
        if one.plot.kind:
            name = reproduction_figure(one.name)
            try:
                found[name] = write(name, one.title, partial(draw_reproduction, one), folder)
            except NoDataError as missing:  # all of its runs failed
                print(f"figure {name} left out: {missing.message}", file=sys.stderr)
    if others and others.apart:
        print(f"figure {ENGINES.name}: {others.apart}", file=sys.stderr)
    if others and others.studies and STUDY in {d.section for d in DRAWINGS if d.name in found}:
        found[ENGINES.name] = draw_over_one_another(others.studies, folder)
    if not found and optional_fact(connection, KIND) is None:
        raise NoDataError(
            "this database holds no finished study (./lockcross crossover makes one), no "
            "validation and no latency sweeps (./lockcross validate), so there is nothing to draw"
        )
    return found


def drawings(
    connection: sqlite3.Connection, others: References | None
) -> list[tuple[Drawing, sqlite3.Connection]]:
    """The figures of DRAWINGS, each with the database that it is drawn from. Some stand once for
    each machine of the study, or for each validation; the further ones are named after it."""
    found = []
    sources = others.validations if others else [Source(connection)]
    for drawing in DRAWINGS:
        if drawing.each_machine:
            found += [(one, connection) for one in _of_machines(drawing, connection)]
        elif drawing.section in (STUDY, MANY_CORES):
            found.append((drawing, connection))
        elif drawing.section == LATENCY:
            found.append((drawing, others.latency.connection if others else connection))
        else:
            found += [
                (replace(drawing, name=validation_figure(source, place)), source.connection)
                for place, source in enumerate(sources)
            ]
    return found


def _of_machines(drawing: Drawing, connection: sqlite3.Connection) -> list[Drawing]:
    """The figure of each machine of the study, if there is one."""
    names = machines(connection) if optional_fact(connection, "plan") else []
    return [
        replace(
            drawing,
            name=f"{drawing.name}_{name}" if place else drawing.name,
            title=f"{drawing.title}: machine {name}" if len(names) > 1 else drawing.title,
            draw=partial(drawing.draw, machine=name),
        )
        for place, name in enumerate(names)
    ]


def validation_figure(source: Source, place: int) -> str:
    """The name of the figure of a validation, the first at place 0."""
    stem = Path(source.name).stem
    return f"{VALIDATION}_{stem if stem != VALIDATION else 'reference'}" if place else VALIDATION


def reproduction_figure(name: str) -> str:
    """The name of a reproduction's figure."""
    return f"reproduction_{name}"


def write(name: str, title: str, draw: Callable[[], Figure], folder: Path) -> Path:
    """Draws a figure and writes it into `folder` as PNG and SVG; returns the PNG's path.

    Raises FigureError, and what `draw` raises.
    """
    path = folder / f"{name}.png"
    with mpl.rc_context({"backend": "Agg", **RC}):
        figure = draw()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, metadata={"Software": ""})
            figure.savefig(path.with_suffix(".svg"), metadata={"Date": None, "Title": title})
        except OSError as error:
            raise FigureError(
                f"{error.filename or folder}: cannot be written ({error.strerror}); name another "
                "folder with --output",
                exit_code=1,
            ) from None
    return path


def save(file: Path, draw: Callable[[], Figure]) -> None:
    """Draws a figure into one file, of the kind that its ending names. Raises FigureError."""
    with mpl.rc_context({"backend": "Agg", **RC}):
        figure = draw()
        try:
            figure.savefig(file, metadata={"Software": ""} if file.suffix == ".png" else None)
        except OSError as error:
            raise FigureError(
                f"{file}: cannot be written ({error.strerror}); name another file", exit_code=2
            ) from None


def draw_over_one_another(studies: Mapping[str, sqlite3.Connection], folder: Path) -> Path:
    """Draws the figure `engines` from several studies, each with a name for messages; returns the
    PNG's path. Raises NoDataError, FigureError."""
    return write(ENGINES.name, ENGINES.title, partial(draw_engines, studies), folder)
