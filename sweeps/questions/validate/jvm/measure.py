"""User CPU time of a program under both modes of a JVM, in turn."""

import resource
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from results import children
from results.errors import LockcrossError
from sweeps.questions.validate.jvm.definition import JvmDefinition, Program
from sweeps.questions.validate.jvm.modes import UNLOCKED, Jvm
from sweeps.questions.validate.jvm.programs import Built, environment
from sweeps.support.tools import complaint

_LIMIT_S = 600.0  # that a run takes at most
_PROBLEM = r"error|exception"

Times = dict[str, list[float]]  # seconds of user CPU time of each run, by the mode


@dataclass
class Measured:
    """Runs of a program as the JVM is, and with all locks kept. Those of one place in the two lists
    were made one after the other."""

    usual: Times = field(default_factory=dict)
    kept: Times = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    """What a program is measured with."""

    definition: JvmDefinition
    jvm: Jvm
    built: Built
    repeats: int  # times as many runs

    def measure(self, program: Program, say: Callable[[str], None]) -> Measured:
        """Runs a program until its time is over. Which mode comes first changes from round to
        round, so that what drifts is in both. Raises LockcrossError (1) where a run fails."""
        about, modes = self.definition, self.jvm.modes
        measured = Measured()
        kept = [*about.kept]
        places = [
            (times, mode.title, [*UNLOCKED, *options, *mode.options])
            for times, options in ((measured.usual, []), (measured.kept, kept))
            for mode in (modes.first, modes.second)
        ]
        with TemporaryDirectory(prefix="lockcross-jvm-") as folder:
            # The first run finds files that nobody has read yet.
            first = self._run(program, places[0][2], folder)
            wanted = about.seconds / (len(places) * max(first, 0.01))
            rounds = self.repeats * min(max(round(wanted), about.fewest), about.most)
            say(f"{program.name}: {first:.1f} s of CPU time, {rounds} runs in each mode")
            for number in range(rounds):
                for times, mode, options in places if number % 2 else reversed(places):
                    times.setdefault(mode, []).append(self._run(program, options, folder))
        return measured

    def _run(self, program: Program, options: Sequence[str], folder: str) -> float:
        """Seconds of user CPU time of a run, the JVM's own threads with them."""
        command = self.built.command(self.jvm.program, options, program)
        with Path(folder, "said").open("w+", encoding="utf-8", errors="replace") as said:
            before = _user_seconds()
            process = children.start(
                command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=said,
            )  # fmt: skip
            try:
                code = process.wait(_LIMIT_S)
            except subprocess.TimeoutExpired:
                raise LockcrossError(
                    f"{program.name}: runs longer than {_LIMIT_S:.0f} s", 1
                ) from None
            finally:
                children.end(process)
            if code:
                said.seek(0)
                why = complaint(said.read(), _PROBLEM)
                raise LockcrossError(f"{program.name}: ended with code {code}: {why}", 1)
            return _user_seconds() - before


def _user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
