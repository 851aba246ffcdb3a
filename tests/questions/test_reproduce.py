"""Reproductions: definitions, comparisons, macro-benchmarks, borders, report pages."""

import fnmatch
import json
import re
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from results.paths import ROOT
from results.store.records import StoredRun
from results.store.store import Store
from sweeps.accuracy import published as paper
from sweeps.accuracy.errors import CONTENDED, PUBLISHED, read_rows, text_of
from sweeps.accuracy.published import OURS, Published, stated
from sweeps.lock_logs.locality import Sections
from sweeps.lock_logs.log import read_events
from sweeps.model.cell import Cell, invalid_reason, unsupported_reason
from sweeps.model.machine import load_machine
from sweeps.plans import FIRST_STATEMENTS, REPRODUCTIONS
from sweeps.questions.reproduce import answer, macro, overtake
from sweeps.questions.reproduce.answer import CURVE, EXPONENT, KEPT, Plot, PublishedRow, cells, run
from sweeps.questions.reproduce.command import print_summary, reproduce
from sweeps.questions.reproduce.definition import Definition, evaluate, load, parse
from sweeps.questions.reproduce.figure import draw_reproduction
from sweeps.questions.reproduce.overtake import Border, Case
from sweeps.report.figures import draw_all
from sweeps.report.report import render
from sweeps.run.runner import Runner
from sweeps.support.paths import MACHINES
from sweeps.support.toml import parse as parse_toml
from tests.commands import at_terminal, lockcross
from tests.locks.footprint_values import REFERENCE, compiler

TINY = Path(__file__).with_name("own_reproduction.toml").read_text(encoding="utf-8")
BARNES = Case(
    "Barnes", "p3", "full", 1, 6, 3, (Border("cas_latency", 20, 30, "asym_tasuki", 0, 9),)
)


def published(value: float) -> Published:
    return Published(value, value)


def example(*rows: PublishedRow, plot: Plot | None = None) -> answer.Reproduction:
    return answer.Reproduction(
        "example", "An example", "K", "Table 9", "p3", "ns", "none", rows, plot or Plot()
    )


def test_expressions_are_arithmetic_and_nothing_else() -> None:
    known = {("a", ""): 6.0, ("a", "b"): 2.0}

    def look(name: str, part: str) -> float:
        return known[name, part]

    assert evaluate("-(a - a.b) / 2 + max(a, 1) * 3", look) == 16
    assert evaluate("mean(a, a.b) + sqrt(16) + abs(-1)", look) == 9
    for bad in ("a ** 2", "a[0]", "a()", "open('x')", "a if a else 1", "'a'", "a.b.c", "a < 1"):
        with pytest.raises(ValueError, match="not arithmetic"):
            evaluate(bad, look)
    with pytest.raises(ValueError, match="no expression"):
        evaluate("a +", look)


def test_order_counts_clear_pairs_of_a_group() -> None:
    found = example(
        PublishedRow("a", published(10), 5.0),
        PublishedRow("b", published(10.5), 4.0),  # within 10 % of a: no order
        PublishedRow("c", published(20), 4.5),  # clearly more than both: less than a's in ours
        PublishedRow("d", published(1), 100.0, group="other"),
        PublishedRow("e", published(50), None, missing="failed"),
    )
    assert found.order == (1, 2)
    wrong = [(low.label, high.label) for low, high, agrees in found.pairs() if not agrees]
    assert wrong == [("a", "c")]
    assert "order 1 of 2 pairs" in found.verdict and "1 of 5 rows missing" in found.verdict
    assert cells(found.rows[0]) == ("10", "5.00", "0.500", "")
    assert cells(found.rows[4])[1] == "failed"


def test_ranges_and_tolerances_are_statements() -> None:
    rows = (
        PublishedRow("more", Published(100, None), 120.0),
        PublishedRow("clearly more", Published(1, None), 1.05, -0.1),
        PublishedRow("same", published(1), 1.08, 0.1),
        PublishedRow("range", Published(5, 10), 11.0),
    )
    assert [row.holds for row in rows] == [True, False, True, False]
    assert all(row.ratio is None for row in rows)
    assert example(*rows).statements == (2, 4) and example(*rows).order == (0, 0)
    assert cells(rows[1]) == ("at least 1 (by at least 10%)", "1.05", "", "does not hold")
    # Ranges of a group that lie apart are in order, too.
    apart = example(
        PublishedRow("a", Published(0, 3), 7.0, group="g"),
        PublishedRow("b", Published(5, 9), 8.0, group="g"),
    )
    assert apart.order == (1, 1)


