"""The operations of uncontended paths through the locks: exactly, and beside the papers."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sweeps.engines.base import PhaseCounts
from sweeps.engines.guest import BadRunError
from sweeps.model.cell import Cell
from sweeps.model.locks import load_locks
from sweeps.programs import TARGETS
from sweeps.questions.footprint.command import Counts
from sweeps.run.work import PATHS, path_metrics
from tests.commands import lockcross
from tests.locks.footprint_values import (
    REFERENCE,
    Values,
    atomics,
    compiler,
    counted,
    counts_of,
    kept_for,
    values,
)
from tests.locks.running import simulated
from tests.native_build import sampled

FLAVOURS = list(TARGETS)
FULL_FENCE = {"lock": "mfence", "larx": "hwsync", "lse": "dmb", "llsc": "dmb"}
KEPT = kept_for()
# What a lock is made of, whatever the compiler; the other counts are the compiler's too.
OF_THE_LOCK = ("cas_won", "cas_lost", "rmw", *FULL_FENCE.values())


def of_the_lock(rows: Values) -> Values:
    """Atomics and fences of each path, and the sizes."""
    return {
        key: {
            name: {n: count for n, count in one.items() if n in OF_THE_LOCK}
            if isinstance(one, dict)
            else one
            for name, one in row.items()
        }
        for key, row in rows.items()
    }


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_path_is_what_it_was(flavour: str) -> None:
    """New locks, or moved values: `./lockcross python -m tests.locks.footprint_values`, and say
    why. Where nothing is kept for this compiler, only counts that the lock alone decides are
    compared."""

    def is_sampled(cell: Cell) -> bool:
        return sampled(cell.lock, cell.variant, cell.fence, cell.flavour)

    found = values(counted(flavour, load_locks().values(), wanted=is_sampled))
    here = {key: row for key, row in KEPT.get(compiler(), {}).items() if key in found}
    of_any = {key: row for rows in KEPT.values() for key, row in of_the_lock(rows).items()}
    assert {key: row for key, row in found.items() if key in here} == here
    assert of_the_lock(found) == {key: of_any.get(key) for key in found}


def test_what_a_lock_is_made_of_is_the_same_by_every_compiler() -> None:
    """A new lock, variant or fence kind may be kept for one compiler until others' are written."""

    def by_lock(rows: Values) -> dict[str, Values]:
        found: dict[str, Values] = {}
        for key, row in of_the_lock(rows).items():
            found.setdefault(key.partition(" ")[0], {})[key] = row
        return found

    first, *others = (by_lock(rows) for rows in KEPT.values())
    assert others
    for rows in others:
        both = first.keys() & rows.keys()
        assert both
        assert {lock: rows[lock] for lock in both} == {lock: first[lock] for lock in both}


@dataclass(frozen=True)
class Kept:
    """The values kept for one compiler."""

    compiler: str
    rows: Values

    def is_plain(self, counted: int, papers: int) -> bool:
        """Tell whether loads or stores are those of the paper. GCC 14 and 15 save registers in
        front of some paths, which adds to them."""
        return counted == papers if self.compiler == REFERENCE else counted >= papers

    def path(self, lock: str, flavour: str, by: str, name: str) -> Counts:
        key = f"{lock} {flavour} {by}"
        if key not in self.rows and self.compiler != REFERENCE:
            pytest.skip(f"not counted for {self.compiler}")
        return counts_of(self.rows[key], name)

    def pair(self, lock: str, flavour: str, by: str) -> Counts:
        return self.path(lock, flavour, by, "acquire") + self.path(lock, flavour, by, "release")


@pytest.fixture(params=KEPT)
def kept(request: pytest.FixtureRequest) -> Kept:
    return Kept(request.param, KEPT[request.param])


