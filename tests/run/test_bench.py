"""The parts of a cell's cost that are alike on all machines stay within bounds."""

from pathlib import Path

from results.store.store import Store
from sweeps.questions.bench import large
from sweeps.run import bench

# A compiler or QEMU of another version moves these a little; what is done once more for each
# hand-over, or for each page of a program's memory, moves them by far more.
_MORE = 1.4
_SLEEPS = 60


def test_counts_of_a_cell_stay_within_those_of_the_last_release(tmp_path: Path) -> None:
    last = bench.last_release()
    found = bench.measure(bench.command(bench.CONTENDED), tmp_path)
    for name, count in {
        "its instructions": found.instructions,
        "its number of hand-overs": found.handovers,
        "its page faults": found.page_faults,
    }.items():
        assert 0 < count < _MORE * last[name], name
    assert found.switches < _SLEEPS < found.handovers / 100


def test_a_served_cell_makes_fewer_pages_than_one_alone(tmp_path: Path) -> None:
    alone = bench.measure(bench.command(bench.SMALL), tmp_path).page_faults
    served = bench.served(20, tmp_path).page_faults
    assert 0 < served < _MORE * bench.last_release()["page faults, served"]
    assert served < alone


def test_the_table_compares_with_what_was_kept(tmp_path: Path) -> None:
    rows = [bench.Timing("a", 3.0, "ms", 1.5), bench.Timing("b", 2.0, "cells/s")]
    shown = bench.beside(rows, {"a": 3.0})
    columns = [list(column.cells) for column in shown.__rich__().columns]
    assert columns[0] == ["a", "b"] and columns[-2:] == [["3", ""], ["0.5", ""]]
    assert [row["ratio"] for row in shown.records] == [0.5, None]


def test_a_large_database_is_measured(tmp_path: Path) -> None:
    large.fill(tmp_path / "large.db", 10_000)
    with Store(tmp_path / "large.db", read_only=True) as store:
        assert store.connection.execute("SELECT count(*) FROM runs").fetchone() >= (10_000,)
        assert not store.connection.execute("PRAGMA foreign_key_check").fetchall()
    what = {row["what"] for row in large.measured(100).records}
    assert {"size", "query winners", "export .csv, memory"} <= what
