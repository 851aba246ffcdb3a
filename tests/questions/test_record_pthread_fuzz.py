"""`record --pthread` changes nothing of a program's behaviour, and misses no acquisition: random
programs (pthread_programs.py). LOCKCROSS_FUZZ says how many."""

import os
import struct
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sweeps.lock_logs.log import Kind, read_events
from sweeps.questions.record.preload import preloaded
from sweeps.questions.record.watch import Watch
from tests.questions.pthread_programs import SOURCES, source
from tests.questions.recording import ended

SEED = int(os.environ.get("LOCKCROSS_FUZZ_SEED", "1"))
PROGRAMS = int(os.environ.get("LOCKCROSS_FUZZ", "60"))
AT_ONCE = 20  # programs in one file
MUTEXES = 20


def built(folder: Path, numbers: range) -> Path:
    (folder / "app.c").write_text(source(numbers, SEED))
    for made in (["app", "app.c"], ["app.so", SOURCES / "library.c", "-shared", "-fPIC"]):
        subprocess.run(["cc", "-O1", "-w", "-pthread", "-o", *made], cwd=folder, check=True)
    return folder / "app"


def ran(command: Sequence[str], side: Path, **variables: str) -> tuple[int, str, str]:
    """Exit code, output and errors, in an empty folder."""
    side.write_bytes(bytes(16 * MUTEXES))
    with TemporaryDirectory() as folder:
        done = ended(command, cwd=folder, env=os.environ | variables)
    return done.returncode, done.stdout, done.stderr


def counted(side: Path) -> dict[int, int]:
    """By the hash of its address: how often each mutex was taken."""
    pairs = struct.iter_unpack("<QQ", side.read_bytes())
    taken = {address: count for address, count in pairs if count}
    return {(one * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 33: taken[one] for one in taken}


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_ONCE))
def test_programs_are_the_same_and_every_acquisition_is_counted(first: int, tmp_path: Path) -> None:
    numbers = range(first, min(first + AT_ONCE, PROGRAMS))
    app = built(tmp_path, numbers)
    side, log = tmp_path / "side", tmp_path / "app.locks"
    for number in numbers:
        words = (str(app), str(number), str(side))
        plain = ran(words, side)
        for old in tmp_path.glob("app.locks*"):
            old.unlink()
        with closing(Watch()) as watch:
            program = preloaded(words, log, 10**9, watch.path)
            recorded = ran(program.command, side, **dict(program.environment))
            watch.wait()
            assert not [one for one in watch.lines() if one.what == "failed"]
        assert recorded == plain, f"program {number} of seed {SEED}"
        expected = counted(side)
        found = {}
        if log.exists():
            events = read_events(log)
            acquired = events.events.loc[events.events["kind"] == Kind.ACQUIRED, "object"]
            found = acquired.value_counts().to_dict()
            assert events.totals and events.totals.end == "exit"
        assert found == expected, f"program {number} of seed {SEED}"
