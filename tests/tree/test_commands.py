"""The imports of a command: nobody waits for those that it does not need."""

from pathlib import Path

import pytest

from tests.commands import fresh

HEAVY = {"jinja2", "matplotlib", "numpy", "pandas", "parsl", "PIL", "pyarrow"}


def ran(*words: str, code: int = 0) -> tuple[str, set[str]]:
    """The standard output of a command, and every module that it imported, by its whole name."""
    done = fresh(*words, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == code, done.stderr
    lines = (line for line in done.stderr.splitlines() if "|" in line)
    return done.stdout, {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--version", 0),
        ("locks", 0),
        ("runs --db {db}", 0),
        ("query winners --db {db}", 0),
        ("query --list --db {db}", 0),
        # A lock that is unknown is found by the question, before anything is run.
        ("advise --locks nonesuch --db {db}", 2),
    ],
)
def test_short_commands_import_nothing_heavy(line: str, code: int, database: Path) -> None:
    _, found = ran(*line.format(db=database).split(), code=code)
    assert not found & HEAVY and "sweeps.cli.main" in found


def test_the_list_of_commands_imports_none_of_them() -> None:
    _, every = ran("--help")
    found = {name for name in every if name.startswith(("sweeps.", "results."))}
    folders = {name for name in found if name.startswith("sweeps.questions.")}
    assert all(name.count(".") == 2 for name in folders)
    usual = {"sweeps.cli", "sweeps.cli.main"}
    assert found - folders == usual | {"results.children", "results.errors", "results.paths"}
    assert not every & HEAVY


@pytest.mark.long
def test_figures_and_report_are_commands_and_draw_once(database: Path, tmp_path: Path) -> None:
    """A command without figures to draw imports no Matplotlib."""
    words = ["--db", str(database), "--output", str(tmp_path)]
    said, first = ran("report", *words)
    assert said.strip() == str(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000 and "matplotlib" in first
    said, again = ran("figures", *words)
    assert "winner_map.png" in said and not again & {"matplotlib", "PIL", "pandas"}
