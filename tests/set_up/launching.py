"""The launcher of a tree of its own, and stand-ins for the system's tools."""

import subprocess
from pathlib import Path
from typing import Any

from tests.commands import program

_BEGIN = 'set -euo pipefail; root="$1"; source "$root/sweeps/setup/set_up.sh"; choose_work; '


def stand_in(tree: Path, tool: str, script: str = "") -> None:
    """Put a script into bin/ in place of a tool."""
    (tree / "bin" / tool).unlink(missing_ok=True)  # it may be a link to the system's own
    program(tree / "bin", tool, script)


def run(tree: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    settings = _settings(tree, variables)
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, timeout=60, **settings)


def launch(tree: Path, word: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(tree, str(tree / "lockcross"), word, **variables)


def shell(tree: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script after sourcing the set-up."""
    return run(tree, *_sourced(tree, script), **variables)


def start(tree: Path, script: str) -> subprocess.Popen[str]:
    """As `shell`, without waiting for its end."""
    return subprocess.Popen(_sourced(tree, script), **_settings(tree, {}))


def _sourced(tree: Path, script: str) -> list[str]:
    return ["bash", "-c", _BEGIN + script, "bash", str(tree)]


def _settings(tree: Path, variables: dict[str, str]) -> dict[str, Any]:
    return {
        "env": {"PATH": str(tree / "bin"), "HOME": str(tree / "home"), **variables},
        "cwd": "/",
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
        "text": True,
    }