def test_statements_that_stand_aside_are_counted_apart() -> None:
    rows = (
        PublishedRow("a", Published(100, None), 120.0),
        PublishedRow("b", Published(1, None), 0.5, kind="full fences", aside="it has no fence"),
        PublishedRow("c", Published(1, None), 1.5, kind="full fences", aside="it has no fence"),
    )
    found = example(*rows)
    assert found.statements == (1, 1) and found.statements_aside == {"full fences": (1, 2)}
    assert found.verdict == "1 of 1 statements hold; aside, full fences: 1 of 2"
    assert cells(rows[1])[3] == "does not hold; it has no fence" and not found.causes()


def test_full_fences_of_the_pentium_iii_judge_nothing() -> None:
    for name, statements in (("k_rounds", 34), ("k_macro_6_17", 20)):
        rows = [planned.row for planned in load(name).rows if planned.row.published]
        full = [row for row in rows if row.kind == "full fences"]
        assert all(row.aside == "the Pentium III has no fence" for row in full)
        assert len(full) == statements
        assert not any(row.aside for row in rows if row not in full)


def test_rows_of_a_kind_that_judge_are_summed_up() -> None:
    rows = (
        PublishedRow("a", published(10), 20.0, kind="loads", group="a"),
        PublishedRow("b", published(10), 2.5, kind="loads", group="b"),
        PublishedRow("c", published(10), 10.0, kind="loads", group="c"),
        PublishedRow("d", published(10), 900.0, kind="loads", group="d", aside="made from it"),
        PublishedRow("e", published(1.5), 1.7, kind=EXPONENT, group="e"),
        PublishedRow("f", published(1.5), 1.8, kind=EXPONENT, group="f"),
        PublishedRow("g", published(10), 30.0, group="g"),
    )
    sums = example(*rows).sums()
    assert sums == ["loads: median factor 2.00 of 3", "1 of 2 exponents within 0.25"]
    assert cells(rows[3])[3] == "made from it" and "median factor 2.00" in example(*rows).verdict


def test_a_curve_over_threads_has_an_exponent() -> None:
    def point(threads: int, published_ns: float, ours: float | None) -> PublishedRow:
        alike: dict[str, Any] = {"series": "x", "kind": CURVE, "aside": "another core"}
        return PublishedRow(f"{threads}", published(published_ns), ours, x=f"{threads}", **alike)

    # Costs of n**2 and 3 * n, and with one thread, which is no part of it, any.
    points = [point(1, 7, 9), point(2, 4, 6), point(4, 16, 12), point(16, 256, 48)]
    (row,) = answer.exponents(points)
    assert row.value == pytest.approx(2) and row.ours == pytest.approx(1)
    assert row.kind == EXPONENT and row.aside and "2 to 16" in row.label
    assert not list(answer.exponents([points[0], points[1], point(4, 16, None)]))


def test_published_figures_with_a_cell_are_compared_with_it() -> None:
    text = REPRODUCTIONS.path("foreign").read_text()
    rows = [point for row in parse_toml(Definition, text).row for point in row.points()]
    table = {str(row["id"]): row for row in paper.table("foreign").rows}
    with_cells = {id for id, row in table.items() if row["cell"]}
    assert {row.published.row for row in rows if row.published} == with_cells
    planned = load("foreign")
    assert planned.cells["altra_llsc"].flavour == "llsc"  # named as an ISA would be
    for row in rows:
        assert row.published is not None
        said = table[row.published.row]
        name = str(said["cell"])
        assert name in planned.cells and re.search(rf"\b{name}\b", row.ours), row.label
        assert planned.cells[name].threads == said["threads"], row.label
        assert row.label.endswith(f": {said['unit']}") and row.kind, row.label
        assert (said["kind"] == "mechanism") == (row.kind == "single mechanisms"), row.label
        made = row.aside.startswith("made from")
        assert said["kind"] == "mechanism" or not made, "a machine file takes from mechanisms alone"