@pytest.mark.parametrize("flavour", FLAVOURS)
class TestPapers:
    """The counts that the sources state. Theirs are of the lock's own fields; ours have two loads
    more in a pair, of the thread's identifier from its context."""

    def test_nop_is_nothing(self, kept: Kept, flavour: str) -> None:
        assert all(str(kept.path("nop", flavour, "any", name)) == "0" for name in PATHS)

    @pytest.mark.parametrize("lock", ["thin", "cas_spin", "tasuki", "relaxed"])
    def test_one_cas_acquires_and_none_releases(self, kept: Kept, lock: str, flavour: str) -> None:
        acquire, release = (
            kept.path(lock, flavour, "any", name) for name in ("acquire", "release")
        )
        assert acquire.numbers["cas_won"] == atomics(acquire) == 1
        assert atomics(release) == 0 and release.numbers["stores"] == 1

    @pytest.mark.parametrize(
        ("lock", "number"),
        [
            *((lock, 2) for lock in ("meta", "mcs", "elided", "thin:unlk_cas", "art_thin")),
            *((lock, 1) for lock in ("art_thin:without_read_barriers", "j9_flat")),
        ],
    )
    def test_atomics_of_a_pair(self, kept: Kept, lock: str, number: int, flavour: str) -> None:
        pair = kept.pair(lock, flavour, "any")
        assert atomics(pair) == number
        assert lock == "mcs" or pair.numbers["cas_won"] == number  # one of mcs is an exchange

    @pytest.mark.parametrize(
        ("lock", "cas"),
        [("tasuki", 0), ("j9_flat", 0), ("monitor_cache", 0), ("monitor_cache:jdk111", 1)],
    )
    def test_a_nested_pair(self, kept: Kept, lock: str, cas: int, flavour: str) -> None:
        """OpenJ9 loads the word first. Every operation of JDK 1.1.1 locks the cache."""
        for name in ("nested_acquire", "nested_release"):
            counts = kept.path(lock, flavour, "any", name)
            assert counts.numbers["cas_won"] == atomics(counts) == cas
            assert cas or not counts.fences

    def test_the_release_of_tasuki_orders_its_store(self, kept: Kept, flavour: str) -> None:
        assert kept.path("tasuki", flavour, "any", "release").fences[FULL_FENCE[flavour]] == 1

    def test_the_asymmetric_owner_orders_without_an_atomic(self, kept: Kept, flavour: str) -> None:
        """K 6.3.2: three loads, two stores. Ours tests for a nested acquisition before both, and
        loads for it: the owner's status in three words, the count of nested ones in one word."""
        for lock, nesting in (("asym_spin3", 2), ("asym_spin1", 1)):
            owner = kept.pair(lock, flavour, "owner")
            assert atomics(owner) == 0 and kept.is_plain(owner.numbers["stores"], 2)
            # x86-64 may compare with the identifier in memory, and load it once more.
            loads = 3 + 2 + nesting
            once_more = flavour == "lock" and owner.numbers["loads"] == loads + 1
            assert once_more or kept.is_plain(owner.numbers["loads"], loads)
            assert owner.fences[FULL_FENCE[flavour]] == 1
            assert kept.pair(lock, flavour, "other").numbers["cas_won"] == 1

    def test_the_reservation_owner_has_no_atomic_or_fence(self, kept: Kept, flavour: str) -> None:
        for name in PATHS:
            owner = kept.path("reservation", flavour, "owner", name)
            assert atomics(owner) == 0 and not owner.fences
            assert kept.is_plain(owner.numbers["loads"], 2)
            assert kept.is_plain(owner.numbers["stores"], 1)
        other = kept.pair("reservation", flavour, "other")
        assert other == kept.pair("reservation:creator", flavour, "other")
        assert atomics(other) == 1

    def test_what_stays_free_of_atomics(self, kept: Kept, flavour: str) -> None:
        for lock, by in (("dekker", "any"), ("asym_tasuki", "owner"), ("cilk_the", "owner")):
            assert atomics(kept.pair(lock, flavour, by)) == 0
            assert kept.pair(lock, flavour, by).fences[FULL_FENCE[flavour]] >= 1

    def test_elision_leaves_the_choice_alone(self, kept: Kept, flavour: str) -> None:
        alone = kept.pair("elided", flavour, "alone")
        assert atomics(alone) == 0 and not alone.fences


