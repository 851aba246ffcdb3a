"""Which figures there are, and which of them a database has. Nothing is drawn here."""

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from results.draw.job import Job
from results.store.database import file_of
from sweeps.questions.many_cores.answer import NAME as MANY_CORES
from sweeps.questions.reproduce.answer import load as load_reproductions
from sweeps.report.reference import References, Source
from sweeps.search.found import PLAN, machines


@dataclass(frozen=True)
class Drawing:
    """A figure's name (also its files'), its title, and what it shows, in words. `section`: the
    part of the report that it belongs to. `draw`: the function that draws it, by its module and
    name in this package. `each_machine`: there is one for each of the study's machines, which the
    function takes as `machine`."""

    name: str
    section: str
    title: str
    text: str
    draw: str
    each_machine: bool = False
    machine: str = ""


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
        "side of the pink line the thin lock would be cheaper still. Marks, on the map of the "
        "study's own machine, are places: the CAS and fence of a real processor whose own "
        "cancellation costs what the map's does, a star where a latency is assumed.",
        "sweeps.questions.crossover.winner_map.draw_map",
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
        "sweeps.questions.crossover.curves.draw_run_length",
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
        "sweeps.questions.crossover.curves.draw_rounds",
    ),
    Drawing(
        "many_cores",
        MANY_CORES,
        "Many cores that contend for one lock",
        "Cost of an acquire-release pair, the time from one section to the next, what a pair sends "
        "over the network, and how busy the busiest home of lines is, each against the number of "
        "cores that contend, for every lock. Bands are the least and the greatest of all seeds.",
        "sweeps.questions.many_cores.figures.draw_cores",
    ),
    Drawing(
        "many_cores_distance",
        MANY_CORES,
        "An owner and one contender, by the way between them",
        "Cost of a pair, and messages on the network, against the number of links between the "
        "owner's node and the contender's, a column for each share of the acquisitions that is the "
        "owner's. Bands are the least and the greatest of all seeds.",
        "sweeps.questions.many_cores.figures.draw_distance",
    ),
    Drawing(
        "many_cores_map",
        MANY_CORES,
        "What it takes to cancel a reservation, from each node of the mesh",
        "The mesh with, at each node, the cycles that a contender there takes to cancel a "
        "reservation of the owner's, without the charge for stopping a thread, which is the same "
        "from everywhere. The owner is in the corner. The homes of the lines that they exchange "
        "are where their addresses put them, and the way to those counts too.",
        "sweeps.questions.many_cores.figures.draw_cancellation",
    ),
    Drawing(
        "latency_calibration",
        LATENCY,
        "Latency mechanisms: set against measured latency",
        "Measured latency of a CAS, of a full fence and of a cancellation against the latency that "
        "was set, a column for each engine, a line for each instruction set and "
        "mechanism, labelled with its line of least squares; brackets distinguish engines that "
        "use the same mechanism. The grey line has slope 1.",
        "sweeps.questions.validate.latency_figure.draw_latency",
    ),
    Drawing(
        "validation",
        VALIDATION,
        "The candidate engine against the reference",
        "Cycles per acquire-release pair on the engine that is judged, relative to its reference, "
        "over the cost on the reference, a panel for each validation set: colours "
        "distinguish instruction sets, markers locks. The grey band is 10 % on either side; each "
        "panel's worst cell is named.",
        "sweeps.questions.validate.figure.draw_validation",
    ),
)  # fmt: skip


ENGINES = Drawing(  # drawn from several databases, so not one of the above
    "engines",
    STUDY,
    "Where the cheapest lock changes, by engine",
    "The borders of the winner map on several engines, drawn over one another, each over the "
    "latencies measured on that engine.",
    "sweeps.questions.crossover.borders.draw_engines",
)


def jobs(connection: sqlite3.Connection, others: References | None) -> list[Job]:
    """Every figure that may be drawn of a database. `others`: where validations and latency sweeps
    come from, if not from the database, and what is drawn over its study."""
    study = PLAN.optional(connection) is not None
    found = [
        Job(
            one.name, one.title, one.draw, file_of(source), one.section, one.machine,
            study and one.section == STUDY,
        )
        for one, source in drawings(connection, others)
    ]  # fmt: skip
    if study and others and others.studies:
        studies = {title: file_of(one) for title, one in others.studies.items()}
        found.append(Job(ENGINES.name, ENGINES.title, ENGINES.draw, studies, ENGINES.section))
    return found + [
        Job(
            reproduction_figure(one.name), one.title,
            "sweeps.questions.reproduce.figure.draw_reproduction", one, said=True,
        )
        for one in load_reproductions(connection)
        if one.plot.kind
    ]  # fmt: skip


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
    names = machines(connection) if PLAN.optional(connection) else []
    return [
        replace(
            drawing,
            name=f"{drawing.name}_{name}" if place else drawing.name,
            title=f"{drawing.title}: machine {name}" if len(names) > 1 else drawing.title,
            machine=name,
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