@pytest.mark.skipif(compiler() != REFERENCE, reason="stored results are of another compiler")
@pytest.mark.papers
def test_the_shipped_errors_at_published_figures_are_what_is_reproduced(store: Store) -> None:
    counted = answer.errors_of(run(load("foreign"), Runner(store, 2), store))
    stored = [row for row in read_rows() if row.reference == PUBLISHED]
    assert text_of(counted) == text_of(stored)


def test_errors_are_counted_by_processor_and_work_of_what_judges() -> None:
    def row(label: str, known: float, ours: float, kind: str = CURVE, **more: Any) -> PublishedRow:
        return PublishedRow(label, published(known), ours, kind=kind, **more)

    rows = (
        row("A, 2 threads", 100, 80),
        row("A, 4 threads", 200, 240),
        row("A, 8 threads", 400, 200),
        row("A, made from it", 100, 900, aside="made from it"),
        row("A, alone", 10, 10, "locks with one thread"),  # one number is no row
        row("B, call", 10, 5, "single mechanisms"),
        row("B, jump", 20, 20, "single mechanisms"),
    )
    contended, operations = answer.errors_of(example(*rows))
    assert (contended.machine, contended.work, contended.cells) == ("A", CONTENDED, 3)
    assert contended.median_error == pytest.approx(0.2)
    assert (contended.right[0], contended.pairs[0]) == (2, 3)  # 8 threads cost more than 4
    assert (operations.machine, operations.cells, operations.pairs[0]) == ("B", 2, 0)


def test_a_verdict_that_hangs_on_our_bound_says_so() -> None:
    ours = {"bound_from": f"{OURS}a reason"}
    agreements = {
        PublishedRow("same", published(1), 1.08, 0.1, **ours): "holds, by our bound",  # not in 5 %
        PublishedRow("other", published(1), 1.15, 0.1, **ours): "does not hold, by our bound",
        PublishedRow("far", published(1), 1.3, 0.1, **ours): "does not hold",  # nor within 20 %
        PublishedRow("near", published(1), 1.01, 0.1, **ours): "holds",
        PublishedRow("theirs", published(1), 1.08, 0.1, bound_from="within a tenth"): "holds",
        # By 20 % it is not more.
        PublishedRow("more", Published(1, None), 1.15, -0.1, **ours): "holds, by our bound",
    }
    assert {row: row.agreement for row in agreements} == agreements
    # In a table a tolerance of our own stands apart from what was published.
    _, _, _, near, theirs, _ = map(cells, agreements)
    assert (near[0], near[3]) == ("1", "holds (within 10%: our tolerance)")
    assert (theirs[0], theirs[3]) == ("1 (within 10%)", "holds")


def test_causes_are_of_the_statements_that_fail() -> None:
    assert [one.row.why for one in parse("tiny", TINY).rows] == ["It is slow."] * 2
    cause = {"why": "It is slow.", "shown_by": "./lockcross locks"}
    rows = (
        PublishedRow("a", Published(2, None), 1.0, **cause),
        PublishedRow("b", Published(2, None), 3.0, **cause),
        PublishedRow("c", Published(2, None), 1.0),
    )
    known = tuple(cause.values())
    assert example(*rows).causes() == {known: ["a"], ("", ""): ["c"]}


@pytest.mark.papers
def test_each_statement_of_the_papers_that_fails_has_a_cause(store: Store) -> None:
    names = [name for name in REPRODUCTIONS.names() if name[:2] in {"b_", "k_", "o_", "s_", "w_"}]
    found = [run(load(name), Runner(store, 2), store) for name in names]
    assert not [
        (one.name, row.label)
        for one in found
        for row in one.rows
        if row.missing and not row.no_number
    ]
    if compiler() != REFERENCE:
        pytest.skip(f"the causes are of {REFERENCE}, with whose programs other statements fail")
    assert not {one.name: one.causes()["", ""] for one in found if ("", "") in one.causes()}
    for one in found:
        named = {(row.why, row.shown_by) for row in one.rows if row.why}
        assert named <= set(one.causes()), f"{one.name}: a cause of statements that hold"
    held, first = answer.first_statements(found)
    assert f"how many of the {first} statements that were compared first hold: {held}," in (
        ROOT / "docs" / "published.md"
    ).read_text(encoding="utf-8")


