"""The launcher: no rights to install, a broken environment, a second start."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sweeps.paths import ROOT
from tests.commands import program

TOOLS = "bash dirname readlink uname sha256sum mkdir sort comm flock cat tr env tail".split()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree without .venv, and a bin/ with only the tools that every Debian has."""
    for name in ("lockcross", "requirements.txt", "sweeps/setup.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, env={"PATH": str(tree / "bin")}, cwd="/",
        stdin=subprocess.DEVNULL, check=False, timeout=60,
    )  # fmt: skip


def test_without_rights_it_says_what_to_install(tree: Path) -> None:
    program(tree / "bin", "id", "echo 1000")
    program(tree / "bin", "apt-get", "echo must not be called >&2; exit 1")
    done = run(tree, str(tree / "lockcross"), "plans")
    assert done.returncode == 2 and done.stdout == ""
    line = next(text for text in done.stderr.splitlines() if "apt-get install" in text)
    for package in ("qemu-user", "gcc-powerpc64le-linux-gnu", "g++", "python3-venv"):
        assert package in line.split()


def test_as_root_it_installs_what_is_missing_and_shows_why_it_cannot(tree: Path) -> None:
    program(tree / "bin", "id", "echo 0")
    program(tree / "bin", "apt-get", 'case "$*" in *update*) ;; *) echo no such; exit 100;; esac')
    done = run(tree, str(tree / "lockcross"), "plans")
    assert done.returncode == 1
    assert "installing system packages: qemu-user" in done.stderr
    assert "no such" in done.stderr and "apt-get install" in done.stderr


def test_an_environment_that_lost_a_part_is_found_out(tree: Path) -> None:
    packages = tree / ".venv" / "lib" / "python3.11" / "site-packages"
    (packages / "typer").mkdir(parents=True)
    (tree / ".venv" / "bin").mkdir()
    (tree / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")

    def ready(first: str = "true") -> bool:
        script = f"root={tree}; source {tree}/sweeps/setup.sh; {first}; venv_ready"
        return run(tree, "bash", "-c", script).returncode == 0

    stamp = "venv_packages | LC_ALL=C sort >$root/.venv/contents; venv_state >$root/.venv/stamp"
    assert not ready()
    assert ready(stamp)
    (packages / "added").mkdir()
    assert ready()
    (packages / "typer").rmdir()
    assert not ready()
    assert ready(stamp)
    with (tree / "requirements.txt").open("a") as requirements:
        requirements.write("# changed\n")
    assert not ready()
    assert ready(stamp)
    (tree / ".venv" / "bin" / "python").unlink()
    assert not ready()
