"""The registry of workloads: its rows, and that the programs and the driver read the same."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model import registry, workloads
from sweeps.model.axes import MAX_THREADS
from sweeps.model.cell import unsupported_reason as cell_unsupported_reason
from sweeps.model.locks import load_locks
from sweeps.model.workloads import (
    WORKLOADS,
    Choice,
    Key,
    Number,
    Rule,
    Sequences,
    Share,
    in_program,
    parse_workloads,
    unsupported_reason,
    with_defaults,
)
from sweeps.programs import USUAL_THREADS, Program
from sweeps.questions.run.command import _parameters as parameters_of_run
from sweeps.study.plan import Cells
from tests.fakes.cells import cell_of
from tests.locks.running import bare, binary_of, simulated
from tests.locks.test_headers import compiled_alone
from tests.native_build import run

FOLDER = ROOT / "workloads"
# All but signals.h, native.h and clock.h, which are parts of runtime.c.
PARTS = {FOLDER / "runtime" / name for name in ("signals.h", "native.h", "clock.h")}
HEADERS = sorted(set(FOLDER.rglob("*.h")) - PARTS)
RULED = [name for name, kind in WORKLOADS.items() if kind.rules or kind.has_text]


# The registry


def block(*rows: str) -> str:
    return "\n".join(["#ifdef WORKLOAD_one", *rows, "#endif\n"])


HEAD = 'WORKLOAD(one, 2, 4, "nop thin", ANY_CORES)'
NUMBER = "NUMBER(a, REQUIRED, 3, 1, TEN)"


def test_a_block_is_read() -> None:
    text = "#define TEN 10 /* a comment */\n" + block(
        HEAD,
        NUMBER,
        "CHOICE(b, OPTIONAL, x,\n       WORD(x) WORD(y))",
        'SEQUENCES(c, REQUIRED, "0x1,1x2", 5, 6)',
        "LET(d, KEY(a) / 2 + 1)",
        'RULE(d < THREADS || KEY(b) == WORD_y, "d, (so) && b")',
        'METRIC(e, "cycles", UINT64_MAX)',
    )
    one = parse_workloads(text)["one"]
    assert (one.min_threads, one.max_threads, one.locks) == (2, 4, ("nop", "thin"))
    assert one.keys == {
        "a": Number(3, 1, 10),
        "b": Choice("x", ("x", "y")),
        "c": Sequences("0x1,1x2", 5, 6),
    }
    assert one.metrics == {"e": "cycles"}
    assert isinstance(one.rules[1], Rule)
    assert (one.rules[1].message, one.rules[1].keys) == ("d, (so) && b", ("a", "b"))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["NUMBER(a, REQUIRED, 3)"], "has 3 arguments, not 5"),
        (["NUMBER(a, PERHAPS, 3, 1, 9)"], "REQUIRED, OPTIONAL, OR_ZERO"),
        (["NUMBER(a, REQUIRED, 10, 1, 9)"], "default: allowed is a whole number from 1 to 9"),
        (["NUMBER(a, REQUIRED, 3, 1, MOST)"], "'MOST' is unknown"),
        ([NUMBER.replace("TEN", "9"), NUMBER.replace("TEN", "9")], "stands twice"),
        (["CHOICE(b, REQUIRED, z, WORD(x) WORD(y))"], "default: allowed are x, y"),
        (['RULE(KEY(a) > 1, "no")'], "KEY(a) is unknown here"),
        (['RULE(1 +, "no")'], "not a row: RULE(1 +"),
        (["RULE(1, no)"], "in quotes"),
        (["LIMIT(a, 1)"], "no row of a workload"),
        (["LIMIT(a"], "not a row: LIMIT"),
        (['WORKLOAD(two, 1, 2, "", ANY_CORES)'], "stands in the block WORKLOAD_one"),
    ],
)
def test_a_faulty_row_is_named(rows: list[str], words: str) -> None:
    with pytest.raises(LockcrossError, match=re.escape(words)):
        parse_workloads(block(*rows))


def test_a_row_outside_blocks_is_refused() -> None:
    with pytest.raises(LockcrossError, match="stands in no block"):
        parse_workloads(block(HEAD) + "METRIC(a, 1, 2)\n")


def expression(text: str) -> ast.expr:
    (row,) = registry.parse(f"LENGTH({text})")
    return row.arguments[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 3", 6),
        ("KEY(a) >= 2 && (KEY(a) == 3 || THREADS < 1)", 0),
        ("(KEY(a) == 2) == (THREADS != 1)", 1),
        ("KEY(a) > 2 || 3 <= THREADS", 1),
    ],
)
def test_rules_are_read_as_c_reads_them(text: str, value: int) -> None:
    assert workloads.evaluate(expression(text), {"KEY(a)": 2, "THREADS": 3}) == value


@pytest.mark.parametrize("text", ["1 - 2", "KEY(a)", "1 < 2 < 3", "not 1", "f(1)", "'x'", "2 ** 3"])
def test_rules_are_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"below 0|unknown"):
        workloads.evaluate(expression(text), {})


def test_every_workload_has_a_kernel_and_names_locks() -> None:
    kernels = {path.stem for path in (FOLDER / "kernels").glob("*.c")}
    assert kernels == set(WORKLOADS)
    assert {lock for kind in WORKLOADS.values() for lock in kind.locks} <= set(load_locks())


def test_the_driver_knows_how_many_threads_a_program_may_have() -> None:
    text = (ROOT / "lockimpl" / "types.h").read_text()
    found = re.findall(r"^#define LOCK_MAX_THREADS SMALL_IN_MODEL\((\d+), ", text, re.MULTILINE)
    assert found == [str(USUAL_THREADS)]


# Defaults


def test_plans_and_commands_fill_in_the_same_defaults() -> None:
    chosen = {"machine": "generic", "isa": "x86_64", "lock": "thin"}
    for name, kind in WORKLOADS.items():
        full = {key: found.default for key, found in kind.keys.items()}
        (cell,) = Cells(**chosen, workload=name).cells()
        assert cell.parameters == with_defaults(name, parameters_of_run([])) == full
    sweep = Cells(**chosen, workload=["threads", "sync"], parameters={"iterations": [5, 6]})
    assert [cell.parameters for cell in sweep.cells()] == [
        {"iterations": 5, "critical": 20, "think": 100},
        {"iterations": 6, "critical": 20, "think": 100},
        {"iterations": 5},
        {"iterations": 6},
    ]


def test_a_program_takes_the_scheduler_s_defaults() -> None:
    """Two threads with more work than a slice, of which one is of higher priority."""
    keys = {"threads": 3, "cores": 1, "high": 1, "sections": 3, "writes": 500_000, "pause": 100}
    keys |= {"high_iterations": 4000, "low_iterations": 9000}
    defaults = {key: WORKLOADS["priority_mix"].keys[key].default for key in ("slice", "run_queue")}

    def result(**told: int | str) -> dict[str, Any]:
        return simulated("priority_mix", "thin", **keys, **told).result

    usual, longer = result(), result(**{**defaults, "slice": 30_000})
    in_turn = result(**{**defaults, "run_queue": "round_robin"})
    assert usual == result(**defaults)
    assert longer != usual != in_turn != longer


# What the programs accept


def any_lock(workload: str) -> str:
    return (WORKLOADS[workload].locks or ("thin",))[0]


def refusal(workload: str, threads: int, arguments: dict[str, Any]) -> str:
    """Return a program's words on its arguments before it looks at rules; empty if they are good.

    It is for as many threads as there may be: the driver's bounds are those of such a program.
    Programs whose threads share cores refuse the marker after all other arguments: none runs.
    """
    binary = binary_of(workload, any_lock(workload), "lock", scheduled=True, many=True)
    given = in_program(workload, arguments)
    outcome = run(binary, "lock", threads=threads, marker="watch", **given)
    assert outcome.code == 2, outcome
    return "" if "none or syscall, where threads share cores" in outcome.stderr else outcome.stderr


def values_around_bounds(key: Key) -> Iterator[int | float | str]:
    match key:
        case Number():
            yield from {-1, max(key.low - 1, 0), key.low, key.default, key.high, key.high + 1}
        case Share():
            part = 1 / key.parts
            yield from (-part, 0, part, key.default, key.high, key.high + part)
        case Choice():
            yield from (*key.choices, "", "nosuch")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_programs_and_driver_agree_on_bounds(workload: str) -> None:
    kind = WORKLOADS[workload]
    full = with_defaults(workload, {})
    for name, key in kind.keys.items():
        for value in values_around_bounds(key):
            said = refusal(workload, kind.min_threads, full | {name: value})
            assert bool(said) == bool(key.invalid_reason(value)), (name, value, said)
            assert not said or name in said


@pytest.mark.parametrize("workload", WORKLOADS)
def test_programs_and_driver_agree_on_threads(workload: str) -> None:
    kind = WORKLOADS[workload]
    full = with_defaults(workload, {})
    cores = 1 if kind.needs_cores else None
    low, high = kind.min_threads, kind.max_threads
    for threads in {low - 1, low, high, high + 1, MAX_THREADS + 1}:
        why = unsupported_reason(workload, any_lock(workload), threads, cores, full)
        said = refusal(workload, threads, full)
        assert bool(said) == why.startswith("threads:"), (threads, why, said)


def small(workload: str) -> dict[str, Any]:
    """Parameters of a short run with two threads."""
    odd = {"io_put": {"mode": "multi"}, "counter": {"duration": 1000}}
    return {
        name: min(key.default, 20) if isinstance(key, Number) else key.default
        for name, key in WORKLOADS[workload].keys.items()
    } | odd.get(workload, {})


def some_values(key: Key) -> st.SearchStrategy[int | float | str]:
    """Small values, so that runs are short; shares in tenths."""
    match key:
        case Share():
            return st.integers(0, 10).map(lambda tenths: tenths / 10)
        case Number():
            return st.integers(key.low, min(key.high, key.low + 40))
        case Choice():
            return st.sampled_from(key.choices)
    run = st.builds("{}x{}".format, st.integers(0, 4), st.sampled_from([0, 1, 2, 99, 2**32]))
    parts = st.lists(st.tuples(run, st.sampled_from([",", "/", ";", ""])), max_size=4)
    return parts.map(lambda found: "".join(run + mark for run, mark in found).rstrip(",/"))


def agreed(workload: str, lock: str, threads: int, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return why the driver refuses a short run, or "", and what its program says, as it must."""
    kind = WORKLOADS[workload]
    cores = {"cores": 1} if kind.needs_cores else {}
    why = "".join(key.invalid_reason(arguments[name]) for name, key in kind.keys.items())
    why = why or unsupported_reason(workload, lock, threads, cores.get("cores"), arguments)
    outcome = bare(workload, lock, threads=threads, **in_program(workload, arguments), **cores)
    assert outcome.code == (2 if why else 0), (why, outcome)
    if why.startswith("parameters: "):  # a rule's own message
        said = outcome.stderr.split(": ", 2)[2].strip()
        assert said.replace("1000000", "1") in why  # parts of a share, in a program
    return why, outcome.stderr


