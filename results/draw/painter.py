"""Drawing: Matplotlib's figures into files, several at a time."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from multiprocessing import connection as waiting
from multiprocessing import get_context, parent_process
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from results.draw.job import Job
from results.draw.style import DPI, RC
from results.errors import LockcrossError, NoDataError
from results.store.store import Store


class FigureError(LockcrossError):
    """A figure cannot be written."""


def figure_of(job: Job) -> Figure:
    """The figure of a job. Raises NoDataError."""
    module, _, name = job.draw.rpartition(".")
    function = getattr(import_module(module), name)
    with ExitStack() as opened:

        def read(path: Path) -> sqlite3.Connection:
            return opened.enter_context(Store(path, read_only=True)).connection

        given: object = job.given
        if isinstance(given, Path):
            given = read(given)
        elif isinstance(given, Mapping):
            given = {title: read(path) for title, path in given.items()}
        figure = function(given, **({"machine": job.machine} if job.machine else {}))
    assert isinstance(figure, Figure)
    return figure


def paint(job: Job, folder: Path) -> str:
    """Draws a figure into `folder`; returns why it is left out, or nothing. Raises FigureError."""
    try:
        write(job.name, job.title, partial(figure_of, job), folder)
    except NoDataError as missing:
        return missing.message
    return ""


def paint_all(jobs: Sequence[Job], folder: Path) -> Iterator[str]:
    """Draws figures, as many at a time as there are CPUs; yields of each, in order, why it is left
    out, or nothing. Raises FigureError."""
    workers = min(len(os.sched_getaffinity(0)), len(jobs))
    if workers < 2:
        yield from (paint(job, folder) for job in jobs)
        return
    for job in jobs:  # what is imported now, the workers have
        import_module(job.draw.rpartition(".")[0])
    pool = ProcessPoolExecutor(workers, get_context("fork"), _begin)
    try:
        drawn = [(job, pool.submit(paint, job, folder)) for job in jobs]
        yield from (_outcome(job, folder, future) for job, future in drawn)
    finally:
        pool.shutdown(cancel_futures=True)


def _outcome(job: Job, folder: Path, drawn: Future[str]) -> str:
    try:
        return drawn.result()
    except (LockcrossError, OSError):
        raise
    except Exception:  # a mistake of the program, or a worker was killed: here its place shows
        return paint(job, folder)


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
