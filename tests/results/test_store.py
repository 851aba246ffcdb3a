"""The store: its contents, its refusals, and that nothing breaks it."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from results.store.database import explain
from results.store.records import (
    CalibrationRecord,
    CrossoverRecord,
    CrossoverRun,
    CrossoverSeed,
    MachineRecord,
)
from results.store.store import Store, StoreError
from tests.commands import start
from tests.fakes.records import record

ROOT = Path(__file__).parents[2]


def driver(code: str, *arguments: object) -> "subprocess.Popen[str]":
    """Another process that has this tree's packages."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_runs_come_back_by_identity(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        for number in range(1200):  # more than one batch
            store.add_run(record(f"r{number}", number), "p")
        found = store.find([*(f"r{number}" for number in range(1200)), "other"])
    assert len(found) == 1200
    assert found["r7"].metrics["cycles_per_pair"] == 7
    assert found["r7"].status == "ok"


def test_a_failed_run_is_replaced_and_attempts_add_up(tmp_path: Path) -> None:
    failed = replace(record("x"), status="failed", cause="time limit", metrics={})
    with Store(tmp_path / "a.db") as store:
        first = store.add_run(failed, "p")
        again = store.add_run(failed, "p")
        good = store.add_run(record("x", 5), "p")
        assert first == again == good
        assert store.find(["x"])["x"].metrics["cycles_per_pair"] == 5
        row = store.connection.execute("SELECT attempts, status, cause FROM runs").fetchall()
        assert row == [(3, "ok", "")]


def test_a_good_run_is_never_replaced(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        kept = store.add_run(record("x", 5), "p")
        assert store.add_run(record("x", 9), "p") == kept
        assert store.add_run(replace(record("x"), status="failed", metrics={}), "p") == kept
        assert store.find(["x"])["x"].metrics["cycles_per_pair"] == 5


def test_a_result_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    broken = replace(record("x"), metrics={"good": (1.0, ""), "none": (None, "")})  # type: ignore[dict-item]
    with Store(tmp_path / "a.db") as store:
        with pytest.raises(StoreError):
            store.add_run(broken, "p")
        assert store.find(["x"]) == {}
        store.add_run(record("y"), "p")


def test_a_calibration_takes_the_place_of_its_like(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        run = store.add_run(record("x"), "p")
        one = CalibrationRecord("m", "x86_64", "lock", "qemu", None, None, "cas", 20.0, run, run)
        for calibration in (
            one,
            replace(one, cycles=21.0),
            replace(one, cas_latency=5, cycles=5.0),
        ):
            store.add_calibrations([calibration])
        rows = store.connection.execute("SELECT cas_latency, cycles FROM calibrations ORDER BY id")
        assert rows.fetchall() == [(None, 21.0), (5, 5.0)]


def test_a_series_is_set_anew_as_a_whole(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        ids = [store.add_run(record(name), "p") for name in "abc"]
        store.set_series("s", ids)
        store.set_series("s", ids[1:] + ids[1:])
        assert store.connection.execute("SELECT run_id FROM series").fetchall() == [(2,), (3,)]


def test_what_is_stored_already_is_not_written_again(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        run = store.add_run(record("x"), "p")
        calibrations = [
            CalibrationRecord("m", "x86_64", "lock", "qemu", cas, None, "cas", 20.0, run, run)
            for cas in (None, 5)
        ]
        crossing = CrossoverRecord(
            machine="m",
            isa="x86_64",
            flavour="lock",
            engine="qemu",
            workload="w",
            setting={"cas_latency": 1},
            axis="fence_latency",
            unit="cycles",
            lock_a="a",
            lock_b="b",
            low=0,
            high=9,
            tolerance=1,
            verdict="crosses",
            below="a",
            value=3.5,
            bracket_low=3,
            bracket_high=4,
            runs=tuple(CrossoverRun(run, 1, lock, 3, 2.0) for lock in "ab"),
            seeds=(CrossoverSeed(1, 3.5, 3, 4), CrossoverSeed(2, None, None, None)),
        )

        def write(value: float) -> int:
            """How many rows that changes."""
            before = store.connection.total_changes
            store.add_calibrations(calibrations)
            store.set_crossovers([replace(crossing, value=value), crossing], "axis")
            store.set_series("s", [run])
            store.set_fact("f", {"a": value})
            store.set_machine(MachineRecord("m", "M", {"b": value}))
            return store.connection.total_changes - before

        assert write(1.0) > 0
        assert write(1.0) == 0
        assert write(2.0) > 0
        values = store.connection.execute("SELECT value FROM crossovers ORDER BY id").fetchall()
        assert values == [(2.0,), (3.5,)]


def test_foreign_keys_are_kept(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store, pytest.raises(StoreError, match="FOREIGN KEY"):
        store.set_series("s", [77])


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [5, 999])
def test_a_database_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, read_only: bool, version: int
) -> None:
    path = tmp_path / "a.db"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE migrations SET number = ?", (version,))
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"another version.*{version}.*run again.*--db"):
        Store(path, read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, read_only: bool
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database at all, but long enough to be looked at\n" * 40)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a SQLite database"):
        Store(path, read_only)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="not one of Lockcross"):
        Store(path)


def test_a_damaged_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        for number in range(200):
            store.add_run(record(f"r{number}"), "p")
    data = bytearray(path.read_bytes())
    data[8192:-4096] = b"\xff" * (len(data) - 12288)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), Store(path) as store:
        store.find(f"r{number}" for number in range(200))


