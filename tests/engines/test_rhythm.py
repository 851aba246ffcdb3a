"""No loop falls into step with an out-of-order core: a little more work between two sections moves
the cost of a pair a little."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from results.store.store import reading
from sweeps.study.costs import Group, groups, runs_of_plan
from sweeps.study.work import think
from tests.commands import lockcross

LOCKS = ["thin", "reservation", "biased", "j9_flat", "hotspot_light"]
PLAN = """
title = "Work of nearly the same amounts"
production = {{ lock = "rmw" }}

[[cells]]
machine = "{machine}"
lock = {locks}
fence = "production"
workload = "lock_use"
parameters = {{ objects = 1, first = 1024, critical = 0, think = {works} }}
"""
WORKS = list(range(130, 201, 10))  # where pairs of amounts that lie near one another once cost most


def jumps(found: Sequence[Group]) -> Iterator[str]:
    """Yield the jumps between neighbouring amounts of work: a pair with its work by more than a
    tenth beyond the work that was added, a lock's cost beside it by three cycles and a tenth."""
    for one, other in itertools.pairwise(sorted(found, key=think)):
        costs = other.beside_work().costs
        for label, band in one.beside_work().costs.items():
            before, after = band.median, costs[label].median
            pair = before + one.work
            grown = after + other.work - pair
            beside = abs(after - before) > 3 + 0.1 * max(before, after)
            if beside or not -0.1 * pair <= grown <= think(other) - think(one) + 0.1 * pair:
                yield (
                    f"{label}, work {think(one)} to {think(other)}: {before:.1f} to {after:.1f} "
                    f"beside {one.work:.1f} to {other.work:.1f}"
                )


@pytest.mark.long
@pytest.mark.parametrize("machine", ["zen5", "redwood_cove", "neoverse_v2", "power10"])
def test_a_little_more_work_moves_costs_a_little(machine: str, tmp_path: Path) -> None:
    plan, db = tmp_path / "rhythm.toml", tmp_path / "rhythm.db"
    plan.write_text(PLAN.format(machine=machine, locks=["nop", *LOCKS], works=WORKS))
    done = lockcross("sweep", str(plan), "--db", str(db))
    assert done.returncode == 0, done.stderr
    with reading(db) as connection:
        found = groups(runs_of_plan(connection, str(plan)))
    assert len(found) == len(WORKS)
    assert {label.lock for one in found for label in one.beside_work().costs} == set(LOCKS)
    assert not list(jumps(found))
