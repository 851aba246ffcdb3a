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
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from results.draw.job import Job
from results.errors import NoDataError
from results.paths import ROOT
from results.store.database import file_of, log_of
from sweeps.questions.explore.explorer import PLAN as EXPLORED
from sweeps.report.catalogue import ENGINES, STUDY, jobs
from sweeps.report.reference import References

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
    wanted = jobs(connection, others)
    left_out = _drawn(wanted, folder, _source(connection, others))
    found = {}
    for job in wanted:
        if not left_out[job.name]:
            found[job.name] = folder / f"{job.name}.png"
        elif job.said:
            print(f"figure {job.name} left out: {left_out[job.name]}", file=sys.stderr)
    if others and others.apart:
        print(f"figure {ENGINES.name}: {others.apart}", file=sys.stderr)
    engines = found.pop(ENGINES.name, None)
    if any(job.section == STUDY and job.name in found for job in wanted):
        if why := left_out.get(ENGINES.name):
            raise NoDataError(why)
        found |= {ENGINES.name: engines} if engines else {}
    if not found and EXPLORED.optional(connection) is None:
        raise NoDataError(
            "this database holds no finished study (./lockcross crossover makes one), no "
            "validation and no latency sweeps (./lockcross validate), so there is nothing to draw"
        )
    return found


def _drawn(wanted: list[Job], folder: Path, source: str) -> dict[str, str]:
    """Why each figure is left out, or nothing: those of them that have to be are drawn."""
    record = folder / "drawn.json"
    known: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        kept = json.loads(record.read_text(encoding="utf-8"))
        known = kept["figures"] if kept["source"] == source else {}
    as_it_was = {name for name, one in known.items() if _files(folder, name, one) == one}
    if missing := [job for job in wanted if job.name not in as_it_was]:
        from results.draw.painter import paint_all  # all of Matplotlib

        for job, why in zip(missing, paint_all(missing, folder), strict=True):
            known[job.name] = _files(folder, job.name, {"left_out": why} if why else {})
        names = {job.name for job in wanted}
        figures = {name: one for name, one in known.items() if name in names}
        with suppress(FileNotFoundError):  # nothing was drawn, so there is no folder
            text = json.dumps({"source": source, "figures": figures}, indent=1, sort_keys=True)
            record.write_text(text + "\n", encoding="utf-8")
    return {job.name: known[job.name].get("left_out", "") for job in wanted}


def _files(folder: Path, name: str, known: dict[str, str]) -> dict[str, str]:
    """What is recorded of a figure: why it is left out, or digests of its files."""
    if "left_out" in known:
        return known
    paths = (folder / f"{name}{end}" for end in (".png", ".svg"))
    return {path.suffix: _digest(path) for path in paths if path.is_file()}


def _source(connection: sqlite3.Connection, others: References | None) -> str:
    """A digest of all that figures are made of: databases, code, packages."""
    total = hashlib.sha256()
    for word in (platform.python_version(), *(version(name) for name in _PACKAGES)):
        total.update(f"{word}\0".encode())
    sources = (path for package in ("results", "sweeps") for path in (ROOT / package).rglob("*.py"))
    for path in sorted(sources):
        total.update(f"{path.relative_to(ROOT)} {_digest(path)}\0".encode())
    digests: dict[Path, str] = {}
    for role, one in _databases(connection, others):
        path = file_of(one)
        if path not in digests:
            digests[path] = "".join(_digest(file) for file in (path, log_of(path)))
        total.update(f"{role}\0{digests[path]}\0".encode())
    return total.hexdigest()


def _databases(
    connection: sqlite3.Connection, others: References | None
) -> Iterator[tuple[str, sqlite3.Connection]]:
    """Every database that figures are drawn from, by what it is for."""
    yield "own", connection
    if others:
        yield from ((f"validation {one.name}", one.connection) for one in others.validations)
        yield "latency", others.latency.connection
        yield from ((f"study {title}", one) for title, one in others.studies.items())


def _digest(path: Path) -> str:
    """Of a file's content; nothing where there is no file, or an empty one."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if path.stat().st_size else ""
    return ""
