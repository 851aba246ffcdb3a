"""What the uncontended ways through the locks are made of: exact, and what the papers say of it."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from sweeps.build import TARGETS, Program
from sweeps.engines.guest import BadRunError
from sweeps.engines.qemu_footprint import WAYS, way_metrics
from sweeps.engines.qemu_output import CasCounts, PhaseMark
from sweeps.footprint import Counts
from tests.commands import lockcross
from tests.footprint_values import counted, counts_of, load, values
from tests.test_engine import run

FLAVOURS = list(TARGETS)
FULL_FENCE = {"lock": "mfence", "larx": "hwsync", "lse": "dmb", "llsc": "dmb"}
KEPT = load()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_way_is_what_it_was(flavour: str, tmp_path: Path) -> None:
    """Moved values: `.venv/bin/python -m tests.footprint_values`, and say why."""
    found = values(counted(flavour, tmp_path))
    kept = {key: row for key, row in KEPT.items() if key.split()[1] == flavour}
    assert found == kept


def way(lock: str, flavour: str, by: str, name: str) -> Counts:
    return counts_of(KEPT[f"{lock} {flavour} {by}"], name)


def pair(lock: str, flavour: str, by: str) -> Counts:
    return way(lock, flavour, by, "acquire") + way(lock, flavour, by, "release")


@pytest.mark.parametrize("flavour", FLAVOURS)
class TestPapers:
    """The counts that the sources state. Theirs are of the lock's own fields; ours have two loads
    more in a pair, of the thread's identifier from its context."""

    def test_the_null_lock_is_nothing(self, flavour: str) -> None:
        assert all(str(way("null", flavour, "any", name)) == "0" for name in WAYS)

    @pytest.mark.parametrize("lock", ["thin", "cas_spin", "tasuki", "relaxed"])
    def test_one_cas_acquires_and_none_releases(self, lock: str, flavour: str) -> None:
        acquire, release = (way(lock, flavour, "any", name) for name in ("acquire", "release"))
        assert acquire.numbers["cas_won"] == acquire.atomics == 1
        assert release.atomics == 0 and release.numbers["stores"] == 1

    def test_thin_with_a_cas_to_release_pays_twice(self, flavour: str) -> None:
        assert pair("thin:unlk_cas", flavour, "any").numbers["cas_won"] == 2

    @pytest.mark.parametrize("lock", ["meta", "mcs"])
    def test_locks_of_two_atomics(self, lock: str, flavour: str) -> None:
        assert pair(lock, flavour, "any").atomics == 2

    def test_nested_tasuki_has_no_atomic(self, flavour: str) -> None:
        nested = [
            way("tasuki", flavour, "any", f"nested_{name}") for name in ("acquire", "release")
        ]
        assert not any(counts.atomics or counts.fences for counts in nested)

    def test_the_release_of_tasuki_orders_its_store(self, flavour: str) -> None:
        assert way("tasuki", flavour, "any", "release").fences[FULL_FENCE[flavour]] == 1

    def test_the_asymmetric_owner_has_no_atomic_but_an_order(self, flavour: str) -> None:
        """K 6.3.2: three loads, two stores. Ours tests for a nested acquisition before both, and
        loads for it: the owner's status in three words, the count of nested ones in one word."""
        for lock, nesting in (("asym_spin3", 2), ("asym_spin1", 1)):
            owner = pair(lock, flavour, "owner")
            assert owner.atomics == 0 and owner.numbers["stores"] == 2
            # x86-64 may compare with the identifier in memory, and load it once more.
            again = owner.numbers["loads"] - (3 + 2 + nesting)
            assert again in ((0, 1) if flavour == "lock" else (0,))
            assert owner.fences[FULL_FENCE[flavour]] == 1
            assert pair(lock, flavour, "other").numbers["cas_won"] == 1

    def test_the_reservation_owner_has_neither_atomic_nor_fence(self, flavour: str) -> None:
        for name in WAYS:
            owner = way("reservation", flavour, "owner", name)
            assert owner.atomics == 0 and not owner.fences
            assert owner.numbers["loads"] == 2 and owner.numbers["stores"] == 1
        assert pair("reservation", flavour, "other") == pair(
            "reservation:creator", flavour, "other"
        )
        assert pair("reservation", flavour, "other").atomics == 1

    def test_what_stays_free_of_atomics(self, flavour: str) -> None:
        for lock, by in (("dekker", "any"), ("asym_tasuki", "owner"), ("cilk_the", "owner")):
            assert pair(lock, flavour, by).atomics == 0
            assert pair(lock, flavour, by).fences[FULL_FENCE[flavour]] >= 1

    def test_elision_leaves_the_choice_alone(self, flavour: str) -> None:
        alone = pair("elided", flavour, "alone")
        assert alone.atomics == 0 and not alone.fences
        assert pair("elided", flavour, "any").atomics == 2


