"""Which JVM a command starts, and how it is told to record."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.support.tools import run

AGENT = WORK / "build" / "java-agent" / "lockcross-agent-1.jar"
OLDEST = 11  # whose class files the agent has
_VARIABLE = "JAVA_TOOL_OPTIONS"  # which every JVM reads
_SECONDS = 60  # that a JVM takes at most to say its version


@dataclass(frozen=True)
class Launch:
    """A start: its command, and the additions to its environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def recorded(command: Sequence[str], options: str) -> Launch:
    """Return the program with the agent, whose options are given. A command that is no `java`
    itself, as a script that calls one, hands them on in a variable. Raises LockcrossError where
    there is no such program, or its JVM is too old."""
    if not AGENT.exists():
        raise LockcrossError(f"{AGENT}: is not built; ./lockcross record builds it", exit_code=1)
    if "=" in str(AGENT):
        raise LockcrossError(
            f"{AGENT}: a JVM takes no agent whose path has an equals sign; name another folder for "
            "what is built in LOCKCROSS_WORK"
        )
    program = shutil.which(command[0])
    if program is None:
        raise LockcrossError(
            f"{command[0]}: no such program; behind -- comes what runs yours, e.g. java -jar "
            "app.jar (Debian's default-jre-headless has a java)"
        )
    agent = f"-javaagent:{AGENT}={options}"
    if not re.fullmatch(r"java(\.exe)?", Path(program).name):
        # A JVM takes quotes off as a shell does.
        return Launch((program, *command[1:]), {_VARIABLE: shlex.quote(agent)})
    version = _version(program)
    if version < OLDEST:
        raise LockcrossError(
            f"{program}: is Java {version}; {OLDEST} or later can record. Another one may be named "
            "by its path: -- /path/to/java -jar app.jar"
        )
    return Launch((program, agent, *command[1:]), {})


def _version(program: str) -> int:
    """Return the feature release of a JVM: 8, 11, 17. Raises LockcrossError if it does not say."""
    try:
        done = run([program, "-version"], _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(f"{program} -version: {error}; name another JVM") from None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if done.returncode or found is None:
        raise LockcrossError(
            f"{program} -version: says no version of a JVM; name another one by its path"
        )
    return int(found[1])
