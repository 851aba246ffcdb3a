"""What the tool says of a program, as its user asks it: `record`, then `advise` of the log.

Both are called as commands, so that the whole way is held to the JVM and not a part of it.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.lock_logs.log import Kind, read_events
from sweeps.questions.validate.jvm.definition import Program
from sweeps.questions.validate.jvm.modes import Jvm
from sweeps.questions.validate.jvm.programs import Built, environment
from sweeps.support.tools import complaint, run

_PROBLEM = "^lockcross: |error"


@dataclass(frozen=True)
class Recorded:
    """What a log says of a program: acquisitions, nested ones too, and threads."""

    acquisitions: int
    threads: int


def record(program: Program, jvm: Jvm, built: Built, log: Path) -> Recorded:
    """Records a program on the JVM as it is, first without the agent, then with it. Raises
    LockcrossError (1) where that fails or the log is no whole one."""
    command = built.command(jvm.program, [], program)
    _lockcross("record", "--compare", "--force", "--output", log, "--", *command)
    events = read_events(log)
    totals = events.totals
    if totals is None or totals.end != "exit" or totals.lost:
        raise LockcrossError(f"{program.name}: its log does not have all that it did", 1)
    acquired = events.events["kind"] == Kind.ACQUIRED
    return Recorded(int(acquired.sum()), int(events.events["thread"].nunique()))


def advise(log: Path, machine: str, locks: tuple[str, str], db: Path) -> Mapping[str, Any]:
    """The answer for two locks on a machine. Raises LockcrossError (1) where that fails or there is
    none."""
    said = _lockcross(
        "advise", "--log", log, "--machines", machine, "--locks", ",".join(locks), "--ranking",
        "--format", "json", "--db", db,
    )  # fmt: skip
    answer: Mapping[str, Any] = json.loads(said)
    if answer["cheapest"] is None:
        raise LockcrossError(f"{log.stem}: {answer['verdict']}", 1)
    return answer


def _lockcross(*words: object) -> str:
    """What a command of this tree says. It is called by its launcher, which makes what it needs."""
    command = [str(ROOT / "lockcross"), *map(str, words)]
    try:
        done = run(command, env=environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(f"{command[0]}: {error}", 1) from None
    if done.returncode:
        why = complaint(done.stderr, _PROBLEM).removeprefix("lockcross: ")
        raise LockcrossError(f"lockcross {words[0]}: {why}", 1)
    return done.stdout
