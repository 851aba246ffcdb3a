"""`record --pthread`: a C program of which every lock is known, and its log."""

import os
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.lock_logs.log import Kind, last_line, read_events
from sweeps.lock_logs.sites import sites
from sweeps.questions.record.command import check_written
from sweeps.questions.record.preload import preloaded
from sweeps.questions.record.watch import Watch
from tests.commands import lockcross

PROGRAM = ROOT / "tests" / "pthread" / "known.c"
# Beside the counting threads: 5, 3 and 1 of the recursive mutex, 1 and 1 of main, 1 of who waits.
OTHERS = 12


def compiled(app: Path, *flags: str) -> Path:
    subprocess.run(["cc", "-O1", "-pthread", *flags, "-o", app, PROGRAM], check=True)
    return app


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("pthread") / "app")


def record(log: Path, *command: str | Path, options: str = "") -> subprocess.CompletedProcess[str]:
    """Record a command in the log's folder."""
    words = ("--output", str(log), "--", *map(str, command))
    return lockcross(f"record --pthread {options}", *words, folder=log.parent)


@contextmanager
def watched(log: Path, *command: str | Path) -> Iterator[tuple["subprocess.Popen[bytes]", Watch]]:
    with closing(Watch()) as watch:
        prepared = preloaded([*map(str, command)], log, 10**9, watch.path)
        environment = os.environ | dict(prepared.environment)
        with subprocess.Popen(prepared.command, env=environment) as process:
            yield process, watch


def test_a_log_of_which_nothing_could_be_written_is_removed(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for free, why in ((0, "its disk is full"), (1, "nothing could be written")):
        log.touch()
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with pytest.raises(LockcrossError, match=f"app.locks: {why}, so there is no log") as error:
            check_written(log, log, 3, None)
        assert error.value.exit_code == 3 and not log.exists()
    log.write_bytes(b"a log")
    check_written(log, log, 0, None)
    assert log.exists()


def writer_of(process: int) -> int:
    """The process that writes the log: it has the program's memory, so its name is the sign. It is
    waited for: on a busy machine the program may not have started it yet."""
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()[0]
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for one in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                first = (one / "maps").read_text().splitlines()[:1]
                if (one / "comm").read_text() == "lockcross-log\n" and first == [maps]:
                    return int(one.name)
        time.sleep(0.01)
    raise AssertionError("no writer")


def test_every_lock_is_counted(program: Path, log: Path) -> None:
    done = record(log, program, "20000")
    assert done.returncode == 7, done.stderr
    assert "the program ended with code 7" in done.stderr
    found = read_events(log)
    kinds = found.events["kind"].value_counts()
    assert kinds[Kind.ACQUIRED] == kinds[Kind.RELEASE] == 40_000 + OTHERS
    assert kinds.get(Kind.WAIT, 0) == kinds.get(Kind.WAITED, 0) <= 2
    assert found.events["object"].nunique() == 2
    assert found.events["thread"].nunique() == 4
    assert found.totals and found.totals.end == "exit" and found.totals.recording
    least, middle, most = found.totals.recording
    assert 0 < least <= middle <= most < 100_000
    assert all(one.file == "app" for one in found.sites.values())
    again = record(log, program)
    assert again.returncode == 2 and "--force" in again.stderr


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="needs addr2line")
def test_a_program_with_debug_information_has_lines_of_source(tmp_path: Path, log: Path) -> None:
    assert record(log, compiled(tmp_path / "app", "-g")).returncode == 7
    source = PROGRAM.read_text("utf-8").splitlines()
    line = next(number for number, text in enumerate(source) if "sum++" in text)
    counted = sites(read_events(log)).iloc[0]
    assert counted["line"] == f"known.c:{line}, count" and counted["acquisitions"] == 2000


@pytest.mark.parametrize(
    ("writer_too", "end"), [(False, "exit"), (True, "cut")], ids=["alone", "with its writer"]
)
def test_the_log_of_a_program_that_is_killed(
    writer_too: bool, end: str, program: Path, log: Path
) -> None:
    """It is whole; where its writer is killed, too, it is read up to its last mark."""
    with watched(log, program, "1000000000") as (process, watch):
        time.sleep(0.35)
        if writer_too:
            os.kill(writer_of(process.pid), signal.SIGKILL)
            assert process.poll() is None
        process.kill()
        process.wait()
        watch.wait()
    found = read_events(log)
    assert found.totals and found.totals.end == end
    assert (found.events["kind"] == Kind.ACQUIRED).sum() > 1000


def test_a_program_goes_on_where_its_writer_is_killed(program: Path, log: Path) -> None:
    with watched(log, program, "10000000") as (process, _):
        os.kill(writer_of(process.pid), signal.SIGKILL)
        assert process.wait(timeout=60) == 7


def test_the_limit_ends_recording_and_not_the_program(program: Path, log: Path) -> None:
    assert record(log, program, "200000", options="--most 1M").returncode == 7
    assert 10**6 <= log.stat().st_size < 2 * 10**6
    found = read_events(log)
    assert found.totals and found.totals.end == "limit"
    line = last_line(log)
    assert line and line["acquisitions"] == (found.events["kind"] == Kind.ACQUIRED).sum()
    assert line["acquisitions"] + line["counted"] == 400_000 + OTHERS and line["lost"] == 0


def test_a_log_that_cannot_grow_is_said_and_the_rest_is_counted(program: Path, log: Path) -> None:
    done = record(log, "sh", "-c", f"ulimit -f 200; exec {program} 200000")
    assert done.returncode == 7 and "ulimit -f" in done.stderr
    said = re.search(r"(\d+) acquisitions in .*\n.*: (\d+) further .*, (\d+) records", done.stderr)
    assert said
    acquired, counted, lost = map(int, said.groups())
    assert 0 < acquired < 400_000 + OTHERS and counted > 0
    # Of the records that were lost, half are acquisitions.
    assert abs(acquired + counted + lost / 2 - 400_000 - OTHERS) <= 10


def test_programs_that_cannot_be_recorded_are_refused(tmp_path: Path, log: Path) -> None:
    x86 = tmp_path / "x86"  # the smallest header of a program of 32 bits with a loader
    header = struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    loader = struct.pack("<8I", 3, 84, 0, 0, 19, 19, 4, 1) + b"/lib/ld-linux.so.2\0"
    x86.write_bytes(b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + header + loader)
    x86.chmod(0o755)
    musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86.so1"
    for app, said in (
        (compiled(tmp_path / "static", "-static"), "linked statically"),
        (compiled(tmp_path / "musl", musl), "C library of musl"),
        (x86, "32 bits, x86"),
    ):
        done = record(log, app)
        assert done.returncode == 2 and said in done.stderr, app


def test_the_commands_of_the_page_work(program: Path, tmp_path: Path) -> None:
    """But for `advise`, which takes minutes and reads the log as locality does."""
    page = (ROOT / "docs" / "pthread.md").read_text()
    commands = re.findall(r"^\./lockcross (?!advise)([^#\n]*)", page, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        words = command.replace("./app ARGS", str(program))
        done = lockcross(words.replace("app.locks", str(tmp_path / "app.locks")))
        assert done.returncode in (0, 7), (command, done.stderr)
