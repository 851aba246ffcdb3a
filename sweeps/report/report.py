"""The report: one HTML page that needs nothing else, made from the database alone."""

import base64
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from proofs import stored as proofs
from proofs.stored import read_proofs
from results.draw.style import look
from results.errors import LockcrossError
from sweeps.model import engines
from sweeps.model.axes import AXIS_WORDS
from sweeps.model.isa import isa_words
from sweeps.model.label import FENCE_KINDS, LockLabel
from sweeps.questions.crossover import answer as summary
from sweeps.questions.crossover.answer import (
    JOB,
    axis_tables,
    cost_table,
    model_sentences,
    seeds_words,
    ties_words,
)
from sweeps.questions.explore.page import HOW, explorer_data
from sweeps.questions.many_cores import answer as many_cores
from sweeps.questions.many_cores.answer import changing, crossover_rows, tables
from sweeps.questions.reproduce import overtake
from sweeps.questions.reproduce.answer import cells, table_rows
from sweeps.questions.reproduce.answer import load as load_reproductions
from sweeps.questions.validate import latency
from sweeps.questions.validate.answer import ALL_ISAS, CLEAR, speeds, summarize
from sweeps.questions.validate.table import percent, reasons, signed, verdict, why_missed
from sweeps.report.catalogue import (
    DRAWINGS,
    ENGINES,
    STUDY,
    VALIDATION,
    drawings,
    reproduction_figure,
    validation_figure,
)
from sweeps.report.reference import References, Source
from sweeps.search.found import PLAN, PlanFact, engine, isa_title, machines, series_names
from sweeps.search.winners import map_marks

TEMPLATES = Path(__file__).parent / "templates"
_SHOWN_FAILURES = 100
_KINDS = {  # of series with crossovers, as the page calls them
    "axis": "By axis",
    "run_length": "Run length that pays for a cancellation",
    "map": "Borders of the winner map",
}


class ReportError(LockcrossError):
    """The report cannot be written."""


def write_report(
    connection: sqlite3.Connection,
    path: Path,
    figures: Mapping[str, Path],
    others: References | None = None,
) -> Path:
    """Writes the page to `path` and returns it. `figures`: what `draw_all` has drawn, with the
    same `others`.

    Sections without data are left out. Raises ReportError when it cannot be written.
    """
    return write_page(render(connection, figures, others), path)


def write_page(page: str, path: Path) -> Path:
    """Writes a page to `path` and returns it. Raises ReportError when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ReportError(
            f"{error.filename or path}: cannot be written ({error.strerror}); name another folder "
            "with --output",
            exit_code=1,
        ) from None
    return path


def render(
    connection: sqlite3.Connection, figures: Mapping[str, Path], others: References | None = None
) -> str:
    """The page as text. Everything from the database is escaped."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    (drawing,) = (one for one in DRAWINGS if one.section == VALIDATION)
    environment.globals |= {
        "drawing": drawing,
        "name": _words, "engine_name": engines.title, "isa_words": isa_words, "ops": latency.OPS,
        "percent": percent, "signed": signed, "verdict": verdict, "reasons": reasons,
        "why_missed": why_missed,
        "colour": lambda label: look(label).colour, "axes": AXIS_WORDS,
        "overtake_axes": overtake.AXES, "fences": FENCE_KINDS, "clear": CLEAR,
        "how": HOW,
    }  # fmt: skip
    plan = PLAN.optional(connection)
    others = others or References([Source(connection)], {})
    parts = {
        "study": _study(connection, plan) if plan else None,
        "explorer": explorer_data(connection),
        "many": _many_cores(connection),
        "proofs": _proofs(),
        "validations": _validations(others, figures),
        "latency": _latency(others.latency.connection),
        "latency_note": others.latency.note,
        "apart": others.apart,
        "figures": _figures(connection, figures),
        "reproductions": _reproductions(connection, figures),
        "overtake": overtake.load(connection),
        "calibration": _calibration(connection),
        "failures": _failures(connection),
        "provenance": _provenance(connection),
        "machines": _machines(connection),
    }
    return environment.get_template("report.html").render(
        title=_title(plan, parts), sections=_sections(parts), **parts
    )


@dataclass(frozen=True)
class _Section:
    """A part of the page: its anchor, its heading and the template of what stands below it."""

    id: str
    title: str

    @property
    def template(self) -> str:
        return f"{self.id}.html"


