"""The store: its contents, its refusals, and that nothing breaks it."""

import resource
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from results.paths import ROOT
from results.store.database import explain
from results.store.records import CalibrationRecord
from results.store.store import Store, StoreError
from tests.commands import start
from tests.fakes.records import record
from tests.fakes.study import Synthetic, study

# Adds runs without end and says the number of each.
_WRITER = """
    import itertools, sys
    from pathlib import Path
    from results.store.store import Store, StoreError
    from tests.fakes.records import record
    with Store(Path(sys.argv[1])) as store:
        try:
            for number in itertools.count():
                store.add_run(record(f"r{number}"), "p")
                print(number, flush=True)
        except StoreError as error:
            print(error.message)
            sys.exit(error.exit_code)
    """


@pytest.fixture
def writer(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process, a driver that writes a.db and has stored a run."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_WRITER), str(tmp_path / "a.db")],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with run x, at rest."""
    with Store(tmp_path / "a.db") as store:
        store.add_run(record("x"), "p")
    return tmp_path / "a.db"


def test_runs_come_back_by_identity(store: Store) -> None:
    for number in range(1200):  # more than one batch
        store.add_run(record(f"r{number}", number), "p")
    found = store.find([*(f"r{number}" for number in range(1200)), "other"])
    assert len(found) == 1200
    assert found["r7"].metrics["cycles_per_pair"] == 7
    assert found["r7"].status == "ok"


def test_a_failed_run_is_replaced_and_attempts_add_up(store: Store) -> None:
    late = {"late": (1.0, "count")}
    failed = record("x", status="failed", cause="time limit", metrics=late)
    first = store.add_run(failed, "p")
    again = store.add_run(failed, "p")
    good = store.add_run(record("x", 5), "p")
    assert first == again == good
    metrics = store.find(["x"])["x"].metrics
    assert metrics["cycles_per_pair"] == 5 and "late" not in metrics
    row = store.connection.execute("SELECT attempts, status, cause, cycles_per_pair FROM runs")
    assert row.fetchall() == [(3, "ok", "", 5.0)]


def test_a_good_run_is_never_replaced(store: Store) -> None:
    kept = store.add_run(record("x", 5), "p")
    assert store.add_run(record("x", 9), "p") == kept
    assert store.add_run(record("x", status="failed", metrics={}), "p") == kept
    assert store.find(["x"])["x"].metrics["cycles_per_pair"] == 5


def test_a_result_is_stored_whole_or_not_at_all(store: Store) -> None:
    broken = record("x", metrics={"good": (1.0, ""), "none": (None, "")})
    with pytest.raises(StoreError):
        store.add_run(broken, "p")
    assert store.find(["x"]) == {}
    store.add_run(record("y"), "p")


def test_a_calibration_takes_the_place_of_its_like(store: Store) -> None:
    run = store.add_run(record("x"), "p")
    one = CalibrationRecord("m", "x86_64", "lock", "qemu", None, None, "cas", 20.0, run, run)
    other = replace(one, cas_latency=5, cycles=5.0)
    for calibration in (one, replace(one, cycles=21.0), other):
        store.add_calibrations([calibration])
    rows = store.connection.execute("SELECT cas_latency, cycles FROM calibrations ORDER BY id")
    assert rows.fetchall() == [(None, 21.0), (5, 5.0)]


def test_a_series_is_set_anew_as_a_whole(store: Store) -> None:
    ids = [store.add_run(record(name), "p") for name in "abc"]
    store.set_series("s", ids)
    store.set_series("s", ids[1:] + ids[1:])
    assert store.connection.execute("SELECT run_id FROM series").fetchall() == [(2,), (3,)]


def test_what_is_stored_already_is_not_written_again(tmp_path: Path) -> None:
    """A whole study; but what differs is."""
    crossovers = "SELECT series, value FROM crossovers ORDER BY series, id"
    with Store(study(tmp_path / "a.db")) as store:
        before = store.connection.execute(crossovers).fetchall()
        changes = store.connection.total_changes
        Synthetic(store).fill()
        assert store.connection.total_changes == changes
        store.connection.execute("UPDATE crossovers SET value = value + 1 WHERE id = 1")
        assert store.connection.execute(crossovers).fetchall() != before
        Synthetic(store).fill()
        assert store.connection.execute(crossovers).fetchall() == before


def test_foreign_keys_are_kept(store: Store) -> None:
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.set_series("s", [77])


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("number", [5, 999])
def test_a_database_of_another_version_is_refused_and_left_alone(
    path: Path, read_only: bool, number: int
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE migrations SET number = ?", (number,))
    is_refused(path, read_only, rf"another version.*{number}.*run again.*--db")


@pytest.mark.parametrize("read_only", [False, True])
def test_another_programs_file_is_refused_and_left_alone(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database at all, but long enough to be looked at\n" * 40)
    is_refused(path, read_only, "not a SQLite database")
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    is_refused(path, read_only, "not one of Lockcross")


def is_refused(path: Path, read_only: bool, words: str) -> None:
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words):
        Store(path, read_only)
    assert path.read_bytes() == before


def test_readers_change_neither_the_file_nor_its_folder(path: Path, tmp_path: Path) -> None:
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    assert set(before) == {"a.db", "a.db.lock"}
    with Store(path, read_only=True) as store:
        assert store.find(["x"])
        with pytest.raises(StoreError, match="cannot be written"):
            store.add_run(record("y"), "p")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_reader_sees_what_a_driver_adds_and_does_not_keep_it_from_ending(path: Path) -> None:
    with Store(path, read_only=True) as reader:
        assert reader.find(["x"])  # of a file at rest
        with Store(path) as store:
            store.add_run(record("y"), "p")
            assert reader.find(["y"])  # of a file that is written
        assert reader.find(["x", "y"]).keys() == {"x", "y"}
    with Store(path) as store:
        store.add_run(record("z"), "p")
    assert {one.name for one in path.parent.iterdir()} == {"a.db", "a.db.lock"}


def test_a_missing_or_empty_file_is_no_database_to_read_and_one_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(StoreError, match="no such database"):
        Store(path, read_only=True)
    assert list(tmp_path.iterdir()) == []
    path.touch()
    with pytest.raises(StoreError, match="no such database"):
        Store(path, read_only=True)
    Store(path).close()
    Store(path, read_only=True).close()


def test_a_place_for_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--db"):
        Store(tmp_path / "file" / "a.db")


def test_what_sqlite_calls_read_only_names_the_permissions() -> None:
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorcode = sqlite3.SQLITE_READONLY
    assert "permissions" in explain(error, Path("a.db")).message


def test_a_limit_on_file_size_is_a_full_disk_and_leaves_what_was_stored(
    writer: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    resource.prlimit(writer.pid, resource.RLIMIT_FSIZE, (400_000, 400_000))
    out, err = writer.communicate(timeout=60)
    assert (err, writer.returncode) == ("", 1)
    *_, last, message = out.splitlines()
    assert "disk full" in message
    with Store(tmp_path / "a.db") as store:
        kept = store.connection.execute("SELECT count(*) FROM runs").fetchone()
        assert kept == (int(last) + 1,)
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        store.add_run(record("after"), "p")


def test_one_driver_at_a_time_and_the_other_is_named(
    writer: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match=f"another driver.*process {writer.pid}"):
        Store(tmp_path / "a.db")
    with Store(tmp_path / "a.db", read_only=True) as store:  # readers are not kept out
        assert store.find(["r0"])["r0"].status == "ok"


def test_a_driver_may_wait_for_the_other(writer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    waiting = start("sweep", "smoke", "--wait", "--db", str(tmp_path / "a.db"))
    assert waiting.stderr is not None
    line = ""
    while "another driver" not in line:
        line = waiting.stderr.readline()
        assert line
    assert line.endswith("; waiting until it ends\n") and f"process {writer.pid}" in line
    assert waiting.poll() is None
    writer.kill()
    assert waiting.communicate()[1] is not None and waiting.returncode == 0


@pytest.mark.parametrize("relative", [False, True])
def test_a_link_does_not_evade_the_lock(tmp_path: Path, relative: bool) -> None:
    path, link = tmp_path / "a.db", tmp_path / "elsewhere" / "b.db"
    link.parent.mkdir()
    link.symlink_to("../a.db" if relative else path)
    with Store(link) as store:  # makes what the link points to
        store.add_run(record("x"), "p")
        with pytest.raises(StoreError, match="another driver"):
            Store(path)
    assert list(link.parent.iterdir()) == [link]
    with Store(path), pytest.raises(StoreError, match="another driver"):
        Store(link)


def test_a_file_of_two_names_is_only_read(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "b.db"
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(StoreError, match=r"2 names .* copy"):
            Store(name)
        with Store(name, read_only=True) as store:
            assert store.find(["x"])
    other.unlink()
    Store(path).close()


def test_a_killed_driver_loses_nothing_and_blocks_nobody(
    writer: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    assert writer.stdout is not None
    said = [int(writer.stdout.readline()) for _ in range(50)]
    writer.kill()
    rest, _ = writer.communicate()
    last = int(rest.split()[-1]) if rest.endswith("\n") and rest.split() else said[-1]
    with Store(tmp_path / "a.db") as store:
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert len(store.find(f"r{number}" for number in range(last))) == last
        broken = store.connection.execute(
            "SELECT count(*) FROM runs WHERE (SELECT count(*) FROM metrics WHERE run_id = id) != 5"
        )
        assert broken.fetchone() == (0,)