def test_other_fence_kinds_move_the_order_only() -> None:
    owners = {
        kind: pair(f"asym_spin1{kind}", "lock", "owner") for kind in ("", "/rmw", "/store_forward")
    }
    assert [one.atomics for one in owners.values()] == [0, 1, 0]
    assert [dict(one.fences) for one in owners.values()] == [{"mfence": 1}, {}, {}]


def test_objects_and_monitors_have_their_sizes() -> None:
    sizes: dict[str, Any] = {key.split()[0]: row["bytes"] for key, row in KEPT.items()}
    assert sizes["thin"] == sizes["reservation"] == sizes["asym_tasuki"]
    assert sizes["thin"] == [8, sizes["monitor_table"][1]] != [8, 0]
    assert sizes["cas_spin"] == [8, 0]
    assert sizes["naive"] == [128, 0], "the monitor is part of the object"


# The counting itself ----------------------------------------------------------------------------


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_loads_and_stores_are_those_of_plain_instructions(flavour: str, tmp_path: Path) -> None:
    def a_turn(op: str) -> tuple[float, float]:
        program = Program("calibrate", "null", "full", flavour)
        reports = [
            run(program, {"op": op, "iterations": length}, {}, tmp_path)["cores"][0]
            for length in (100, 200)
        ]
        loads, stores = (
            (reports[1][name] - reports[0][name]) / 100 for name in ("loads", "stores")
        )
        return loads, stores

    loads, stores = a_turn("empty")
    assert a_turn("load") == (loads + 1, stores)
    assert a_turn("store") == a_turn("fence") == (loads, stores + 1)
    for atomic in ("cas", "cas_fail", "rmw"):
        assert a_turn(atomic) == (loads, stores)


def marks(*instructions: int) -> list[PhaseMark]:
    return [
        PhaseMark(core=0, phase=place, cycle=0, instructions=count, loads=0, stores=0,
                  cas=CasCounts(won=0, lost=0), rmw=0, fences={"mfence": 0})
        for place, count in enumerate(instructions, start=1)
    ]  # fmt: skip


def test_a_way_is_its_phase_without_the_comparison() -> None:
    turn = [100, 105, 116, 122, 132]  # nothing takes 5
    found = way_metrics(marks(*turn, 140, 240, 245, 256, 262, 272, 280), threads=1)
    taken = [found[f"way_own_{name}_instructions"][0] for name in WAYS]
    assert taken == [6, 1, 5, 3]
    assert not [key for key in found if "fences" in key]
    with pytest.raises(BadRunError, match="way_own_release_instructions: 3 the first time, then 4"):
        way_metrics(marks(*turn, 140, 240, 245, 256, 262, 272, 281), threads=1)


def test_counts_are_added_and_said() -> None:
    one = Counts(dict(zip(("instructions", "loads", "stores"), (6, 2, 0), strict=True))
                 | {"cas_won": 1, "cas_lost": 0, "rmw": 0}, {"isync": 1})  # fmt: skip
    assert str(one) == "6: CAS, isync, 2 loads"
    assert str(one + one) == "12: 2 CAS, 2 isync, 4 loads"
    assert (one + one).atomics == 2


def test_the_command(tmp_path: Path) -> None:
    db = ["--db", str(tmp_path / "a.db")]
    done = lockcross("footprint", "cas_spin", "null", "--isa", "x86_64", "--csv", *db)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["lock"], row["way"]) for row in rows[:2]] == [
        ("cas_spin", "acquire"), ("cas_spin", "nested_acquire"),
    ]  # fmt: skip
    assert rows[0]["cas_won"] == "1" and rows[0]["published"] == "one CAS (K 6.3.1)"
    shown = lockcross("footprint", "cas_spin", "--isa", "x86_64", *db)
    assert "nested acquire" in shown.stdout and "one CAS (K 6.3.1)" in shown.stdout
    for wrong, words in ((["thim"], "'thim' is unknown"), (["thin", "--isa", "mips"], "'mips'")):
        done = lockcross("footprint", *wrong, *db)
        assert done.returncode == 2 and words in done.stderr
