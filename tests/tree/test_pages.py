"""Every command of the README and of the pages in docs/ runs, those of a page in the order in which
they stand there."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.paths import REFERENCE, ROOT, WORK
from tests.commands import fresh

TUTORIAL = ROOT / "docs" / "tutorial.md"  # run by test_tutorial.py
PAGES = (ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {TUTORIAL}))
# What is not run here, by how it begins, and why. A line ends with a newline.
ELSEWHERE = {
    "crossover\n": "the main job: tests/questions/test_study.py runs a small one",
    "crossover --": "studies of minutes, on other engines too: the same test",
    "test": "this is it",
    "serve": "tests/results/test_serve.py",
    "explore": "minutes: tests/questions/test_explorer.py runs a small grid",
    "sweep sweeps/plans/contended.toml": "minutes: a sweep of one's own is run",
    "build sweeps/plans/contended.toml": "many programs: tests/results/test_formats.py",
    "query winners --plan contended": "needs that sweep",
    "compare --plan contended": "needs that sweep",
    "report --plan contended": "needs that sweep",
    "reproduce k_table_5_4": "minutes: tests/questions/test_reproduce.py",
    "reproduce lockhammer": "minutes: tests/questions/test_reproduce.py",
    "reproduce core_to_core": "minutes: tests/questions/test_reproduce.py",
    "reproduce foreign": "minutes: tests/questions/test_reproduce.py",
    "runtimes lse": "as byte_writer, of docs/runtimes.md, for more cells",
    "reproduce overtake": "minutes: tests/questions/test_reproduce.py",
    "run --engine": "gem5, SST and the host: their own tests",
    "measure": "needs a quiet host: tests/questions/test_measure.py",
    "stops": "needs a quiet host: tests/questions/test_stops.py",
    "run --machine mine": "needs that measurement",
    "validate": "minutes: tests/questions/test_validation.py",
    "python -m tests.java_programs.against_jvm": "minutes: tests/questions/test_against_jvm.py",
    "sweep contended --cluster": "needs a cluster: tests/slurm",
    "sweep small --cluster": "installs Parsl: tests/run/test_cluster.py runs a smaller one",
    "advise --machines zen5 --shared-objects": "tests/questions/test_advise.py holds its output",
    "advise --machines zen5,neoverse_v2,granite_rapids": "as README's, for three processors",
    "advise --machines skylake --log threads.bin": "tests/questions/test_advise.py",
    "record": "needs a JDK and a program: tests/questions/test_record.py",
    "locality app.locks": "needs that recording",
    "locality --sites": "needs that recording",
    "advise --machines zen5,neoverse_v2,redwood_cove --log": "needs that recording",
    "advise --machines zen5 --log app.locks": "needs that recording",
    "advise --machines zen5,neoverse_v2 --log": "needs that recording",
    "doctor": "tests/tree/test_cli.py",
    "prove\n": "minutes: the main job proves all locks (.ci/run)",
}


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


def test_most_commands_of_the_pages_are_run_here() -> None:
    assert sum(map(len, COMMANDS.values())) > 40


def test_what_is_left_out_is_on_a_page() -> None:
    lines = [" ".join(words) + "\n" for page in PAGES for words in shown(page)]
    for start in ELSEWHERE:
        assert any(line.startswith(start) for line in lines), start