def test_each_statement_that_was_compared_first_is_asked_by_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It holds where all of its rows hold, and counts only beside all the others."""
    first = pd.read_csv(FIRST_STATEMENTS)
    for name, asked in first.groupby("reproduction"):
        labels = [planned.row.label for planned in load(str(name)).rows]
        assert all(fnmatch.filter(labels, rows) for rows in asked["rows"]), name
    table = "reproduction,statement,rows\none,more,more*\none,less,less\n"
    file = tmp_path / "first.csv"
    file.write_text(table, encoding="utf-8")
    monkeypatch.setattr(answer, "FIRST_STATEMENTS", file)
    more, less = Published(1, None), Published(None, 1)
    rows = (PublishedRow("more, 2", more, 2.0), PublishedRow("more, 4", more, 0.5))
    both = replace(example(*rows, PublishedRow("less", less, 0.5)), name="one")
    assert answer.first_statements([both]) == (1, 2) and answer.first_statements([]) == (0, 0)


@pytest.mark.parametrize(("critical", "inflated"), [(1, True), (0, False)])
def test_threads_are_on_inflated_locks(critical: int, inflated: bool, tmp_path: Path) -> None:
    """The share that b_threads tells by CAS is that of the log of events, and small where no
    yield point lies in the section: then one thread after another finds the lock flat."""
    cell = load("b_threads").cells["thin_dynamic_8"]
    log = tmp_path / "threads.bin"
    done = lockcross(
        f"run --machine ppc604 --isa ppc64le --lock thin --variant dynamic --workload threads "
        f"--threads {cell.threads} --cores {cell.cores} --all --format json --events {log} "
        f"iterations=10000 critical={critical} think={cell.parameters['think']}"
    )
    assert done.returncode == 0, done.stderr
    counts = {row["metric"]: float(row["value"]) for row in json.loads(done.stdout)}
    told = counts["cas_won"] / counts["pairs"] - 1
    seen = float(Sections(read_events(log)).operations()["fat"].mean())
    assert told == pytest.approx(seen, abs=0.02)
    assert told > 0.8 if inflated else told < 0.05, told


def test_shape_is_the_least_rank_correlation_of_a_group() -> None:
    rows = [PublishedRow(str(x), published(x), float(10 - x), group="down") for x in range(3)]
    rows += [PublishedRow(str(x), published(x), float(x * x), group="up") for x in range(3)]
    assert example(*rows).shape == -1 and example(*rows[3:]).shape == 1
    assert example(*rows[:2]).shape is None
    assert answer.rank_correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert answer.rank_correlation([1, 2, 3], [5, 5, 5]) == 0
    shown = [answer.digits(x) for x in (None, 0.0, 0.01234, 12.34, 1234.5)]
    assert shown == ["", "0", "0.0123", "12.3", "1,234"]


def test_a_fact_gives_back_what_went_in(store: Store) -> None:
    row = PublishedRow("a", Published(None, 2), 1.5, 0.1, "s", "1", "g", "n", mark=published(3))
    plot = Plot(kind="lines", x="x", y="y", log=True, low=-1.0)
    found = example(row, PublishedRow("b"), plot=plot)
    KEPT.of(found.name).write(store, found)
    assert KEPT.of(found.name).read(store.connection) == found
    (text,) = store.connection.execute("SELECT value FROM facts").fetchone()
    assert '"published": [null, 2]' in text  # a whole number is not stored as 2.0


def test_every_definition_loads_and_its_cells_can_be_run() -> None:
    used = set[str]()

    def look(cell: str, _metric: str) -> float:
        used.add(cell)
        return nan  # which no division by it stops

    plans = {name: load(name) for name in REPRODUCTIONS.names()}
    assert len(plans) >= 8
    # Those without published numbers are experiments that a cause names.
    shown = {
        word for plan in plans.values() for one in plan.rows for word in one.row.shown_by.split()
    }
    for name, planned in plans.items():
        rows = [one.row for one in planned.rows]
        assert len({row.label for row in rows}) == len(rows), name
        assert any(row.published for row in rows) or name in shown, f"{name}: nothing published"
        used.clear()
        for planned_row in planned.rows:
            planned_row.ours(look)
        assert not set(planned.cells) - used, f"{name}: cells that no row uses"
        for cell in planned.cells.values():
            assert not invalid_reason(cell) and not unsupported_reason(cell), name


def test_a_faulty_definition_says_what_is_wrong() -> None:
    path = Path(__file__).with_name("wrong_reproductions.toml")
    for old, new, complaint in tomllib.loads(path.read_text(encoding="utf-8"))["mistakes"]:
        assert old in TINY
        with pytest.raises(ValueError, match=complaint):
            parse("tiny", TINY.replace(old, new, 1))


def test_a_run_is_stored_compared_and_not_done_again(store: Store) -> None:
    planned = parse("tiny", TINY)
    found = run(planned, Runner(store, 2), store)
    (count,) = store.connection.execute("SELECT max(id) FROM runs").fetchone()
    assert run(planned, Runner(store, 2), store) == found
    assert store.connection.execute("SELECT max(id) FROM runs").fetchone() == (count,) == (3,)
    assert KEPT.of("tiny").read(store.connection) == found
    assert [row.label for row in found.rows] == ["tasuki", "tasuki, locked RMW"]
    assert all(row.ours and 20 < row.ours < 300 and row.value == 228.9 for row in found.rows)


def test_rows_that_measure_the_same_give_a_range() -> None:
    hosts = ("x86-1", "x86-2")
    parts, wholes = (
        [f"{host} {lock} 0 0" for host in hosts] for lock in ("swap_mutex", "osq_lock")
    )
    text = TINY.replace('document = "K"', 'document = "L"').replace(
        '"K_table_5_4", row = "flat in original", column = "outermost"',
        f'"lockhammer", rows = {parts}, over_rows = {wholes}, column = "threads_32"',
    )
    rows = [planned_row.row for planned_row in parse("tiny", text).rows]
    table = paper.table("lockhammer")
    ratios = [
        float(table.number(part, "threads_32")) / float(table.number(whole, "threads_32"))
        for part, whole in zip(parts, wholes, strict=True)
    ]
    assert rows[0].published == Published(min(ratios), max(ratios)) and rows[0].value is None


@pytest.mark.long
def test_a_machine_far_from_a_published_hand_over_says_why(store: Store) -> None:
    """Each preset beside the medians of core-to-core-latency: where they are more than a fifth
    apart, the machine's file names that processor and its figure."""
    found = run(load("core_to_core"), Runner(store, 2), store)
    assert all(row.ratio for row in found.rows)
    for row in found.rows:
        machine, _, rest = row.label.partition(", ")
        _, _, processor = rest.partition(": ")
        if not 0.8 <= (row.ratio or 0) <= 1.2:
            text = (MACHINES / f"{machine}.toml").read_text()
            assert processor.partition(",")[0] in text, row
    # Each in nanoseconds of its own clock.
    for name, mhz in (("zen3", 3500), ("neoverse_n1", 2500)):
        assert load_machine(name).clock_mhz.number == mhz
    zen3 = next(row for row in found.rows if row.label.startswith("zen3, near"))
    assert zen3.ours == pytest.approx(103 / 3.5, rel=0.05)


