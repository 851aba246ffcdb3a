"""Messages of the recorder of mutexes from the processes it is in, and their summary."""

import fcntl
import os
import select
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sweeps.lock_logs.log import last_line
from sweeps.questions.record.fitness import why_not

_SIGNALLED = 128
_PATIENCE = 60.0  # seconds that logs may take to be written once their programs have ended
_PAUSE = 0.002
_NOT_SEEN = (
    "not seen: locks that call no mutex function of a shared C library (futexes of other runtimes, "
    "spin locks, inlined or linked statically), read-write locks, and children that the program "
    "forks"
)
_ENDS = {
    "limit": "the size limit is reached",
    "disk": "the disk is full, or does not keep up",
    "file": "no file may be larger: ulimit -f",
}


@dataclass(frozen=True)
class Line:
    """A line of the recorder: its event and its process (pthread-recorder/writer.c)."""

    what: str
    process: int
    words: str


class Watch:
    """The file in which the processes of one run report their events."""

    def __init__(self) -> None:
        self._file, name = tempfile.mkstemp(prefix="lockcross-")
        self.path = Path(name)
        self.path.chmod(0o666)  # the program may be another user's by then

    def close(self) -> None:
        os.close(self._file)
        self.path.unlink(missing_ok=True)

    def lines(self) -> list[Line]:
        parts = [text.split(" ", 2) for text in self.path.read_text(errors="replace").splitlines()]
        return [Line(part[0], int(part[1]), part[2]) for part in parts if len(part) == 3]

    def wait(self) -> None:
        """Wait until the logs of all processes that have ended are written."""
        for _ in range(round(_PATIENCE / _PAUSE)):
            _bury()
            writing = {line.process for line in self.lines() if self._writes(line.process)}
            if all(map(alive, writing)):
                return
            # By its length: LD_PRELOAD may hold a library that moves the clock.
            select.select([], [], [], _PAUSE)

    def _writes(self, process: int) -> bool:
        """Return whether it writes: a writer holds a lock on the byte of its process."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, process)
        except OSError:
            return True
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, process)
        return False

    def summary(self, log: Path, library: Path) -> Iterator[str]:
        """Yield the contents of each log, and why a process has none."""
        lines = self.lines()
        logs = {line.words: line.process for line in lines if line.what == "log"}
        for name, process in logs.items():
            yield from _of_log(Path(name), process)
        others = sorted(Path(name).name for name in logs if name != str(log))
        if others:
            yield f"further processes of the program have logs: {', '.join(others)}"
        for line in lines:
            if line.what == "failed":
                yield f"process {line.process} is not recorded: {line.words}"
        yield from _unwatched(lines, library)
        if logs:
            yield _NOT_SEEN


def _of_log(log: Path, process: int) -> Iterator[str]:
    done = last_line(log)
    if done is None:
        running = alive(process)
        why = f"process {process} still runs" if running else "its writer was killed"
        yield f"{log} has no end: {why}; it is read up to the last tenth of a second"
        return
    acquired, counted, lost = (done.get(n, 0) for n in ("acquisitions", "counted", "lost"))
    yield (
        f"{acquired} acquisitions in {done['time'] / 1e9:.1f} s ({done['cpu'] / 1e9:.1f} s of CPU "
        f"time): {log}, {log.stat().st_size} bytes"
    )
    if done["end"] != "exit":
        yield (
            f"recording ended before the program ({_ENDS.get(done['end'], done['end'])}): "
            f"{counted} further acquisitions were counted, {lost} records were lost"
        )
    elif lost:
        yield f"{lost} records were lost: no memory for them"


def _unwatched(lines: list[Line], library: Path) -> Iterator[str]:
    """Yield the programs that have run unseen."""
    for line in dict.fromkeys(lines):
        if line.what == "deep":
            yield (
                f"{line.words} opened a library with RTLD_DEEPBIND: what that locks goes past the "
                "recorder, and is not seen"
            )
        if line.what == "exec" and not _seen_as(lines, line):
            reason = why_not(Path(line.words), library) or "was started with a cleared environment"
            yield f"{line.words} was started in the place of another program and not seen: {reason}"


def _seen_as(lines: list[Line], became: Line) -> bool:
    """Return whether it has reported itself, be it that it cannot be recorded."""
    mine = [line for line in lines if line.process == became.process]
    return any(
        line.what == "failed" or (line.what == "seen" and line.words == became.words)
        for line in mine
    )


def why_nothing(lines: list[Line], code: int) -> str:
    """Return why there is no log, as far as can be said."""
    seen = [line for line in lines if line.what == "seen"]
    if not seen:
        return (
            "the recorder was loaded into no process: those that it started are linked statically, "
            "of musl or of 32 bits, gain rights, or had their environment cleared"
        )
    if any(line.what in ("failed", "exec", "deep") for line in lines):
        return "see above"
    names = ", ".join(sorted({Path(line.words).name for line in seen}))
    if code > _SIGNALLED:
        return f"{signal_name(code)} ended it before {names} had locked a mutex"
    if left := sorted({Path(line.words).name for line in lines if line.what == "left"}):
        return (
            f"{', '.join(left)} locked no mutex, and ended by _exit or became another program that "
            "was not seen: with a cleared environment, linked statically, of musl or of 32 bits"
        )
    return f"{names} locked no mutex of pthreads or C11 through the C library"


def signal_name(code: int) -> str:
    try:
        return signal.Signals(code - _SIGNALLED).name
    except ValueError:
        return f"signal {code - _SIGNALLED}"


def alive(process: int) -> bool:
    """Return whether it runs; so it does where its first thread has ended before others."""
    folder = Path(f"/proc/{process}")
    try:
        state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        return state not in "ZX" or len(list((folder / "task").iterdir())) > 1
    except OSError:
        return False


def _bury() -> None:
    """Reap ended processes that came to this one."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
