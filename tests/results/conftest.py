"""A database with something of everything."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.store.store import Store
from tests.fakes.records import record
from tests.fakes.study import study
from tests.fakes.validation import Gem5Data


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, a validation with the baseline, runs that failed, others of two compilers and of
    many cores, texts with everything in them."""
    path = study(tmp_path_factory.mktemp("filled") / "filled.db")
    with Store(path) as store:
        Gem5Data(store).validation()
        for output in ("a\nb", "a\rb", "a\r\nb", 'say "a", b', " a ", "a,b", "é", "[red]a[/red] b"):
            failed = {"status": "failed", "cause": "lost, then", "output": output}
            store.add_run(record(f"bad {output}", **failed), "p")
        for cycles, compiler in ((100, "gcc 12.2.0"), (110, "gcc 14.2.0")):
            store.add_run(record(compiler, cycles=cycles, compiler=compiler, seed=99), "p")
        store.set_series("many_cores/cores", [store.add_run(record("many", threads=64), "p")])
        mixed = {"op": "cas", "iterations": 10}
        store.add_run(record("nop", lock="nop", workload="calibrate", parameters=mixed), "p")
        store.add_run(record("signal", lock="reservation", variant="signal"), "p")
        comma = {"stands": "a, b", "quoted": 'a "b"', "line": "a\nb", "number": 1.5}
        store.add_run(record("comma", resolved=comma), "p")
        store.add_run(record("empty", resolved={}, metrics={}), "p")
    return path


@pytest.fixture
def connection(filled: Path) -> Iterator[sqlite3.Connection]:
    """That of the database with everything, to be read alone."""
    with Store(filled, read_only=True) as store:
        yield store.connection
