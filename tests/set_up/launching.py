"""A copy of the launcher in a tree of its own, with stand-ins for the system's tools."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from results.paths import ROOT
from tests.commands import program

TOOLS = (
    "bash cat chmod cp df dirname env find flock head mkdir mktemp mv readlink rm sed sha256sum"
    " sleep sort tail tee touch tr uname xargs".split()
)
_BEGIN = 'set -euo pipefail; root="$1"; source "$root/sweeps/setup/set_up.sh"; choose_work; '


def make_tree(tmp_path: Path) -> Path:
    """A tree without .venv, in a folder whose name has a space, and a bin/ with only the tools that
    every Debian has; root is its user."""
    tree = tmp_path / "a tree"
    for name in ("lockcross", "requirements.txt", "requirements/cli.txt", "sweeps/setup"):
        (tree / name).parent.mkdir(exist_ok=True, parents=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    (tree / "bin").mkdir()
    for tool in TOOLS:
        place = shutil.which(tool)
        assert place
        (tree / "bin" / tool).symlink_to(place)
    stand_in(tree, "id", "echo 0")
    return tree


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
