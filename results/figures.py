"""Figures, drawn from the database alone: PNG for the screen and print, SVG for the report."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib.figure import Figure

from results.errors import LockcrossError
from results.figure_map import draw_map
from results.figure_rounds import draw_rounds
from results.figure_run_length import draw_run_length
from results.style import RC


class FigureError(LockcrossError):
    """A figure cannot be written."""


@dataclass(frozen=True)
class Drawing:
    """A figure's name (also its files'), title, and what stands in it, in words."""

    name: str
    title: str
    text: str
    draw: Callable[[sqlite3.Connection], Figure]


DRAWINGS = (
    Drawing(
        "winner_map",
        "Who wins, by the latency of a CAS and of a full fence",
        "Winner map for each instruction set over measured CAS latency (horizontal) and measured "
        "full-fence latency (vertical): the lock with the least cycles per acquire-release pair. "
        "Black lines join the crossovers that were searched for (dots); diamonds are real "
        "processors, hollow where a latency is assumed.",
        draw_map,
    ),
    Drawing(
        "run_length",
        "What pays for a cancellation: cost against run length",
        "Cycles per acquire-release pair against the number of acquisitions by the owner before "
        "another thread takes the lock as often, for tasuki, asymmetric and reservation locks at "
        "several cancellation costs. Marks show the break-even run lengths.",
        draw_run_length,
    ),
    Drawing(
        "rounds",
        "Two threads in turns of three rounds (thesis, Figure 6.15)",
        "Time of each round relative to the first round of the tasuki lock, logarithmic scale, a "
        "panel for each kind of fence. "
        "The reservation lock's fourth round, in which the second thread cancels every "
        "reservation, stands far above all others.",
        draw_rounds,
    ),
)  # fmt: skip


def draw_all(connection: sqlite3.Connection, folder: Path) -> dict[str, Path]:
    """Draws every figure into `folder`; returns the PNG of each by name. The SVG lies beside it.

    The same database gives the same bytes. Raises NoDataError for a database without a study,
    FigureError when a file cannot be written.
    """
    found = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for drawing in DRAWINGS:
            with mpl.rc_context({"backend": "Agg", **RC}):
                figure = drawing.draw(connection)
                path = folder / f"{drawing.name}.png"
                figure.savefig(path, metadata={"Software": ""})
                figure.savefig(
                    path.with_suffix(".svg"), metadata={"Date": None, "Title": drawing.title}
                )
            found[drawing.name] = path
    except OSError as error:
        raise FigureError(
            f"{error.filename or folder}: cannot be written ({error.strerror}); name another "
            "folder with --output",
            exit_code=1,
        ) from None
    return found
