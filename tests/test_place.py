"""The axis `place`: where the cores of a cell are in a network."""

import sqlite3
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from results.model.cell import COLUMNS, Cell, read_cell, selected
from results.store.database import migrate
from results.store.store import Store
from sweeps.engines import refusal
from sweeps.execution.runner import Runner
from sweeps.experiments.plan import expand, parse_plan
from sweeps.model.cells import command, invalid_reason, unsupported_reason
from sweeps.model.machine import load_machine
from sweeps.model.place import distance, places
from sweeps.model.workloads import with_defaults
from tests.commands import lockcross
from tests.synthetic import record

CELL = Cell(
    machine="sst_mesh16", isa="x86_64", flavour="lock", lock="tasuki", workload="threads",
    threads=2, parameters=with_defaults("threads", {"iterations": 5}),
)  # fmt: skip
PLAN = """
title = "Two threads"
[[sweep]]
machine = "sst_mesh16"
isa = "x86_64"
lock = "tasuki"
workload = "threads"
threads = 2
place = ["", "far", "5-10"]
"""


@pytest.mark.parametrize("place", ["here", "0-", "-1", "0,1", "0 1", "near-1", "12345", "0-1\n"])
def test_what_is_no_place(place: str) -> None:
    assert "allowed are near, far, spread" in invalid_reason(replace(CELL, place=place))


@pytest.mark.parametrize(
    ("place", "cores", "why"),
    [
        ("near", 1, "near: one core has nothing to be near of"),
        ("0-1-2", 2, "0-1-2: 3 nodes for 2 cores"),
        ("4", 2, "4: 1 nodes for 2 cores"),
        ("3-3", 2, "3-3: two cores at node 3"),
    ],
)
def test_places_that_no_network_has(place: str, cores: int, why: str) -> None:
    cell = replace(CELL, place=place, threads=cores)
    assert not invalid_reason(cell) and unsupported_reason(cell) == f"place: {why}"
    shared = replace(cell, threads=9, cores=cores)
    assert unsupported_reason(shared) == f"place: {why}", "cores have places, not threads"


@pytest.mark.parametrize("place", ["", "near", "far", "spread", "0-27", "27-0"])
def test_places(place: str) -> None:
    assert not invalid_reason(replace(CELL, place=place))
    assert not unsupported_reason(replace(CELL, place=place))


def test_an_engine_without_a_network_refuses_every_place_but_the_default() -> None:
    assert not refusal(CELL)
    for place in ("near", "spread", "0-1"):
        why = refusal(replace(CELL, place=place))
        assert why.startswith(f"place: {place}: engine qemu has no network")
    done = lockcross(
        "run", "--lock", "tasuki", "--workload", "threads", "--threads", "2", "--place", "far",
        "iterations=5",
    )  # fmt: skip
    assert done.returncode != 0 and "engine qemu has no network" in done.stdout + done.stderr


def test_every_core_has_a_node_of_its_own_and_far_is_not_near() -> None:
    system = load_machine("sst_mesh128").sst
    assert system is not None
    hops = distance(system)
    for cores in (1, 2, 7, 64, 128):
        for place in ("", "spread", *(("near", "far") if cores > 1 else ())):
            nodes = places(place, system, cores)
            assert len(set(nodes)) == cores and nodes[0] == 0 and set(nodes) <= set(range(128))
    assert hops(*places("near", system, 2)) == 1 and hops(*places("far", system, 2)) == 22


def test_plans_have_the_axis() -> None:
    assert [cell.place for cell in expand(parse_plan(PLAN))] == ["", "far", "5-10"]
    with pytest.raises(ValueError, match=r"place: 'here': allowed are near"):
        expand(parse_plan(PLAN.replace('"far"', '"here"')))


def test_a_run_without_a_place_is_the_run_that_it_was(tmp_path: Path) -> None:
    """Command and identity, that of a refused cell too, are as if there were no such axis."""
    assert "--place" not in command(CELL) and "--place far" in command(replace(CELL, place="far"))
    refused = replace(CELL, machine="generic_inorder", lock="dekker", threads=3)
    with Store(tmp_path / "a.db") as store:
        first, other = Runner(store).prepare([refused, replace(refused, place="far")])
    assert first.refusal == other.refusal and first.identity != other.identity
    assert first.identity.startswith("ff1ac542089d9888cf19296b86f33ffe"), "of before"


def test_runs_stored_before_have_the_default(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, path, upto=5)
    values = asdict(record("a")) | {"plan": "p", "parameters": "{}", "resolved": "{}"}
    names = [row[1] for row in connection.execute("PRAGMA table_info(runs)") if row[1] != "id"]
    assert "place" not in names
    connection.execute(
        f"INSERT INTO runs ({', '.join(names)}) VALUES (:{', :'.join(names)})", values
    )
    connection.close()
    with Store(path) as store:
        store.add_run(record("b", place="0-27"), "p")
        rows = store.connection.execute(f"SELECT {selected()} FROM runs ORDER BY id").fetchall()
    assert [read_cell(row).place for row in rows] == ["", "0-27"] and "place" in COLUMNS


def test_a_wrong_place_is_the_users_mistake() -> None:
    done = lockcross(
        "run", "--lock", "tasuki", "--workload", "sync", "--place", "there", "iterations=5"
    )
    assert done.returncode == 2 and "place: 'there': allowed are near" in done.stderr
