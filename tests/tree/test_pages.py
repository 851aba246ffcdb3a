"""Every command of the README and of the pages in docs/ runs, those of a page in the order in which
they stand there; but for those of elsewhere.toml."""

import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.paths import REFERENCE, ROOT, WORK
from tests.commands import fresh

TUTORIAL = ROOT / "docs" / "tutorial.md"  # run by test_tutorial.py
PAGES = (ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {TUTORIAL}))
ELSEWHERE = tomllib.loads(Path(__file__).with_name("elsewhere.toml").read_text("utf-8"))


def shown(page: Path) -> list[list[str]]:
    """The words of every command in a page's blocks. A command may go over several lines."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^\./lockcross .*?(?=^\./lockcross |^```)", text, re.M | re.S)
    commands = (command if '"' in command else command.partition("\n")[0] for command in found)
    return [shlex.split(command, comments=True)[1:] for command in commands]


def elsewhere(words: list[str]) -> str:
    line = " ".join(words) + "\n"
    return next((why for start, why in ELSEWHERE.items() if line.startswith(start)), "")


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    work = str(folder / "work")
    # The time is a check of nothing but that it ends.
    return fresh(*words, folder=folder, most_s=900, LOCKCROSS_WORK=work)


@pytest.fixture
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that looks like the tree, with the database of a study, in which are the runs of the
    pages before, too: a reader of several pages has them."""
    runs = tmp_path_factory.getbasetemp() / "pages.db"
    if not runs.exists():
        shutil.copy(REFERENCE / "gem5_o3.db", runs)
    for name in ("sweeps", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    database = tmp_path / "work" / "results" / "output" / "lockcross.db"
    database.parent.mkdir(parents=True)
    shutil.copy(runs, database)
    (tmp_path / "work" / "build").symlink_to(WORK / "build")
    yield tmp_path
    shutil.copy(database, runs)


def run_here() -> dict[str, list[list[str]]]:
    """Return the commands to run, by page: none of an earlier page, unless others read its
    output."""
    found: dict[str, list[list[str]]] = {}
    for page in PAGES:
        before = [words for commands in found.values() for words in commands]
        here = [words for words in shown(page) if not elsewhere(words)]
        if new := [one for one in here if one not in before or one[0] in ("new", "sweep")]:
            found[str(page.relative_to(ROOT))] = new
    return found


COMMANDS = run_here()


@pytest.mark.long
@pytest.mark.parametrize("page", COMMANDS)
def test_commands_of_a_page(page: str, folder: Path) -> None:
    for words in COMMANDS[page]:
        done = run(words, folder)
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stdout[-500:]}{done.stderr}"


def test_what_is_left_out_is_on_a_page() -> None:
    lines = [" ".join(words) + "\n" for page in PAGES for words in shown(page)]
    for start in ELSEWHERE:
        assert any(line.startswith(start) for line in lines), start
