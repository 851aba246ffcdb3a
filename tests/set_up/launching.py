"""A copy of the launcher in a tree of its own, with stand-ins for the system's tools."""

import shutil
import subprocess
from pathlib import Path

from results.paths import ROOT

TOOLS = (
    "bash dirname readlink uname sha256sum mkdir flock cat tr env tail id df mktemp rm sed sleep"
    " touch".split()
)


def make_tree(tmp_path: Path) -> Path:
    """A tree without .venv, in a folder whose name has a space, and a bin/ with only the tools that
    every Debian has."""
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
    return tree


def run(tree: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        check=False,
        env={"PATH": str(tree / "bin"), "HOME": str(tree / "home"), **variables},
        timeout=60,
    )


def shell(tree: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script after sourcing the set-up."""
    begin = 'set -euo pipefail; root="$1"; source "$root/sweeps/setup/set_up.sh"; choose_work; '
    return run(tree, "bash", "-c", begin + script, "bash", str(tree), **variables)