def test_macro_sequences_keep_the_programs_shares() -> None:
    for table in ("K_table_5_6", "K_table_6_2"):
        for program in macro.programs(table):
            of = macro.statistics(table, program)
            assert of.nested >= 0 and of.owned + of.returned + of.foreign <= 1 + 1e-9
            keys = macro.mix(of, 4000)
            assert keys["acquisitions"] == min(4000, of.acquisitions)
            if keys["shared_objects"]:
                assert keys["owner_share"] == pytest.approx(of.owned, abs=0.001)
                assert keys["return_share"] == round(macro.PARTS * of.returned) / macro.PARTS
            for lock in ("nop", "reservation", "asym_tasuki/store_forward"):
                cell = macro.mix_cell("p3", lock, keys)
                assert not invalid_reason(cell) and not unsupported_reason(cell), program
    barnes = macro.statistics("K_table_6_2", "Barnes")
    assert barnes.foreign == pytest.approx(1 - 0.34076) and barnes.nested == pytest.approx(0)
    assert macro.rate(macro.mix(barnes, 4000)) == pytest.approx(78819 / 2064200, rel=0.01)
    db = macro.statistics("K_table_6_2", "_209_db")
    assert db.nested > 0.9 * (1 - 0.99982)  # one thread: what hits no reservation is nested