def _sections(parts: Mapping[str, Any]) -> list[_Section]:
    """The sections that there is something for, in the order of the page and its contents."""
    study = parts["study"]
    drawn = any(figure["section"] == STUDY for figure in parts["figures"])
    published = [
        (_Section("published", "The published numbers"), parts["reproductions"]),
        (_Section("overtake", "When asymmetric locks overtake reservation locks"),
         parts["overtake"]),
    ]  # fmt: skip
    every = [
        (_Section("figures", "Figures"), study and drawn),
        (
            _Section("answer", "The answer"),
            study and (study["costs"].machines or study["crossovers"]),
        ),
        (_Section("many_cores", "Many cores"), parts["many"]),
        (_Section("validation", "Validation"), parts["validations"]),
        (_Section("latency", "Latency mechanisms"), parts["latency"]),
        *(published if study else []),
        (_Section("proofs", "Proofs"), parts["proofs"]["rows"]),
        (_Section("calibration", "Calibration"), parts["calibration"]["rows"]),
        (_Section("crossovers", "Every crossover and its bracket"), study and study["crossovers"]),
        (_Section("failures", "Failures and refusals"), True),
        (_Section("provenance", "Provenance"), True),
    ]
    return [section for section, there in ([] if study else published) + every if there]


def _proofs() -> dict[str, Any]:
    stored = read_proofs()
    return {
        "models": list(proofs.SHOWN_MODELS.values()),
        "rows": proofs.matrix(stored),
        "agreements": proofs.agreements(stored),
    }


def _words(label: str) -> str:
    return LockLabel(label).words()


def _title(plan: PlanFact | None, parts: Mapping[str, Any]) -> str:
    if plan:
        return plan.title
    if parts["many"]:
        return str(parts["many"]["title"])
    if parts["explorer"]:
        return "Which Java lock is cheapest, and where the answer changes"
    if parts["reproductions"] or parts["overtake"]:
        return "Published and simulated numbers"
    return "Engines compared"


def _study(connection: sqlite3.Connection, plan: PlanFact) -> dict[str, Any]:
    rows = summary.rows(connection)
    found = {kind: summary.lines(connection, kind) for kind in ("axis", "run_length", "map")}
    return {
        "plan": plan,
        "marked": not engines.entry(engine(connection)).own_costs,
        "map": _map_marks(connection, plan),
        "engine": engines.title(engine(connection)),
        "locks": ", ".join(map(_words, plan.locks)),
        "aside": ", ".join(map(_words, plan.table_locks)),
        "machines": " and ".join(machines(connection)),
        "ties": ties_words(rows),
        "seeds": seeds_words([one for lines in found.values() for one in lines]),
        "models": model_sentences(connection),
        "costs": cost_table(rows, plan.locks),
        "any_fence": any(row.any_fence for row in rows),
        "assumed": any(row.assumed for row in rows),
        "axes": axis_tables(found["axis"]),
        "run_lengths": axis_tables(found["run_length"]),
        "borders": axis_tables(found["map"]),
        "crossovers": [(title, found[kind]) for kind, title in _KINDS.items() if found[kind]],
    }


def _map_marks(connection: sqlite3.Connection, plan: PlanFact) -> dict[str, Any]:
    """The real processors that the study's map speaks of, and the others with their own cost of a
    cancellation, each once, in words."""
    own = plan.machine
    found = [map_marks(connection, own, *parts) for parts in series_names(connection, "map", own)]
    return {
        "cancel": next((one.cancel for one in found), None),
        "here": list(dict.fromkeys(mark.machine for one in found for mark in one.here)),
        "apart": list(dict.fromkeys(mark.words for one in found for mark in one.apart)),
    }


def _many_cores(connection: sqlite3.Connection) -> dict[str, Any] | None:
    """What the section on many cores shows, if there is such a study."""
    plan = many_cores.PLAN.optional(connection)
    if plan is None:
        return None
    found = changing(crossover_rows(connection))
    return {**dict(plan), "tables": tables(connection), "crossovers": found}


def _validations(others: References, paths: Mapping[str, Path]) -> list[dict[str, Any]]:
    """What the section on the validations shows of each."""
    found = []
    for place, source in enumerate(others.validations):
        sets = summarize(source.connection)
        if not sets:
            continue
        isas = {one.isa: isa_title(source.connection, one.isa) for one in sets} | {
            ALL_ISAS: ALL_ISAS
        }
        machines = source.connection.execute(
            "SELECT DISTINCT machines.title FROM series JOIN runs ON runs.id = series.run_id "
            "JOIN machines ON machines.name = runs.machine WHERE series.name GLOB 'validation/*' "
            "ORDER BY machines.name"
        ).fetchall()
        against = dict.fromkeys(engines.entry(one.reference).title for one in sets)
        path = paths.get(validation_figure(source, place))
        found.append({
            "sets": sets, "speeds": speeds(source.connection), "isas": isas, "note": source.note,
            "machines": [title for (title,) in machines], "against": ", ".join(against),
            "uri": svg_uri(path) if path else "",
        })  # fmt: skip
    return found


