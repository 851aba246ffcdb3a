"""Figures, drawn from the database alone: PNG for the screen and print, SVG for the report.

Beside them stands what they were drawn from (`drawn.json`), and what is as it was is not drawn
again: a figure is drawn anew when a database, the code or a package that draws has changed, or when
one of its files is not as it was written.
"""

import hashlib
import json
import platform
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from results.draw.drawing import Drawing
from results.errors import NoDataError
from results.paths import ROOT
from results.store.database import file_of, log_of
from sweeps.report.shown import OF_STUDIES, References, Source, drawings, questions

_PACKAGES = ("contourpy", "kiwisolver", "matplotlib", "numpy", "pillow")


def draw_all(
    connection: sqlite3.Connection, folder: Path, others: References | None = None
) -> dict[str, Path]:
    """Draws every figure that the database has data for into `folder`; returns the PNG of each by
    name. The SVG lies beside it. A figure that a study lacks is named on stderr. `others`: where
    validations and latency sweeps come from, if not from the database.

    The same database gives the same bytes. Raises NoDataError for a database with nothing to
    draw, FigureError when a file cannot be written.
    """
    others = others or References([Source(connection)], {})
    wanted = drawings(connection, others)
    left_out = _drawn(wanted, folder, _source(connection, wanted))
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
    """Why each figure is left out, or nothing: those of them that have to be are drawn."""
    record = folder / "drawn.json"
    known: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        kept = json.loads(record.read_text(encoding="utf-8"))
        known = kept["figures"] if kept["source"] == source else {}
    as_it_was = {name for name, files in known.items() if _files(folder, name, files) == files}
    if missing := [drawing for drawing in wanted if drawing.name not in as_it_was]:
        from results.draw.painter import paint_all

        for drawing, why in zip(missing, paint_all(missing, folder), strict=True):
            known[drawing.name] = _files(folder, drawing.name, {"left_out": why} if why else {})
        figures = {drawing.name: known[drawing.name] for drawing in wanted}
        with suppress(FileNotFoundError):  # nothing was drawn, so there is no folder
            text = json.dumps({"source": source, "figures": figures}, indent=1, sort_keys=True)
            record.write_text(text + "\n", encoding="utf-8")
    return {drawing.name: known[drawing.name].get("left_out", "") for drawing in wanted}


def _files(folder: Path, name: str, known: dict[str, str]) -> dict[str, str]:
    """What is recorded of a figure: why it is left out, or digests of its files."""
    if "left_out" in known:
        return known
    paths = (folder / f"{name}{end}" for end in (".png", ".svg"))
    return {path.suffix: _digest(path) for path in paths if path.is_file()}


def _source(connection: sqlite3.Connection, wanted: list[Drawing]) -> str:
    """A digest of all that figures are made of: databases, code, packages."""
    total = hashlib.sha256()
    for word in (platform.python_version(), *(version(name) for name in _PACKAGES)):
        total.update(f"{word}\0".encode())
    sources = (path for package in ("results", "sweeps") for path in (ROOT / package).rglob("*.py"))
    for path in sorted(sources):
        total.update(f"{path.relative_to(ROOT)} {_digest(path)}\0".encode())
    databases = {"": file_of(connection)}  # by the figure, and what they are of it
    for drawing in wanted:
        several = drawing.given if isinstance(drawing.given, Mapping) else {"": drawing.given}
        databases |= {
            f"{drawing.name} {title}": path
            for title, path in several.items()
            if isinstance(path, Path)
        }
    digests = {path: _digest(path) + _digest(log_of(path)) for path in set(databases.values())}
    for role, path in databases.items():
        total.update(f"{role}\0{digests[path]}\0".encode())
    return total.hexdigest()


def _digest(path: Path) -> str:
    """Of a file's content; nothing where there is no file, or an empty one."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if path.stat().st_size else ""
    return ""