class ClosedForm:
    """A runner without runs: tasuki costs a CAS, the asymmetric lock two fences, the reservation
    lock nothing but cancellations."""

    def require(self, wanted: Sequence[Cell], _plan: str) -> list[StoredRun]:
        return [StoredRun(1, "x", "ok", "", self._metrics(cell)) for cell in wanted]

    def _metrics(self, cell: Cell) -> dict[str, float]:
        latency = load_machine(cell.machine).figures(cell.isa)
        stop = cell.cancel_latency
        if stop is None:
            stop = latency["charge_stop_running"].number
        if cell.workload == "transition":
            return {"phase_4_cycles": macro.TRANSITION * (stop + 100.0), "phase_5_cycles": 0.0}
        fence = cell.fence_latency
        if fence is None:
            fence = next(v.number for k, v in latency.items() if k.startswith("fence_"))
        count = int(cell.parameters["acquisitions"])
        shared = int(cell.parameters["shared_objects"])
        cycles = {
            "nop": 10 * count,
            "tasuki": 60 * count,
            "asym_tasuki": (10 + 2 * fence) * count,
            "reservation": 10 * count + shared * (stop + 100),
        }[cell.lock]
        return {"cycles": float(cycles)}


def test_borders_are_where_the_costs_are_equal(store: Store) -> None:
    cases, _ = overtake.find(ClosedForm())  # type: ignore[arg-type]
    overtake.KEPT.write(store, overtake.Overtaken(cases))
    assert overtake.load(store.connection) == cases
    of = macro.statistics(overtake.TABLE, "Barnes")
    (one,) = (c for c in cases if (c.program, c.machine, c.kind) == ("Barnes", "p3", "full"))
    stop = 17714 + 100
    fences = 2 * load_machine("p3").latency["x86_64"]["fence_mfence"].number
    assert one.reservation == pytest.approx(of.rate * stop, rel=1e-6)
    assert (one.asymmetric, one.tasuki) == (fences, 50)
    border = {border.axis: border for border in one.borders}
    assert border["cas_latency"].value is None and border["cas_latency"].above == "asym_tasuki"
    assert border["cancel_latency"].value == pytest.approx(fences / of.rate - 100, rel=0.02)
    assert border["fence_latency"].value == pytest.approx(of.rate * stop / 2, rel=0.01)
    assert {c.machine for c in cases} == set(overtake.MACHINES)
    assert [c.borders for c in cases if c.kind == "rmw"] == [()] * 16
    never = Border("cas_latency", 20, None, "asym_tasuki", 0, 9000)
    assert never.words == "none (asymmetric from 0 to 9,000)"
    assert Case("p", "m", "full", 1, 6, 3, ()).lead == 2


def test_the_report_shows_reproductions_and_borders(store: Store, tmp_path: Path) -> None:
    lines = [
        PublishedRow("", Published(y - 1, y + 1) if x == 64 else None, y, series=s, x=str(x))
        for s in ("tasuki", "thin:inline/rmw")
        for x, y in ((1, 2.0), (64, 3.0))
    ]
    bars = [
        PublishedRow(f"b {x}", None, -200.0, series="tasuki", x=x, mark=m)
        for x, m in (("p", published(5)), ("q", Published(1, 2)), ("r", Published(None, 2)))
    ]
    both, said = PublishedRow("<both>", published(3), 4.0), Published(1, None)
    for name, rows, plot in (
        ("lines", lines, Plot(kind="lines", x="x", y="y", log=True)),
        ("bars", bars, Plot(kind="bars", y="y", low=-100.0)),
        ("pairs", [both, PublishedRow("said", said, 0.5)], Plot(kind="bars", y="y")),
        ("none", [PublishedRow("failed", missing="failed: <why>")], Plot(kind="bars", y="y")),
    ):
        KEPT.of(name).write(store, replace(example(*rows, plot=plot), name=name))
    overtake.KEPT.write(store, overtake.Overtaken([BARNES]))
    drawn = draw_all(store.connection, tmp_path / "figures")
    page = render(store.connection, drawn)
    assert {f"reproduction_{name}" for name in ("lines", "bars", "pairs")} <= set(drawn)
    assert page.count("data:image/webp") >= 3
    cells_of_page = ("&lt;both&gt;", "failed: &lt;why&gt;", "does not hold", "1.33", "Barnes")
    for text in (*cells_of_page, "30, 1.5 times its own"):
        assert text in page