def _latency(connection: sqlite3.Connection) -> dict[str, Any] | None:
    """What the section on the latency mechanisms shows, if anything is known of them."""
    sweeps, regions = latency.sweeps(connection), latency.regions(connection)
    if not sweeps and not regions:
        return None
    names = {one.isa for one in sweeps} | {one.isa for one in regions}
    isas = {one: isa_title(connection, one) for one in names}
    agreements = latency.agreements(sweeps)
    methods = sorted({method for one in regions for method in one.costs})
    return {
        "sweeps": sweeps, "agreements": agreements, "regions": regions, "methods": methods,
        "isas": isas, "slopes": latency.slope_checks(connection),
    }  # fmt: skip


def _figures(connection: sqlite3.Connection, paths: Mapping[str, Path]) -> list[dict[str, str]]:
    found = []
    for drawing in (*(one for one, _ in drawings(connection, None)), ENGINES):
        if drawing.name not in paths:
            continue
        words = {"section": drawing.section, "title": drawing.title, "text": drawing.text}
        found.append({"uri": svg_uri(paths[drawing.name]), **words})
    return found


def svg_uri(path: Path) -> str:
    """The SVG beside a PNG, as an address that holds it."""
    data = path.with_suffix(".svg").read_bytes()
    return f"data:image/svg+xml;base64,{base64.b64encode(data).decode()}"


def _reproductions(
    connection: sqlite3.Connection, paths: Mapping[str, Path]
) -> list[dict[str, Any]]:
    found = []
    for one in load_reproductions(connection):
        path = paths.get(reproduction_figure(one.name))
        rows = [(row, cells(row)) for row in table_rows(one)]
        found.append({"found": one, "rows": rows, "uri": svg_uri(path) if path else ""})
    return found


def _failures(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Runs that failed or were refused, by cause, the latest first: how many, status, cause, the
    last one's id and command."""
    return connection.execute(
        "SELECT count(*), status, cause, max(id), command FROM runs WHERE status != 'ok' "
        "GROUP BY status, cause ORDER BY max(id) DESC LIMIT ?",
        (_SHOWN_FAILURES,),
    ).fetchall()


def _calibration(connection: sqlite3.Connection) -> dict[str, Any]:
    ops: dict[str, None] = {}  # in order
    rows: dict[tuple[Any, ...], dict[str, float]] = {}
    for *setting, op, cycles in connection.execute(
        "SELECT engine, machine, isa, flavour, cas, fence_latency, op, cycles FROM calibrations "
        "ORDER BY machine, isa, flavour, cas, fence_latency, run_id"
    ):
        ops[op] = None
        rows.setdefault(tuple(setting), {})[op] = cycles
    ordered = sorted(rows.items(), key=lambda row: engines.order(row[0][0]))
    return {"ops": list(ops), "rows": ordered}


def _provenance(connection: sqlite3.Connection) -> list[tuple[str, list[str]]]:
    found = []
    for what, column in (
        ("Source revision", "source_revision"),
        ("Compiler", "compiler"),
        ("Engine", "engine_version"),
    ):
        values = connection.execute(
            f"SELECT DISTINCT {column} FROM runs WHERE {column} != '' "
            "AND id IN (SELECT run_id FROM series) ORDER BY 1"
        )
        found.append((what, [str(value) for (value,) in values]))
    count, seconds = connection.execute(
        "SELECT count(*), ifnull(sum(duration_s), 0) FROM runs"
    ).fetchone()
    found.append(("Runs in the database", [f"{count:,}, {seconds:,.0f} s of simulation"]))
    if job := JOB.optional(connection):
        found.append(("Command", [job.command]))
        found.append(
            ("Last job", [f"{job.started}: {job.new_runs:,} new runs, {job.duration_s} s"])
        )
    return found


def _machines(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every machine with its figures as (key, value, where it comes from)."""
    return [
        {"name": machine, "title": title, "figures": list(_flatten("", json.loads(text)))}
        for machine, title, text in connection.execute(
            "SELECT name, title, description FROM machines ORDER BY name"
        )
    ]


def _flatten(key: str, value: object) -> list[tuple[str, str, str]]:
    if isinstance(value, dict):
        if "value" in value or "assumption" in value:
            if "value" in value:
                return [(key, str(value["value"]), str(value.get("source", "")))]
            return [(key, str(value["assumption"]), f"assumed: {value.get('why', '')}")]
        inner = (_flatten(f"{key}.{name}" if key else name, one) for name, one in value.items())
        return [figure for figures in inner for figure in figures]
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return [(key, text, "")]
