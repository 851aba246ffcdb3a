"""Copies of the tree, for tests of additions to it; what is made once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from results.paths import ROOT, WORK
from tests.commands import environment


class Tree:
    """The tree's files in another folder, but for databases and those in `left_out`; built files
    are shared with the tree itself."""

    def __init__(self, folder: Path, left_out: tuple[str, ...] = ("tests/",)) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file() and not (name.startswith(left_out) or name.endswith(".db")):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                # With its time: else make would build the checker anew.
                shutil.copy2(ROOT / name, folder / name)

    def write(self, name: str, text: str) -> None:
        """Add a file."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def insert(self, name: str, before: str, line: str) -> None:
        """Add a line to a file, before the first one that begins so."""
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines(keepends=True)
        place = next(n for n, text in enumerate(lines) if text.lstrip().startswith(before))
        self.write(name, "".join([*lines[:place], line + "\n", *lines[place:]]))

    def lockcross(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the copy."""
        return self.python("sweeps", *words)

    def python(self, module: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a module of the copy, or one that finds the copy's."""
        return subprocess.run(
            [sys.executable, "-P", "-m", module, *words],
            cwd=self.folder,
            env=environment(PYTHONPATH=str(self.folder), LOCKCROSS_WORK=str(WORK)),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )


def made_once(path: Path, make: Callable[[Path], None]) -> Path:
    """A folder or file that is made where it is not; several may do so at once."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            make(new)
            new.rename(path)
        except (OSError, subprocess.CalledProcessError):
            shutil.rmtree(new, ignore_errors=True)
            if not path.exists():  # else another has come first
                raise
    return path
