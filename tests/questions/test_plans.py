"""Plans: their cells, and the messages on wrong ones."""

import itertools
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.errors import LockcrossError
from sweeps.model.cell import Cell, command
from sweeps.model.locks import load_locks
from sweeps.plans import SWEEPS
from sweeps.study.plan import expand, load_plan, parse_plan

GOOD = {
    "machine": '"generic"',
    "isa": '"x86_64"',
    "lock": '"tasuki"',
    "workload": '"sync"',
    "parameters": "{ iterations = 10 }",
}
MISTAKES = tomllib.loads(Path(__file__).with_name("wrong_plans.toml").read_text("utf-8"))
MISTAKES["iterations ... too many digits"] = f"parameters = {{ iterations = 0x{'f' * 5000} }}"


def plan_text(**changes: str) -> str:
    """A plan of one sweep: GOOD with changes; an empty value leaves a key out."""
    keys = {**GOOD, **changes}
    lines = [f"{key} = {value}" for key, value in keys.items() if value]
    return "\n".join(['title = "a test"', "[[sweep]]", *lines])


def cells_of(**changes: str) -> list[Cell]:
    return expand(parse_plan(plan_text(**changes)))


def complaint(**changes: str) -> str:
    with pytest.raises(ValueError) as error:
        cells_of(**changes)
    return str(error.value)


@pytest.mark.parametrize("name", SWEEPS.names())
def test_every_plan_of_the_tree_loads(name: str) -> None:
    assert load_plan(name).cells


def test_kilo_is_a_thousand_cells() -> None:
    cells = load_plan("kilo").cells
    assert len(cells) == len({command(cell) for cell in cells}) == 1000


def test_a_word_may_stand_for_several_locks() -> None:
    def chosen(locks: str, **changes: str) -> list[str]:
        return list(dict.fromkeys(cell.lock for cell in cells_of(lock=locks, **changes)))

    every = list(load_locks())
    assert chosen('"all"') == every
    assert chosen('["all", "not nop"]') == [name for name in every if name != "nop"]
    cancelling = ["reservation", "biased", "j9_reservation", "art_thin"]
    assert chosen('["mcs", "cancels"]') == ["mcs", *cancelling]
    assert set(chosen('"java"')) == {name for name, lock in load_locks().items() if lock.java}
    assert chosen('"all"', workload='"micro"', parameters="{}") == ["nop"]
    assert "lock: what is given stands for no lock" in complaint(lock='"by_signal"')
    assert "'not thim' is unknown" in complaint(lock='["all", "not thim"]')
    with pytest.raises(ValueError, match=f"{len(every) * 40000} cells; a plan has"):
        cells_of(lock='"all"', seed="{ from = 1, to = 40000, step = 1 }")


def test_plans_name_every_lock() -> None:
    assert {cell.lock for cell in load_plan("uncontended").cells} == set(load_locks())


@pytest.mark.parametrize(("words", "lines"), MISTAKES.items(), ids=MISTAKES)
def test_mistakes_are_named(words: str, lines: str) -> None:
    said = complaint(**dict(line.split(" = ", 1) for line in lines.splitlines()))
    assert all(word in said for word in words.split(" ... ")), said


@pytest.mark.parametrize(
    "changes",
    [
        {"lock": f'"{"x" * 500_000}"'},
        {"variant": f'"{"x" * 500_000}"'},
        {"lock": str(list(range(100_000)))},
        {"cas_latency": str(["x"] * 100_000)},
        {"x" * 500_000: "1"},
        {"parameters": f"{{ {'x' * 500_000} = 1 }}"},
        {"parameters": f'{{ iterations = "{"x" * 500_000}" }}'},
        {"parameters": "{ iterations = " + "[" * 100_000 + "]" * 100_000 + " }"},
    ],
)
def test_a_message_is_short(tmp_path: Path, changes: dict[str, str]) -> None:
    path = tmp_path / "long.toml"
    path.write_text(plan_text(**changes))
    with pytest.raises(LockcrossError) as error:
        load_plan(str(path))
    assert error.value.exit_code == 2 and len(error.value.message) < 12_000


def test_a_plan_is_a_plain_file_of_some_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "long").open("w") as file:
        file.truncate(2_000_000)
    for path, words in (
        (Path("/dev/zero"), "not a plain file"),
        (tmp_path / "fifo", "not a plain file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "long", "larger than a plan may be"),
    ):
        with pytest.raises(LockcrossError, match=words) as error:
            load_plan(str(path))
        assert error.value.exit_code == 2


def test_an_owner_share_of_less_than_all_needs_two_threads() -> None:
    keys = "{ objects=1, runs=1, run_length=1, owner_share=0.999999, critical=0, think=0 }"
    said = complaint(workload='"lock_sequence"', parameters=keys)
    assert "needs two threads or more (owner_share = 0.999999, threads = 1)" in said
    assert len(cells_of(workload='"lock_sequence"', parameters=keys, threads="2")) == 1


@pytest.mark.parametrize(
    ("changes", "said", "cells"),
    [
        ({"isa": '["x86_64", "aarch64"]', "fence": '"rmw"'}, "1 of 2 cells", 2),
        ({"threads": "[1, 2]", "cores": "[1, 2]"}, "from 1 to threads, 1", 4),
    ],
)
def test_impossible_cells_can_be_skipped(changes: dict[str, str], said: str, cells: int) -> None:
    assert said in complaint(**changes)
    assert len(cells_of(**changes, skip_unsupported="true")) == cells


@given(
    cas_latency=st.lists(st.integers(0, 500), min_size=1, max_size=4, unique=True),
    threads=st.lists(st.integers(1, 64), min_size=1, max_size=4, unique=True),
    low=st.integers(0, 50),
    span=st.integers(0, 40),
    step=st.integers(1, 20),
)
@settings(max_examples=40, deadline=None)
def test_a_sweep_is_the_product_of_its_axes(
    cas_latency: list[int], threads: list[int], low: int, span: int, step: int
) -> None:
    fences = list(range(low, low + span + 1, step))
    cells = cells_of(
        cas_latency=str(cas_latency),
        threads=str(threads),
        fence_latency=f"{{ from = {low}, to = {low + span}, step = {step} }}",
    )
    assert [(c.threads, c.cas_latency, c.fence_latency) for c in cells] == list(
        itertools.product(threads, cas_latency, fences)
    )


@given(st.text(max_size=30))
@settings(max_examples=30, deadline=None)
def test_no_text_breaks_the_reader(text: str) -> None:
    # Whatever is wrong is a ValueError: that is what becomes a message for people.
    with pytest.raises(ValueError):
        expand(parse_plan(text))