@pytest.mark.parametrize("workload", RULED)
def test_programs_and_driver_agree_on_rules(workload: str) -> None:
    kind = WORKLOADS[workload]
    base = small(workload)
    seen: list[str] = []

    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(
        st.sampled_from(["thin", "cas_spin"]),
        st.integers(kind.min_threads, min(kind.max_threads, 4)),
        st.fixed_dictionaries(
            {name: st.just(base[name]) | some_values(key) for name, key in kind.keys.items()}
        ),
    )
    def agree(lock: str, threads: int, arguments: dict[str, Any]) -> None:
        seen.append(agreed(workload, lock, threads, arguments)[0])

    agree()
    assert any(seen) and "" in seen
    for rule in kind.rules:
        assert not isinstance(rule, Rule) or any(rule.message in why for why in seen), rule.message


@pytest.mark.parametrize(
    ("sequence", "good"),
    [
        *((faulty, False) for faulty in ("", "0x", "0x0", "x3", "0x3,", "0x3;1x2", "2x1", "0x1/")),
        ("\N{ARABIC-INDIC DIGIT ZERO}x1", False),
        ("0x4294967296", False),
        ("0x99999999999", False),
        ("/".join(["0x1"] * 1024), True),
        ("/".join(["0x1"] * 1025), False),
        (",".join(["0x1"] * 8192), True),
        (",".join(["0x1"] * 8193), False),
    ],
    ids=range(15),
)
def test_programs_and_driver_agree_on_sequences(sequence: str, good: bool) -> None:
    keys = {"objects": 1, "critical": 0, "think": 0, "sequence": sequence}
    why, said = agreed("lock_trace", "thin", 2, with_defaults("lock_trace", keys))
    assert good == (not why)
    assert good or "sequence" in said


# Cores


@pytest.mark.parametrize(
    "workload", [name for name, kind in WORKLOADS.items() if kind.cores != "OWN_CORES"]
)
def test_a_workload_ends_where_threads_share_a_core(workload: str) -> None:
    keys = in_program(workload, small(workload)) | {"cores": 1}
    threads = min(2, WORKLOADS[workload].max_threads)
    outcome = bare(workload, any_lock(workload), many=True, threads=threads, **keys)
    assert (outcome.code, outcome.result.get("error")) == (0, ""), outcome


def test_a_workload_whose_threads_spin_for_each_other_gets_a_core_each() -> None:
    cell = cell_of("nop", "transfer", threads=2, parameters=with_defaults("transfer", {}))
    assert cell_unsupported_reason(cell) == ""
    assert "a core for each thread" in cell_unsupported_reason(replace(cell, cores=1))


# Headers


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_header_compiles_by_itself(header: Path, tmp_path: Path) -> None:
    program = Program("sync", "thin", "full", "lock", scheduled=True)
    text = f'#define WORKLOAD_sync\n#include "{header.relative_to(FOLDER)}"\n'
    assert compiled_alone(text, program, tmp_path, "-w") == ""
