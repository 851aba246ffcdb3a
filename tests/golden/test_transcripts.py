"""The output of commands, word for word: a transcript per command, NAME.txt beside this file.

A line `$ ./lockcross ...` is a command. Below it stands its output, standard output before
standard error, and last its exit code in brackets. The commands of a transcript run in one folder,
with a study (study.db), a sweep (sweep.db), the file of a machine (mine.toml), and of each kind of
document one that names a lock which is none (wrong_*.toml).

A new case is its `$` line. `./lockcross test --write-golden tests/golden` renews the words, but no
exit code.
"""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.plans import RUNTIMES, STUDIES, SWEEPS
from sweeps.support.paths import MACHINES
from tests.commands import lockcross
from tests.fakes.study import study
from tests.questions.test_sweeps import fill_sweep

TRANSCRIPTS = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.txt"))}
# Long lists of names, to which others are added, and what differs from one tree to the next.
_VARIES = (
    (re.compile(r"((?:[Kk]nown|allowed) are )[\w./:-]+(?:, [\w./:-]+){7,}"), r"\1..."),
    (re.compile(re.escape(str(ROOT))), "."),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    study(folder / "study.db")
    fill_sweep(folder / "sweep.db")
    shutil.copy(MACHINES / "generic.toml", folder / "mine.toml")
    plans = ((SWEEPS, "smoke"), (STUDIES, "crossover"), (RUNTIMES, "byte_writer"))
    for documents, name in plans:
        text = documents.path(name).read_text("utf-8")
        wrong, times = re.subn(r'(locks? = \[?)"\w+"', r'\1"thim"', text, count=1)
        assert times
        (folder / f"wrong_{name}.toml").write_text(wrong, "utf-8")
    return folder


def told(line: str, folder: Path) -> tuple[str, int]:
    """Return the output of the command of a `$` line, and its exit code.

    Who makes a mistake gets words on standard error alone, and no file.
    """
    before = sorted(folder.iterdir())
    done = lockcross(*shlex.split(line)[2:], folder=folder)
    if done.returncode == 2:
        assert not done.stdout and sorted(folder.iterdir()) == before, line
    text = done.stdout + done.stderr
    for pattern, shown in _VARIES:
        text = pattern.sub(shown, text)
    return "\n".join(one.rstrip() for one in text.splitlines()), done.returncode


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_command_writes_what_its_transcript_says(
    name: str, files: Path, tmp_path: Path, golden: Callable[[Path, str], None]
) -> None:
    kept = TRANSCRIPTS[name].read_text(encoding="utf-8")
    folder = shutil.copytree(files, tmp_path / "folder")
    head, *cases = re.split(r"^(?=\$ )", kept, flags=re.MULTILINE)
    written = [head]
    for case in cases:
        line, code = case.splitlines()[0], re.search(r"^\[(\d+)\]$", case, re.MULTILINE)
        text, now = told(line, folder)
        assert not code or now == int(code[1]), f"{line}\n{text}"
        written.append("\n".join([line, *filter(None, [text]), f"[{now}]"]) + "\n\n")
    golden(TRANSCRIPTS[name], "".join(written).rstrip() + "\n")
