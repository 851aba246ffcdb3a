"""Users' programs: how to run one, its place, its version, and the results of its litmus runs. Who
needs a tool tells its variable, its program and how to ask for its version."""

import errno
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from results import children
from results.errors import LockcrossError

_ASK_S = 60.0
_SHOWN = 300  # characters of what a tool said


class NoToolError(LockcrossError):
    """No such tool was found, and none was named."""


def run(
    argv: Sequence[str],
    limit_s: float | None = None,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program without input and keep its output. Raises OSError where it cannot be
    started, and subprocess.TimeoutExpired after `limit_s` seconds; nothing is left of it then."""
    pipes: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    process = children.start(argv, cwd=cwd, env=env, text=True, errors="replace", **pipes)
    try:
        out, err = process.communicate(timeout=limit_s)
    finally:
        children.end(process)
    if process.returncode == children.CANNOT_START and f"{argv[0]}: " in err:
        raise OSError(errno.ENOEXEC, err.rpartition(": ")[2].strip(), argv[0])
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


@cache
def source_revision(root: Path) -> str:
    """Return the commit of the tree, with "-dirty" if files differ; "unknown" without git."""
    named = ("--always", "--abbrev=40", "--exclude=*", "--dirty")
    try:
        done = run(["git", "-C", str(root), "describe", *named])
    except OSError:
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


@dataclass(frozen=True)
class Tool:
    """The facts that tell a tool from others. `programs`: its names on PATH; `wanted`: the words on
    a variable that names no such program; `advice`: the remedy where it is missing; `below`: where
    the program may lie in a folder that a variable names."""

    title: str
    programs: tuple[str, ...]
    wanted: str = ""
    advice: str = ""
    below: tuple[str, ...] = ()

    def locate(self, *variables: str) -> tuple[str, str]:
        """Return its program and the origin of its name: a variable, or PATH. Raises NoToolError
        (1) where there is none, LockcrossError (1) for a variable with another."""
        for variable in variables:
            if named := os.environ.get(variable):
                places = [named, *(str(Path(named, part)) for part in self.below)]
                if path := next(filter(None, map(shutil.which, places)), None):
                    return str(Path(path).resolve()), variable
                raise LockcrossError(f"{variable}={named}: {self.wanted}", 1)
        if path := next(filter(None, map(shutil.which, self.programs)), None):
            return str(Path(path).resolve()), "PATH"
        raise NoToolError(f"{self.title} is not found; {self.advice}", 1)

    def ask(self, *words: str, cwd: str | None = None) -> subprocess.CompletedProcess[str]:
        """Return the output of a command of the tool within a minute. Raises LockcrossError (1)."""
        try:
            return run(words, _ASK_S, cwd)
        except (OSError, subprocess.TimeoutExpired) as error:
            message = f"{self.title} ({words[0]}) does not run: {error}; install it again"
            raise LockcrossError(message, 1) from None

    def version(self, pattern: str, *words: str) -> str:
        """Return the match of the pattern's group in a command's words, or nothing. Raises as
        `ask`."""
        done = self.ask(*words)
        match = re.search(pattern, done.stdout + done.stderr)
        return match[1].strip() if match else ""


def complaint(output: str, pattern: str) -> str:
    """Return the line that names the fault: the first that matches, else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
    return (marked or lines[-1:] or ["it did not say why"])[0][:_SHOWN]


@dataclass(frozen=True)
class Probe:
    """`alone`: why a run on one core fails, or nothing; `together`: the same for two cores."""

    alone: str
    together: str


def probed(path: Path, litmus: Callable[[int], str]) -> Probe:
    """Return the result of litmus runs, kept in a file. `litmus`: why one on N cores fails."""
    if path.exists():
        return Probe(**json.loads(path.read_text(encoding="utf-8")))
    alone = litmus(1)
    shown = Probe(alone, alone or litmus(2))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(shown)), encoding="utf-8")
    return shown
