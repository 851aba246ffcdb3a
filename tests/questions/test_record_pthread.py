"""`record --pthread`: a C program of which every lock is known, and its log."""

import os
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def watched(command: list[str], log: Path) -> Iterator[tuple["subprocess.Popen[bytes]", Watch]]:
    watch = Watch()
    try:
        prepared = preloaded(command, log, 10**9, watch.path)
        environment = os.environ | dict(prepared.environment)
        with subprocess.Popen(prepared.command, env=environment) as process:
            yield process, watch
    finally:
        watch.close()


def test_a_log_of_which_nothing_could_be_written_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "x.locks"
    for free, why in ((0, "its disk is full"), (1, "nothing could be written")):
        log.touch()
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with pytest.raises(LockcrossError, match=f"x.locks: {why}, so there is no log") as error:
            check_written(log, log, 3, None)
        assert error.value.exit_code == 3 and not log.exists()
    log.write_bytes(b"a log")
    check_written(log, log, 0, None)
    assert log.exists()


def writer_of(process: int) -> int:
    """The process that writes the log: it has the program's memory, so its name is the sign."""
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()[0]
    for one in Path("/proc").glob("[0-9]*"):
        try:
            name, first = (one / "comm").read_text(), (one / "maps").read_text().splitlines()[:1]
        except OSError:
            continue
        if name == "lockcross-log\n" and first == [maps]:
            return int(one.name)
    raise AssertionError("no writer")


def altered(program: Path, folder: Path, to: str) -> Path:
    """A program whose header says that it is another one."""
    content = bytearray(program.read_bytes())
    if to == "musl":
        place = content.index(b"/lib", 64)
        end = content.index(b"\0", place)
        content[place:end] = b"/lib/ld-musl-x86.so".ljust(end - place, b"1")
    else:  # the smallest header of a program of 32 bits with a loader
        content = bytearray(b"\x7fELF\x01\x01\x01".ljust(16, b"\0"))
        content += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        content += struct.pack("<8I", 3, 84, 0, 0, 19, 19, 4, 1) + b"/lib/ld-linux.so.2\0"
    made = folder / to
    made.write_bytes(content)
    made.chmod(0o755)
    return made


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pthread")
    built = folder / "app"
    subprocess.run(["cc", "-O1", "-pthread", "-o", built, PROGRAM], check=True)
    return built


def test_every_lock_is_counted(program: Path, tmp_path: Path) -> None:
    log = tmp_path / "app.locks"
    done = lockcross("record", "--pthread", "--output", str(log), "--", str(program), "20000")
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
    again = lockcross("record", "--pthread", "--output", str(log), "--", str(program))
    assert again.returncode == 2 and "--force" in again.stderr


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="needs addr2line")
def test_a_program_with_debug_information_has_lines_of_source(tmp_path: Path) -> None:
    program, log = tmp_path / "app", tmp_path / "app.locks"
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", program, PROGRAM], check=True)
    assert (
        lockcross("record", "--pthread", "--output", str(log), "--", str(program)).returncode == 7
    )
    line = 1 + next(
        number
        for number, text in enumerate(PROGRAM.read_text("utf-8").splitlines())
        if "sum++" in text
    )
    counted = sites(read_events(log)).iloc[0]
    assert counted["line"] == f"known.c:{line - 1}, count" and counted["acquisitions"] == 2000


def test_the_log_of_a_killed_program_is_whole(program: Path, tmp_path: Path) -> None:
    log = tmp_path / "app.locks"
    with watched([str(program), "1000000000"], log) as (process, watch):
        time.sleep(0.35)
        process.kill()
        process.wait()
        watch.wait()
    found = read_events(log)
    assert found.totals and found.totals.end == "exit"
    assert (found.events["kind"] == Kind.ACQUIRED).sum() > 1000


def test_a_log_is_read_up_to_its_last_mark_where_its_writer_is_killed_too(
    program: Path, tmp_path: Path
) -> None:
    log = tmp_path / "app.locks"
    with watched([str(program), "1000000000"], log) as (process, _):
        time.sleep(0.35)
        os.kill(writer_of(process.pid), signal.SIGKILL)
        assert process.poll() is None
        process.kill()
    found = read_events(log)
    assert found.totals and found.totals.end == "cut"
    assert (found.events["kind"] == Kind.ACQUIRED).sum() > 1000


def test_a_program_goes_on_where_its_writer_is_killed(program: Path, tmp_path: Path) -> None:
    with watched([str(program), "3000000"], tmp_path / "app.locks") as (process, _):
        time.sleep(0.05)
        os.kill(writer_of(process.pid), signal.SIGKILL)
        assert process.wait(timeout=60) == 7


def test_the_limit_ends_recording_and_not_the_program(program: Path, tmp_path: Path) -> None:
    log = tmp_path / "app.locks"
    words = ["--most", "1M", "--output", str(log), "--", str(program), "200000"]
    done = lockcross("record", "--pthread", *words)
    assert done.returncode == 7
    assert 10**6 <= log.stat().st_size < 2 * 10**6
    found = read_events(log)
    assert found.totals and found.totals.end == "limit"
    line = last_line(log)
    assert line and line["acquisitions"] == (found.events["kind"] == Kind.ACQUIRED).sum()
    assert line["acquisitions"] + line["counted"] == 400_000 + OTHERS and line["lost"] == 0


def test_a_log_that_cannot_grow_is_said_and_the_rest_is_counted(
    program: Path, tmp_path: Path
) -> None:
    log = tmp_path / "app.locks"
    words = ["record", "--pthread", "--output", str(log), "--"]
    done = lockcross(*words, "sh", "-c", f"ulimit -f 200; exec {program} 200000")
    assert done.returncode == 7 and "ulimit -f" in done.stderr
    said = re.search(r"(\d+) acquisitions in .*\n.*: (\d+) further .*, (\d+) records", done.stderr)
    assert said
    acquired, counted, lost = map(int, said.groups())
    assert 0 < acquired < 400_000 + OTHERS and counted > 0
    # Of the records that were lost, half are acquisitions.
    assert abs(acquired + counted + lost / 2 - 400_000 - OTHERS) <= 10


def test_programs_that_cannot_be_recorded_are_refused(program: Path, tmp_path: Path) -> None:
    static = tmp_path / "static"
    subprocess.run(["cc", "-static", "-pthread", "-o", static, PROGRAM], check=True)
    for words, said in (
        ([str(static)], "linked statically"),
        ([str(altered(program, tmp_path, "musl"))], "C library of musl"),
        ([str(altered(program, tmp_path, "x86"))], "32 bits, x86"),
        (["no-such-program"], "no such program"),
    ):
        log = str(tmp_path / "none.locks")
        done = lockcross("record", "--pthread", "--output", log, "--", *words)
        assert done.returncode == 2 and said in done.stderr, words
    done = lockcross("record", "--pthread", "--sample", "4", "--", str(program))
    assert done.returncode == 2 and "--sample" in done.stderr


def test_the_commands_of_the_page_work(program: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "pthread.md").read_text()
    commands = re.findall(r"^\./lockcross (.*)$", page, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        words = command.replace("./app ARGS", str(program)).split("#")[0].split()
        words = [str(tmp_path / word) if word == "app.locks" else word for word in words]
        if words[0] == "advise":
            continue  # it takes minutes, and reads the log as locality does
        done = lockcross(*words)
        assert done.returncode in (0, 7), (command, done.stderr)