def test_reading_changes_neither_the_file_nor_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        store.add_run(record("x"), "p")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    assert set(before) == {"a.db", "a.db.lock"}
    with Store(path, read_only=True) as store:
        assert store.find(["x"])
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_reader_sees_what_a_driver_adds_and_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        store.add_run(record("x"), "p")
    with Store(path, read_only=True) as reader:
        assert reader.find(["x"])  # of a file at rest
        with Store(path) as store:
            store.add_run(record("y"), "p")
            assert reader.find(["y"])  # of a file that is written
        assert reader.find(["x", "y"]).keys() == {"x", "y"}
    with Store(path) as store:
        store.add_run(record("z"), "p")
    assert {one.name for one in tmp_path.iterdir()} == {"a.db", "a.db.lock"}


def test_an_empty_file_is_no_database_to_read_and_one_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    with pytest.raises(StoreError, match="no such database"):
        Store(path, read_only=True)
    Store(path).close()
    Store(path, read_only=True).close()


def test_a_missing_database_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such database"):
        Store(tmp_path / "a.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_a_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path)


def test_a_place_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--db"):
        Store(tmp_path / "file" / "a.db")


def test_readers_cannot_write(tmp_path: Path) -> None:
    Store(tmp_path / "a.db").close()
    with (
        Store(tmp_path / "a.db", read_only=True) as store,
        pytest.raises(StoreError, match="cannot be written"),
    ):
        store.add_run(record("x"), "p")


def test_what_sqlite_calls_read_only_names_the_permissions() -> None:
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorcode = sqlite3.SQLITE_READONLY
    assert "permissions" in explain(error, Path("a.db")).message


def test_a_full_disk_leaves_what_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count = {pages + 20}")
        stored = 0
        with pytest.raises(StoreError, match="disk full") as caught:
            while stored < 10_000:
                store.add_run(record(f"r{stored}"), "p")
                stored += 1
        assert caught.value.exit_code == 1
    assert stored > 0
    with Store(path) as store:
        assert len(store.find(f"r{number}" for number in range(stored + 1))) == stored
        store.add_run(record("after"), "p")


def test_a_limit_on_file_size_is_a_full_disk_too(tmp_path: Path) -> None:
    process = driver(
        """
        import resource, signal, sys
        from pathlib import Path
        from results.store.store import Store, StoreError
        from tests.fakes.records import record
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with Store(Path(sys.argv[1])) as store:
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
            number = 0
            try:
                while True:
                    store.add_run(record(f"r{number}"), "p")
                    number += 1
            except StoreError as error:
                print(number, error.message)
        """,
        tmp_path / "a.db",
    )
    out, err = process.communicate(timeout=60)
    assert err == ""
    count, message = out.split(" ", 1)
    assert "disk full" in message
    with Store(tmp_path / "a.db", read_only=True) as store:
        kept = store.connection.execute("SELECT count(*) FROM runs").fetchone()
        assert kept == (int(count),)
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


_WRITER = """
    import sys
    from pathlib import Path
    from results.store.store import Store
    from tests.fakes.records import record
    with Store(Path(sys.argv[1])) as store:
        number = 0
        while True:
            store.add_run(record(f"r{number}"), "p")
            number += 1
            print(number, flush=True)
    """


def test_one_driver_at_a_time_and_the_other_is_named(tmp_path: Path) -> None:
    process = driver(_WRITER, tmp_path / "a.db")
    assert process.stdout is not None
    process.stdout.readline()
    try:
        with pytest.raises(StoreError, match=f"another driver.*process {process.pid}"):
            Store(tmp_path / "a.db")
        with Store(tmp_path / "a.db", read_only=True) as store:  # readers are not kept out
            assert store.find(["r0"])["r0"].status == "ok"
    finally:
        process.kill()
        process.communicate()


def test_a_driver_may_wait_for_the_other(tmp_path: Path) -> None:
    process = driver(_WRITER, tmp_path / "a.db")
    assert process.stdout is not None
    process.stdout.readline()
    words = ["sweep", "smoke", "--wait", "--db", str(tmp_path / "a.db")]
    waiting = start(*words)
    assert waiting.stderr is not None
    line = ""
    try:
        while "another driver" not in line:
            line = waiting.stderr.readline()
            assert line
        assert line.endswith("; waiting until it ends\n") and f"process {process.pid}" in line
        assert waiting.poll() is None
    finally:
        process.kill()
        process.communicate()
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


def test_a_file_of_two_names_is_only_read(tmp_path: Path) -> None:
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    with Store(path) as store:
        store.add_run(record("x"), "p")
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(StoreError, match=r"2 names .* copy"):
            Store(name)
        with Store(name, read_only=True) as store:
            assert store.find(["x"])
    other.unlink()
    Store(path).close()


def test_a_killed_driver_loses_nothing_and_blocks_nobody(tmp_path: Path) -> None:
    process = driver(_WRITER, tmp_path / "a.db")
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate()
    last = int(rest.split()[-1]) if rest.endswith("\n") and rest.split() else said[-1]
    with Store(tmp_path / "a.db") as store:
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert len(store.find(f"r{number}" for number in range(last))) == last
        broken = store.connection.execute(
            "SELECT count(*) FROM runs WHERE (SELECT count(*) FROM metrics WHERE run_id = id) != 5"
        )
        assert broken.fetchone() == (0,)
