"""Figures, drawn from the database alone: PNG for the screen, SVG and PDF for a paper.

Beside them stands a record of their sources (`drawn.json`), and nothing is drawn again without a
change: a figure is drawn anew when a database, the code or a package that draws has changed, or
when one of its files is not as it was written.
"""

import hashlib
import json
import os
import platform
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from importlib.metadata import version
from multiprocessing import connection as waiting
from multiprocessing import get_context, parent_process
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from results.draw.drawing import Drawing
from results.errors import LockcrossError, NoDataError
from results.paths import ROOT
from results.store.database import file_of, log_of
from results.store.store import Store
from sweeps.report.presentation import OF_STUDIES, References, drawings, questions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PACKAGES = ("contourpy", "kiwisolver", "matplotlib", "numpy", "pillow")


def draw_all(
    connection: sqlite3.Connection, folder: Path, others: References | None = None
) -> dict[str, Path]:
    """Draw every figure that the database has data for into `folder`; return the PNG of each by
    name. SVG and PDF lie beside it. A figure that a study lacks is named on stderr. `others`: where
    validations and latency sweeps come from, if not from the database.

    The same database gives the same bytes. Raises NoDataError for a database with nothing to
    draw, LockcrossError when a file cannot be written.
    """
    others = others or References({})
    wanted = drawings(connection, others)
    databases = {"": file_of(connection)}
    for drawing in wanted:
        databases |= _databases(drawing)
    left_out = _drawn(wanted, folder, _source(databases))
    paths = {
        drawing.name: folder / f"{drawing.name}.png"
        for drawing in wanted
        if not left_out[drawing.name]
    }
    for drawing in wanted:
        if left_out[drawing.name] and drawing.said:
            print(f"figure {drawing.name} left out: {left_out[drawing.name]}", file=sys.stderr)
    if others.apart:
        print(f"figure {OF_STUDIES}: {others.apart}", file=sys.stderr)
    sections = {
        drawing.section for drawing in wanted if drawing.name in paths and not drawing.beside
    }
    for drawing in (drawing for drawing in wanted if drawing.beside):
        path = paths.pop(drawing.name, None)
        if drawing.section in sections:
            if path is None:
                raise NoDataError(left_out[drawing.name])
            paths[drawing.name] = path  # behind all others
    if not paths and not any(shown.alone(connection) for shown in questions(connection)):
        raise NoDataError(
            "this database holds no finished study (./lockcross crossover makes one), no "
            "validation and no latency sweeps (./lockcross validate), so there is nothing to draw"
        )
    return paths


def _drawn(wanted: list[Drawing], folder: Path, source: str) -> dict[str, str]:
    """Return why each figure is left out, or nothing: those of them that have to be are drawn."""
    record = folder / "drawn.json"
    known: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        kept = json.loads(record.read_text(encoding="utf-8"))
        known = kept["figures"] if kept["source"] == source else {}
    as_it_was = {name for name, files in known.items() if _files(folder, name, files) == files}
    if missing := [drawing for drawing in wanted if drawing.name not in as_it_was]:
        for drawing, why in zip(missing, _paint_all(missing, folder), strict=True):
            known[drawing.name] = _files(folder, drawing.name, {"left_out": why} if why else {})
        figures = {drawing.name: known[drawing.name] for drawing in wanted}
        with suppress(FileNotFoundError):  # nothing was drawn, so there is no folder
            text = json.dumps({"source": source, "figures": figures}, indent=1, sort_keys=True)
            record.write_text(text + "\n", encoding="utf-8")
    return {drawing.name: known[drawing.name].get("left_out", "") for drawing in wanted}


def _paint(drawing: Drawing, folder: Path) -> str:
    """Put a figure into `folder`; return why it is left out, or nothing. Raises LockcrossError."""
    from results.draw.painter import write

    function = resolve_name(drawing.draw)
    of_machine = {"machine": drawing.machine} if drawing.machine else {}
    with ExitStack() as opened:

        def read(path: Path) -> sqlite3.Connection:
            return opened.enter_context(Store(path, read_only=True)).connection

        def draw() -> "Figure":
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


def _paint_all(drawings: Sequence[Drawing], folder: Path) -> Iterator[str]:
    """Draw figures, as many at a time as there are CPUs; yield for each, in order, why it is left
    out, or nothing. Raises LockcrossError."""
    workers = min(len(os.sched_getaffinity(0)), len(drawings))
    if workers < 2:
        yield from (_paint(drawing, folder) for drawing in drawings)
        return
    for drawing in drawings:  # what is imported now, the workers have
        resolve_name(drawing.draw)
    pool = ProcessPoolExecutor(workers, get_context("fork"), _begin)
    try:
        for drawing, painted in [
            (drawing, pool.submit(_paint, drawing, folder)) for drawing in drawings
        ]:
            try:
                yield painted.result()
            except (LockcrossError, OSError):
                raise
            except Exception:  # a mistake of the program, or a worker was killed: here it shows
                yield _paint(drawing, folder)
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Begin a worker. An interrupt is for the driver to handle, and a worker ends when its driver
    is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None

    def end() -> None:
        waiting.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _files(folder: Path, name: str, known: dict[str, str]) -> dict[str, str]:
    """Return the record of a figure: why it is left out, or digests of its files."""
    if "left_out" in known:
        return known
    paths = (folder / f"{name}{end}" for end in (".png", ".svg", ".pdf"))
    return {path.suffix: _digest(path) for path in paths if path.is_file()}


def _databases(drawing: Drawing) -> dict[str, Path]:
    """Return the databases of a figure, by the figure and what they are of it."""
    several = drawing.given if isinstance(drawing.given, Mapping) else {"": drawing.given}
    return {
        f"{drawing.name} {title}": path for title, path in several.items() if isinstance(path, Path)
    }


def _source(databases: Mapping[str, Path]) -> str:
    """Return a digest of all that figures are made of: databases, code, packages."""
    total = hashlib.sha256()
    for word in (platform.python_version(), *(version(name) for name in _PACKAGES)):
        total.update(f"{word}\0".encode())
    sources = (path for package in ("results", "sweeps") for path in (ROOT / package).rglob("*.py"))
    for path in sorted(sources):
        total.update(f"{path.relative_to(ROOT)} {_digest(path)}\0".encode())
    digests = {path: _digest(path) + _digest(log_of(path)) for path in set(databases.values())}
    for role, path in databases.items():
        total.update(f"{role}\0{digests[path]}\0".encode())
    return total.hexdigest()


def _digest(path: Path) -> str:
    """Return the digest of a file's content; nothing where there is no file, or an empty one."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if path.stat().st_size else ""
    return ""