def test_other_fence_kinds_move_the_order_only(kept: Kept) -> None:
    for kind, rmw, fences in (("", 0, {"mfence": 1}), ("/rmw", 1, {}), ("/store_forward", 0, {})):
        owner = kept.pair(f"asym_spin1{kind}", "lock", "owner")
        assert (atomics(owner), dict(owner.fences)) == (rmw, fences), kind


def test_objects_and_monitors_have_their_sizes(kept: Kept) -> None:
    sizes: dict[str, Any] = {key.split()[0]: row["bytes"] for key, row in kept.rows.items()}
    assert sizes["thin"] == sizes["reservation"] == sizes["asym_tasuki"]
    assert sizes["thin"] == [8, sizes["monitor_table"][1]] != [8, 0]
    assert sizes["cas_spin"] == [8, 0]
    assert sizes["naive"] == [128, 0], "the monitor is part of the object"


# The counting itself ----------------------------------------------------------------------------


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_loads_and_stores_are_those_of_plain_instructions(flavour: str) -> None:
    def a_turn(op: str) -> tuple[float, float]:
        short, long = (
            simulated("calibrate", "nop", flavour, op=op, iterations=length).cores[0]
            for length in (100, 200)
        )
        return (long["loads"] - short["loads"]) / 100, (long["stores"] - short["stores"]) / 100

    loads, stores = a_turn("empty")
    assert a_turn("load") == (loads + 1, stores)
    assert a_turn("store") == a_turn("fence") == (loads, stores + 1)
    for atomic in ("cas", "cas_fail", "rmw"):
        assert a_turn(atomic) == (loads, stores)


def marks(*instructions: int) -> list[PhaseCounts]:
    others = dict.fromkeys(("loads", "stores", "cas_won", "cas_lost", "rmw", "fences_mfence"), 0)
    return [
        PhaseCounts(place, {"instructions": count, **others})
        for place, count in enumerate(instructions, start=1)
    ]


def test_a_path_is_its_phase_without_the_comparison() -> None:
    turn = [100, 105, 116, 122, 132]  # nothing takes 5
    found = path_metrics(marks(*turn, 140, 240, 245, 256, 262, 272, 280), threads=1)
    taken = [found[f"path_own_{name}_instructions"][0] for name in PATHS]
    assert taken == [6, 1, 5, 3]
    assert not [key for key in found if "fences" in key]
    with pytest.raises(BadRunError, match="path_own_release_instructions: 3 the first"):
        path_metrics(marks(*turn, 140, 240, 245, 256, 262, 272, 281), threads=1)


def test_counts_are_added_and_said() -> None:
    numbers = {"instructions": 6, "loads": 2, "stores": 0, "cas_won": 1, "cas_lost": 0, "rmw": 0}
    one = Counts(numbers, {"isync": 1})
    assert str(one) == "6: CAS, isync, 2 loads"
    assert str(one + one) == "12: 2 CAS, 2 isync, 4 loads"
    assert atomics(one + one) == 2


def test_the_command(tmp_path: Path) -> None:
    db = ["--db", str(tmp_path / "a.db")]
    done = lockcross("footprint", "cas_spin", "nop", "--isa", "x86_64", "--format", "csv", *db)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["lock"] for row in rows[:2]] == ["cas_spin"] * 2
    assert [row["path"] for row in rows[:2]] == ["acquire", "nested_acquire"]
    assert rows[0]["cas_won"] == "1" and rows[0]["published"] == "one CAS (K 6.3.1)"
    shown = lockcross("footprint", "cas_spin", "--isa", "x86_64", *db)
    assert "nested acquire" in shown.stdout and "one CAS (K 6.3.1)" in shown.stdout
