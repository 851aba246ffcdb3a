"""The imports of a command: nobody waits for those that it does not need."""

import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from results.store.store import Store
from sweeps.report.presentation import References, drawings
from sweeps.study.job import STUDY, load_study
from tests.commands import fresh
from tests.fakes.study import study

HEAVY = {"jinja2", "matplotlib", "numpy", "pandas", "parsl", "PIL", "pyarrow"}


def ran(*words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = fresh(*words, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == code, done.stderr
    return done


def modules(done: "subprocess.CompletedProcess[str]") -> set[str]:
    """Every module that was imported, by its whole name."""
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


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
    found = modules(ran(*line.format(db=database).split(), code=code))
    assert not found & HEAVY and "sweeps.cli.main" in found


def test_the_list_of_commands_imports_none_of_them() -> None:
    every = modules(ran("--help"))
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
    first = ran("report", *words)
    assert first.stdout.strip() == str(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000 and "matplotlib" in modules(first)
    again = ran("figures", *words)
    assert "winner_map.png" in again.stdout
    assert not modules(again) & {"matplotlib", "PIL", "pandas"}


def test_a_figure_names_the_function_that_draws_it(tmp_path: Path) -> None:
    with Store(study(tmp_path / "study.db")) as store:
        cells = load_study("sst_many_cores")
        STUDY.of("mine").write(store, cells.plan)  # it is shown only where it is
        own = store.connection
        every = drawings(own, References({"another": own}))
    sections = {"study", "study/more", "studies/mine", "validation"}
    assert {one.section for one in every} == sections
    assert len({one.draw for one in every}) == 9
    for drawing in every:
        module, _, name = drawing.draw.rpartition(".")
        assert callable(getattr(import_module(module), name))
