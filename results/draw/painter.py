"""Draws figures and writes them as PNG and SVG, the same bytes for the same data."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from multiprocessing import connection as waiting
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from results.draw.drawing import Drawing
from results.errors import LockcrossError, NoDataError
from results.store.store import Store

mpl.use("Agg")


class FigureError(LockcrossError):
    """A figure cannot be written."""


HALO = [patheffects.withStroke(linewidth=2.5, foreground="white")]  # of text over lines


def panels(
    count: int,
    columns: int,
    size: tuple[float, float],
    more: tuple[float, float] = (0.0, 0.0),
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels, `columns` at most beside one another, and its axes; those behind
    the panels are empty. `size`: of a panel, and `more`: beside all of them, in inches (width,
    height)."""
    columns = min(columns, count)
    rows = -(-count // columns)
    inches = (size[0] * columns + more[0], size[1] * rows + more[1])
    figure = Figure(figsize=inches, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flatten())
    for ax in axes[count:]:
        ax.axis("off")
    return figure, axes


def paint(drawing: Drawing, folder: Path) -> str:
    """Draws a figure into `folder`; returns why it is left out, or nothing. Raises FigureError."""
    module, _, name = drawing.draw.rpartition(".")
    function = getattr(import_module(module), name)
    of_machine = {"machine": drawing.machine} if drawing.machine else {}
    with ExitStack() as opened:

        def read(path: Path) -> sqlite3.Connection:
            return opened.enter_context(Store(path, read_only=True)).connection

        def draw() -> Figure:
            given: object = drawing.given
            if isinstance(given, Path):
                given = read(given)
            elif isinstance(given, Mapping):
                given = {title: read(path) for title, path in given.items()}
            figure: Figure = function(given, **of_machine)
            return figure

        try:
            write(drawing.name, drawing.title, draw, folder)
        except NoDataError as missing:
            return missing.message
    return ""


def paint_all(drawings: Sequence[Drawing], folder: Path) -> Iterator[str]:
    """Draws figures, as many at a time as there are CPUs; yields of each, in order, why it is left
    out, or nothing. Raises FigureError."""
    workers = min(len(os.sched_getaffinity(0)), len(drawings))
    if workers < 2:
        yield from (paint(drawing, folder) for drawing in drawings)
        return
    for drawing in drawings:  # what is imported now, the workers have
        import_module(drawing.draw.rpartition(".")[0])
    pool = ProcessPoolExecutor(workers, get_context("fork"), _begin)
    try:
        for drawing, painted in [
            (drawing, pool.submit(paint, drawing, folder)) for drawing in drawings
        ]:
            try:
                yield painted.result()
            except (LockcrossError, OSError):
                raise
            except Exception:  # a mistake of the program, or a worker was killed: here it shows
                yield paint(drawing, folder)
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """What a worker does first. An interrupt is for the driver to handle, and a worker ends when
    its driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None

    def end() -> None:
        waiting.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def write(name: str, title: str, draw: Callable[[], Figure], folder: Path) -> Path:
    """Draws a figure and writes it into `folder` as PNG and SVG; returns the PNG's path.

    Both have the places of axes and texts that were worked out for the PNG. Raises FigureError, and
    what `draw` raises.
    """
    path = folder / f"{name}.png"
    with mpl.rc_context({"backend": "Agg", **RC}):
        figure = draw()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Figure.savefig would work the places out, and draw everything unseen, for each file.
            figure.set_dpi(DPI)
            FigureCanvasAgg(figure).print_png(  # type: ignore[no-untyped-call]
                path, metadata={"Software": ""}
            )
            figure.set_layout_engine("none")
            FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
                path.with_suffix(".svg"), metadata={"Date": None, "Title": title}
            )
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


DPI = 200  # of PNGs

RC: dict[Any, Any] = {  # what Matplotlib takes; its own type lists every key
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.5,
    "hatch.color": "#00000040",
    "svg.hashsalt": "lockcross",  # the same data give the same bytes
    "savefig.dpi": DPI,
}
