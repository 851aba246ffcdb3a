"""The addition by recording to an acquisition with its release, measured on this host right after
the program, by a loop that locks with recording and without. The log keeps it for `advise`.

Each round of the loop begins with a byte to it, which names the lock, and ends with a byte
back; in between the kernel's clock of the whole process is read, which has its writer and its
compiler, too. A pair of the first rounds takes ten times as long as one of the last where a JVM
runs them: so do those of a program, and its log does not say how many of them were of which kind.
So the least and the most count, and the middle is a guess between.
"""

import os
import select
import statistics
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.lock_logs.gaps import added, gaps_of
from sweeps.lock_logs.log import first_line, read_events
from sweeps.questions.record.jvm import AGENT, Launch
from sweeps.questions.record.preload import preloaded
from sweeps.support.tools import run

_SOURCE = ROOT / "pthread-recorder" / "cost" / "pairs.c"
_PAIRS = 20_000  # of a round
_JAVA = b"bm"  # a block, and a method of the JDK
_PTHREAD = b"b"
_MOST = 64 * 10**6  # bytes of the loop's log
_FEWEST = 10  # rounds with recording
_SECONDS = 0.7  # of them, if they are as many: a JVM compiles the loop meanwhile
_SECONDS_OF_C = 0.2
_PATIENCE = 10.0  # seconds that a loop takes at most, on a machine that does much else
_WRITER = 0.002  # seconds within which it takes what a round has left
_CLOCK_OF_PROCESS = 2  # the low bits of a clock's number: all that its threads have run


def cost_line(log: Path, pthread: bool) -> dict[str, Any] | None:
    """Return the line of a log with the cost of recording a pair, in nanoseconds of CPU time, its
    parts between two sections and in one, and the time of a JVM's start, in seconds; None where
    that cannot be measured."""
    try:
        with TemporaryDirectory() as folder:
            own = Path(folder) / "pairs.locks"
            if pthread:
                loops = _of_pthread(Path(folder), own)
                return _line(_PTHREAD, _SECONDS_OF_C, *loops) | _of_log(own)
            loops = _of_java(str(first_line(log)["java_home"]), own)
            return _line(_JAVA, _SECONDS, *loops) | _of_log(own)
    except (OSError, ValueError, KeyError, LockcrossError, subprocess.SubprocessError):
        return None
    except KeyboardInterrupt:
        return None


def _of_java(home: str, log: Path) -> tuple[Launch, Launch]:
    """Return the loop on the JVM that was recorded, without recording and with it."""
    java, *loop = str(Path(home) / "bin" / "java"), "-cp", str(AGENT), "lockcross.cost.Pairs"
    agent = f"-javaagent:{AGENT}=most={_MOST};output={log}"
    return Launch((java, *loop), {}), Launch((java, agent, *loop), {})


def _of_pthread(folder: Path, log: Path) -> tuple[Launch, Launch]:
    loop = str(folder / "pairs")
    compiler = (os.environ.get("CC") or "cc").split()
    done = run([*compiler, "-O2", "-o", loop, str(_SOURCE), "-pthread"], _PATIENCE)
    if done.returncode:
        raise LockcrossError(done.stderr)
    return Launch((loop,), {}), preloaded([loop], log, _MOST)


def _of_log(log: Path) -> dict[str, list[float]]:
    """Return the time that recording added between two sections of the loop, and to a section, by
    its log: its thread's part, without that of the thread that writes. Raises LockcrossError."""
    found = gaps_of(read_events(log))
    return {"gap_ns": added(found.gap), "section_ns": added(found.section)}


def _line(kinds: bytes, seconds: float, plain: Launch, recorded: Launch) -> dict[str, float]:
    """Return the line of a loop. Raises OSError or ValueError where a loop does not run to its
    end."""
    _, with_recording = _rounds(recorded, kinds, _FEWEST, seconds)
    start, without = _rounds(plain, kinds, len(with_recording))
    more = [max(a - b, 0.0) for a, b in zip(with_recording, without, strict=True)]
    parts = statistics.quantiles(more, n=20)
    return {
        "recording_ns": statistics.median(more),
        "recording_least": parts[0],
        "recording_most": parts[-1],
        "start_cpu": start,
    }


def _rounds(
    program: Launch, kinds: bytes, fewest: int, seconds: float = 0
) -> tuple[float, list[float]]:
    """Return the seconds of CPU time until the loop began, and nanoseconds a pair of each round: as
    many as there is time for, and so many at least."""
    with subprocess.Popen(
        [*program.command, str(_PAIRS)],
        env={**os.environ, **program.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as process:
        try:
            begun = time.monotonic()
            _round(process, kinds[0], begun)
            until = time.monotonic() + seconds
            last = start = _cpu(process)
            rounds: list[float] = []
            while len(rounds) < fewest or time.monotonic() < until:
                for kind in kinds:
                    _round(process, kind, begun)
                    now = _cpu(process)
                    rounds.append((now - last) / _PAIRS)
                    last = now
        finally:
            process.kill()
    return start / 1e9, rounds


def _round(process: "subprocess.Popen[bytes]", kind: int, begun: float) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(bytes((kind,)))
    left = max(begun + _PATIENCE - time.monotonic(), 0)
    if not select.select([process.stdout], [], [], left)[0] or not process.stdout.read(1):
        raise ValueError
    time.sleep(_WRITER)


def _cpu(process: "subprocess.Popen[bytes]") -> int:
    """Return the nanoseconds that all threads of a process have run."""
    return time.clock_gettime_ns(~process.pid << 3 | _CLOCK_OF_PROCESS)
