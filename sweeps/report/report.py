"""The report: one HTML page that needs nothing else, made from the database alone; and the end of a
job, which draws, writes it and says who wins."""

import sqlite3
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from results.draw.drawing import Drawing
from results.draw.embedded import embedded
from results.errors import writing
from results.store.store import Store
from sweeps.model import engines
from sweeps.model.isa import ISAS, isa_of, isa_words
from sweeps.model.locks import FENCE_KINDS, LockLabel, load_locks
from sweeps.report.figures import draw_all
from sweeps.report.presentation import (
    Part,
    Presentation,
    References,
    Section,
    drawings,
    packages,
    questions,
    references,
)
from sweeps.report.style import style_of
from sweeps.study.results import JOB

_SHOWN_FAILURES = 100


def write_report(
    connection: sqlite3.Connection,
    path: Path,
    figures: Mapping[str, Path],
    others: References | None = None,
) -> Path:
    """Write the page to `path` and return it. `figures`: those that `draw_all` drew, with the same
    `others`.

    Sections without data are left out. Raises LockcrossError when it cannot be written.
    """
    return save(render(connection, figures, others), path)


def save(page: str, path: Path) -> Path:
    """Write a page to `path` and return it. Raises LockcrossError when it cannot be written."""
    with writing(path, "name another folder with --output"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    return path


def environment() -> Environment:
    """Return the environment of all templates, this room's and the questions'. Values in a page are
    escaped."""
    folders = [path / "templates" for path in (Path(__file__).parent, *packages().values())]
    return Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(
    connection: sqlite3.Connection, figures: Mapping[str, Path], others: References | None = None
) -> str:
    """Return the page as text. Everything from the database is escaped."""
    others = others or References({})
    drawn = [drawing for drawing in drawings(connection, others) if drawing.name in figures]
    with ThreadPoolExecutor() as pool:
        names = [drawing.name for drawing in drawn]
        uris = dict(zip(names, pool.map(embedded, map(figures.__getitem__, names)), strict=True))
    every = [shown.part(connection, others, drawn) for shown in [*questions(connection), FRAME]]
    parts = [part for part in every if part is not None]
    page = environment()
    page.filters["words"] = lambda label: LockLabel(label).words()
    page.globals |= {
        "drawn": lambda section: [drawing for drawing in drawn if drawing.section == section],
        "uri": lambda drawing: uris[drawing.name],
        "name": lambda label: LockLabel(label).words(),
        "colour": lambda label: style_of(LockLabel(label)).colour,
        "ships_in": lambda label: load_locks()[LockLabel(label).lock].ships_in,
        "engine_name": engines.title,
        "isa_words": isa_words,
        "flavour_words": lambda flavour: isa_words(ISAS[isa_of(flavour)].title, flavour),
        "fences": FENCE_KINDS,
    }
    for part in parts:
        page.globals |= part.data
    sections = sorted(
        (section for part in parts for section in part.sections),
        key=lambda section: section.sort_key,
    )
    return page.get_template("report.html").render(
        title=next((part.title for part in parts if part.title), "Engines compared"),
        heads=[part.head for part in parts if part.head],
        styles=[part.style for part in parts if part.style],
        top=[section for section in sections if section.top],
        sections=[section for section in sections if not section.top],
    )


def write_all(db: Path, output: Path) -> tuple[Path, dict[str, Path]]:
    """Draw the figures and write the report into `output`; return the report's path, and each
    figure's by its name. Raises LockcrossError."""
    with Store(db, read_only=True) as store, references(store.connection) as others:
        figures = draw_all(store.connection, output / "figures", others)
        return write_report(store.connection, output / "report.html", figures, others), figures


def present(db: Path, output: Path) -> None:
    """Draw and write into `output`, then print each question's results, and the paths. Raises
    LockcrossError."""
    report, figures = write_all(db, output)
    with Store(db, read_only=True) as store:
        for shown in questions(store.connection):
            shown.present(store.connection)
    print(f"\ndatabase  {db}")
    for path in figures.values():
        print(f"figure    {path}")
    print(f"report    {report}")


def _frame(connection: sqlite3.Connection, _: References, __: Collection[Drawing]) -> Part:
    """Return the part of the page that any database has."""
    ops: dict[str, None] = {}  # in order
    calibrated: dict[tuple[Any, ...], dict[str, float]] = {}
    for *setting, op, cycles in connection.execute(
        "SELECT engine, machine, isa, flavour, cas_latency, fence_latency, op, cycles "
        "FROM calibrations ORDER BY machine, isa, flavour, cas_latency, fence_latency, run_id"
    ):
        ops[op] = None
        calibrated.setdefault(tuple(setting), {})[op] = cycles
    rows = sorted(calibrated.items(), key=lambda row: engines.order(row[0][0]))
    # By cause, the latest first: how many, status, cause, the last one's id and command.
    failures = connection.execute(
        "SELECT count(*), status, cause, max(id), command FROM runs WHERE status != 'ok' "
        "GROUP BY status, cause ORDER BY max(id) DESC LIMIT ?",
        (_SHOWN_FAILURES,),
    ).fetchall()
    machines = connection.execute("SELECT name, title FROM machines ORDER BY name").fetchall()
    sections = [Section("calibration", "Calibration", folded=True)] if rows else []
    return Part(
        [
            *sections,
            Section("failures", "Failures and refusals", folded=True),
            Section("provenance", "Provenance", folded=True),
        ],
        {
            "calibration": {"ops": list(ops), "rows": rows},
            "failures": failures,
            "provenance": _provenance(connection),
            "machines": machines,
        },
    )


FRAME = Presentation(_frame)


def sources(
    connection: sqlite3.Connection, runs: str, values: Mapping[str, object]
) -> list[tuple[str, list[str]]]:
    """Return source revisions, compilers and engines of runs for which a condition in SQL holds."""
    sql = "SELECT DISTINCT {0} FROM runs WHERE {0} != '' AND " + runs + " ORDER BY 1"

    def known(column: str) -> list[str]:
        return [str(value) for (value,) in connection.execute(sql.format(column), values)]

    return [
        ("Source revision", known("source_revision")),
        ("Compiler", known("compiler")),
        ("Engine", known("engine_version")),
    ]


def _provenance(connection: sqlite3.Connection) -> list[tuple[str, list[str]]]:
    origins = sources(connection, "id IN (SELECT run_id FROM series)", {})
    count, seconds = connection.execute(
        "SELECT count(*), ifnull(sum(duration_s), 0) FROM runs"
    ).fetchone()
    origins.append(("Runs in the database", [f"{count:,}, {seconds:,.0f} s of simulation"]))
    if job := JOB.optional(connection):
        last = f"{job.started}: {job.new_runs:,} new runs, {job.duration_s} s"
        origins += [("Command", [job.command]), ("Last job", [last])]
    return origins
