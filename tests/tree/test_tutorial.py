"""Run every command and every cell of docs/tutorial.md; hold their output to the page.

`./lockcross test --write-golden tests/tree/test_tutorial.py` renews the output.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from results.paths import WORK
from tests.locks.footprint_values import REFERENCE, compiler
from tests.tree.test_pages import TUTORIAL, run

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.M | re.S)
_END = "end of a cell"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a user's folder, whose results are in results/."""
    work = tmp_path / "work"
    (work / "results").mkdir(parents=True)
    (work / "build").symlink_to(WORK / "build")
    (tmp_path / "results").symlink_to(work / "results")
    return tmp_path


def cells(page: str, folder: Path) -> list[str]:
    """Return the output of each cell of the notebook."""
    sources = [block[2] for block in _BLOCK.finditer(page) if block[1] == "python"]
    script = f"print({_END!r})\n".join(sources)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(f"{_END}\n")


@pytest.mark.long
@pytest.mark.skipif(compiler() != REFERENCE, reason=f"the page's numbers are of {REFERENCE}")
def test_the_tutorial_shows_what_its_commands_print(
    folder: Path, golden: Callable[[Path, str], None]
) -> None:
    page = TUTORIAL.read_text(encoding="utf-8")
    outputs: list[str] = []

    def renewed(block: re.Match[str]) -> str:
        language, source = block[1], block[2]
        if language == "toml":
            (folder / "handover.toml").write_text(source, encoding="utf-8")
            return block[0]
        if language == "python":
            if not outputs:
                outputs.extend(cells(page, folder))
            output = outputs.pop(0)
        else:
            done = run(source.split()[1:], folder)
            assert done.returncode == 0, done.stderr
            output = done.stdout
        shown = "\n".join(line.rstrip() for line in output.splitlines())
        return f"```{language}\n{source}```\n\n```text\n{shown}\n```\n"

    golden(TUTORIAL, _BLOCK.sub(renewed, page))
    assert (folder / "handover.png").exists() and (folder / "notebook.png").exists()