def test_the_command(tmp_path: Path) -> None:
    """On one terminal: the first one's table, then the bar of the second."""
    listed = lockcross("reproduce", "--list")
    assert listed.returncode == 0 and "K Table 5.4" in listed.stdout
    assert "overtake" in listed.stdout
    db = tmp_path / "a.db"
    dry = f"reproduce k_table_5_5 --dry-run --db {db}"
    asked = lockcross(dry)
    assert asked.returncode == 0 and "6 to run" in asked.stdout and not db.exists()
    code, written = at_terminal(100, *f"reproduce k_table_5_5 k_table_8_1 --db {db}".split())
    assert code == 0 and "order 3 of 3 pairs" in written, written
    first, second = (written.index(f"{name}: ") for name in ("k_table_5_5", "k_table_8_1"))
    assert first < written.rindex("left: ") < second
    assert "0 to run" in lockcross(dry).stdout


def test_verdicts_are_summed_up_and_overtake_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (PublishedRow("a", published(1), 2.0), PublishedRow("b", published(2), 3.0))
    print_summary([example(*rows), example(*rows, PublishedRow("said", Published(1, None), 0.5))])
    assert "together: order 2 of 2 pairs; 0 of 1 statements hold" in capsys.readouterr().out
    monkeypatch.setattr(overtake, "run", lambda *_: [BARNES])
    reproduce(["overtake"], db=tmp_path / "a.db")
    said = capsys.readouterr().out
    assert "Barnes" in said and "verdict" not in said


def test_a_line_has_a_gap_where_a_logarithm_has_no_value() -> None:
    rows = [PublishedRow(str(x), None, y, series="tnp", x=str(x)) for x, y in ((2, 0.0), (4, 3.0))]
    for log, known in ((True, [False, True]), (False, [True, True])):
        plot = Plot(kind="lines", x="threads", y="y", log=log)
        figure = draw_reproduction(example(*rows, plot=plot))
        (line,) = figure.axes[0].get_lines()
        assert [isfinite(float(y)) for y in np.asarray(line.get_ydata())] == known


def test_an_out_of_order_core_removes_what_the_thesis_says_of_db() -> None:
    """docs/published.md: gem5's O3 model, x86-64, workload sync, less the nop lock's cycles."""
    with Store(ROOT / "results" / "reference" / "validation.db", read_only=True) as store:
        found = store.connection.execute(
            "SELECT lock, value FROM runs JOIN metrics ON run_id = runs.id "
            "WHERE name = 'cycles_per_pair' AND engine = 'gem5/o3' AND workload = 'sync' AND "
            "isa = 'x86_64' AND threads = 1 AND (fence = 'store_forward' OR lock = 'nop')"
        )
        cycles = dict(found.fetchall())
    floor = cycles.pop("nop")
    for lock, removed, speedup in (("reservation", 89, 11.8), ("asym_tasuki", 63, 8.1)):
        saved = 1 - (cycles[lock] - floor) / (cycles["tasuki"] - floor)
        assert 100 * saved == pytest.approx(removed, abs=0.5)
        share = (stated("K", "lock_share_209_db").value or 0) / 100
        assert 100 * (1 / (1 - share * saved) - 1) == pytest.approx(speedup, abs=0.06)


def test_a_users_own_machine_reproduces_and_leaves_what_figures_are_made_of(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    own = shutil.copy(MACHINES / "zen5.toml", tmp_path / "mine.toml")
    done = lockcross(f"reproduce k_table_5_5 --machine {own} --db {db} --format json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {row["reproduction"] for row in rows} == {"k_table_5_5"} and rows[0]["simulated"]
    with Store(db, read_only=True) as store:
        assert KEPT.of("k_table_5_5").optional(store.connection) is None
        ((machine,),) = store.connection.execute("SELECT DISTINCT machine FROM runs").fetchall()
    assert machine.startswith("zen5@")
