"""Which JVM is here, and which two locking modes it has: it is asked itself."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from results.errors import LockcrossError
from sweeps.questions.validate.jvm.definition import JvmDefinition, Mode, Modes
from sweeps.questions.validate.jvm.programs import environment
from sweeps.support.tools import run

_SECONDS = 60.0  # that a JVM takes at most to say what it has
# Flags that are no product's are said, and can be set, only behind these.
UNLOCKED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions")
_ALL_FLAGS = "-XX:+PrintFlagsFinal"
_FLAG = re.compile(r"^\s*\S+\s+(\w+)\s*:?=\s*(\S*)", re.MULTILINE)


@dataclass(frozen=True)
class Jvm:
    """A JVM: its program, what it calls itself, and its two modes."""

    program: str
    version: str
    modes: Modes


def find_jvm(definition: JvmDefinition) -> Jvm:
    """The `java` of PATH. Raises LockcrossError where there is none, or it has no two modes."""
    program = shutil.which("java")
    if program is None:
        raise LockcrossError(
            "java: no such program; put the bin folder of a JDK into PATH (Debian's "
            "default-jdk-headless has one)"
        )
    flags, said = _flags(program, ())
    version = re.search(r'^\S+ version "[^\n]*', said, re.MULTILINE)
    called = version[0].strip() if version else program
    for modes in definition.modes:
        if modes.flag in flags and _takes_effect(program, modes):
            return Jvm(program, called, modes)
    wanted = " or ".join(modes.flag for modes in definition.modes)
    raise LockcrossError(
        f"{program}: {called} has no two locking modes ({wanted}); put another JDK's bin folder "
        "first in PATH: 17, or 21 to 25"
    )


def _takes_effect(program: str, modes: Modes) -> bool:
    """Whether the two modes set the flag to two values: a flag may be there and do nothing."""
    first, second = (_value(program, mode, modes.flag) for mode in (modes.first, modes.second))
    return None not in (first, second) and first != second


def _value(program: str, mode: Mode, flag: str) -> str | None:
    try:
        return _flags(program, mode.options)[0].get(flag)
    except LockcrossError:
        return None


def _flags(program: str, options: Sequence[str]) -> tuple[dict[str, str], str]:
    """The flags of a JVM with options, and all that it says beside them. Raises LockcrossError."""
    command = [program, *UNLOCKED, *options, _ALL_FLAGS, "-version"]
    try:
        done = run(command, _SECONDS, env=environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LockcrossError(f"{program}: {error}; put another JDK first in PATH") from None
    if done.returncode:
        raise LockcrossError(
            f"{program} {_ALL_FLAGS}: is no HotSpot, which lists its flags, or does not run; put "
            "another JDK's bin folder first in PATH: 17, or 21 to 25"
        )
    return dict(_FLAG.findall(done.stdout)), done.stderr
