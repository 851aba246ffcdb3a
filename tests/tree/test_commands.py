"""The imports of a command: nobody waits for those that it does not need."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

from results.store.store import Store
from sweeps.cli.main import Commands, commands, make_app
from sweeps.report.presentation import References, drawings
from sweeps.study.job import STUDY, load_study
from tests.commands import environment
from tests.fakes.study import study

HEAVY = {"jinja2", "matplotlib", "numpy", "pandas", "parsl", "PIL", "pyarrow"}


def ran(*words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "sweeps", *words],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code, done.stderr
    return done


def modules(done: "subprocess.CompletedProcess[str]") -> set[str]:
    """Every module that was imported, by its whole name."""
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


def imported(*words: str, code: int = 0) -> set[str]:
    return modules(ran(*words, code=code))


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["locks"], ["runs"], ["query", "winners"], ["query", "--list"]],
    ids=" ".join,
)
def test_short_commands_import_nothing_heavy(words: list[str], database: Path) -> None:
    of_database = ["--db", str(database)] if words[0] in ("runs", "query") else []
    found = imported(*words, *of_database)
    assert not found & HEAVY and "sweeps.cli.main" in found


def test_advice_without_a_figure_draws_nothing(database: Path) -> None:
    """A lock that is unknown is found by the question, before anything is run."""
    words = ["--locks", "nonesuch", "--db", str(database)]
    assert not imported("advise", *words, code=2) & HEAVY


def test_the_list_of_commands_imports_none_of_them() -> None:
    found = {name for name in imported("--help") if name.startswith(("sweeps.", "results."))}
    folders = {name for name in found if name.startswith("sweeps.questions.")}
    assert all(name.count(".") == 2 for name in folders)
    assert found - folders == {
        "sweeps.cli",
        "sweeps.cli.main",
        "results.children",
        "results.errors",
        "results.paths",
    }


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


@pytest.mark.parametrize("name", commands())
def test_a_command_is_listed_with_the_beginning_of_its_own_help(name: str) -> None:
    group = typer.main.get_command(make_app())
    assert isinstance(group, Commands)
    whole = group.commands[name].help
    assert " ".join(whole.partition("\n\n")[0].split()) == commands()[name].sentence


def test_a_figure_names_the_function_that_draws_it(tmp_path: Path) -> None:
    with Store(study(tmp_path / "study.db")) as store:
        cells = load_study("sst_many_cores")
        assert cells is not None
        STUDY.of("mine").write(store, cells.plan)  # it is shown only where it is
        own = store.connection
        every = drawings(own, References({"another": own}))
    sections = {"study", "study/more", "studies/mine", "validation"}
    assert {one.section for one in every} == sections
    assert len({one.draw for one in every}) == 9
    for drawing in every:
        module, _, name = drawing.draw.rpartition(".")
        assert callable(getattr(import_module(module), name))
