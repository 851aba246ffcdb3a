"""The tree that set-up is tried in."""

import shutil
from pathlib import Path

import pytest

from results.paths import ROOT
from tests.set_up.launching import stand_in

TOOLS = (
    "bash cat chmod cp df dirname env find flock head mkdir mktemp mv readlink rm sed sha256sum"
    " sleep sort tail tee touch tr uname xargs".split()
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree without .venv, in a folder whose name has a space, and a bin/ with only the tools that
    every Debian has; root is its user."""
    made = tmp_path / "a tree"
    for name in ("lockcross", "requirements.txt", "requirements/cli.txt", "sweeps/setup"):
        (made / name).parent.mkdir(exist_ok=True, parents=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, made / name)
    (made / "bin").mkdir()
    for tool in TOOLS:
        place = shutil.which(tool)
        assert place
        (made / "bin" / tool).symlink_to(place)
    stand_in(made, "id", "echo 0")
    return made
