"""Every command of the README runs, those of a section in the order in which they stand there."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from results.paths import REFERENCE, ROOT, WORK
from tests.commands import environment

# What is not run here, by how it begins, and why. A line ends with a newline.
ELSEWHERE = {
    "crossover": "the main job: tests/search/test_crossover.py runs a small one",
    "test": "this is it",
    "serve": "tests/results/test_serve.py",
    "explore": "minutes: tests/questions/test_explorer.py runs a small grid",
    "sweep sweeps/plans/contended.toml": "minutes: a sweep of one's own is run",
    "query winners --plan contended": "needs that sweep",
    "compare --plan contended": "needs that sweep",
    "report --plan contended": "needs that sweep",
    "reproduce k_table_5_4": "minutes: tests/questions/test_reproduce.py",
    "run --engine": "gem5, SST and the host: their own tests",
    "measure": "needs a quiet host: tests/questions/test_measure.py",
    "run --machine mine": "needs that measurement",
    "validate": "minutes: tests/questions/test_validation.py",
    "cluster check": "needs a cluster: tests/slurm",
    "sweep contended --cluster": "needs a cluster: tests/slurm",
    "sweep small --cluster": "installs Parsl: tests/run/test_cluster.py runs a smaller one",
    "bench cluster": "needs a cluster, and a minute",
    "record": "needs a JDK and a program: tests/questions/test_record.py",
    "locality app.locks": "needs that recording",
    "locality --sites": "needs that recording",
    "advise --machine zen5,neoverse_v2,redwood_cove --log": "needs that recording",
    "doctor": "tests/tree/test_cli.py",
    "prove\n": "minutes: the main job proves all locks (.ci/run)",
}
# What a section needs that the README has further below: a short log, as `advise` runs many cells
# that are as long as the log says.
FIRST = {
    "Which lock on my processor": [
        "run --lock tasuki --workload threads --threads 4 iterations=20 --events threads.bin"
    ],
}


def shown() -> dict[str, list[list[str]]]:
    """The words of every command in the README's blocks, by section. A command may go over several
    lines."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found: dict[str, list[list[str]]] = {}
    for section in re.split(r"^## ", text, flags=re.M):
        title, _, body = section.partition("\n")
        for shown_as in re.findall(r"^\./lockcross .*?(?=^\./lockcross |^```)", body, re.M | re.S):
            command = shown_as if '"' in shown_as else shown_as.partition("\n")[0]
            found.setdefault(title, []).append(shlex.split(command, comments=True)[1:])
    return found


def elsewhere(words: list[str]) -> str:
    line = " ".join(words) + "\n"
    if "--dry-run" in words or "--list" in words:
        return ""
    return next((why for start, why in ELSEWHERE.items() if line.startswith(start)), "")


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "sweeps", *words],
        cwd=folder,
        env=environment(LOCKCROSS_WORK=str(folder / "work")),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,  # a check of nothing but that it ends
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like the tree, with a study's database."""
    for name in ("sweeps", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    database = tmp_path / "work" / "results" / "output" / "lockcross.db"
    database.parent.mkdir(parents=True)
    shutil.copy(REFERENCE / "gem5_o3.db", database)
    (tmp_path / "work" / "build").symlink_to(WORK / "build")
    return tmp_path


COMMANDS = {
    title: here
    for title, commands in shown().items()
    if (here := [words for words in commands if not elsewhere(words)])
}


@pytest.mark.long
@pytest.mark.parametrize("section", COMMANDS)
def test_commands_of_the_readme(section: str, folder: Path) -> None:
    for words in [*map(shlex.split, FIRST.get(section, ())), *COMMANDS[section]]:
        done = run(words, folder)
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stdout[-500:]}{done.stderr}"
        assert "Traceback" not in done.stderr


def test_most_commands_of_the_readme_are_run_here() -> None:
    assert sum(map(len, COMMANDS.values())) > 25
    assert set(FIRST) <= set(COMMANDS)


def test_what_is_left_out_is_in_the_readme() -> None:
    lines = [" ".join(words) + "\n" for commands in shown().values() for words in commands]
    for start in ELSEWHERE:
        assert any(line.startswith(start) for line in lines), start
