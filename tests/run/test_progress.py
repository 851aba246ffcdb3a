"""How far a job is, without a terminal."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from results.store.store import Store
from sweeps.cli import progress
from sweeps.cli.main import make_app
from sweeps.programs import Builder, Program
from tests.commands import lockcross


def test_lines_come_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.Bar() as bar:
        task = bar.add_task("a plan", total=200)
        for _ in range(150):
            bar.advance(task)
            now += 0.5
        assert capsys.readouterr().err.count("\n") == 8  # at once, then every ten seconds
    assert "a plan: 150 of 200 runs, " in capsys.readouterr().err
    with progress.Bar():
        pass
    assert capsys.readouterr().err == ""  # nothing was to be run


def advance(bar: progress.Bar, *batches: int) -> None:
    for batch in batches:
        task = bar.add_task("a batch", total=batch)
        for _ in range(batch):
            bar.advance(task)


def test_batches_count_on_one_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.one_bar(4) as bar:
        advance(bar, 2, 3)
    assert "measuring: 5 of 5 runs" in capsys.readouterr().err


def test_a_job_that_grows_says_at_least_until_it_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    with progress.one_bar(3, at_least=True) as bar:
        advance(bar, 3, 2)
    said = re.findall(r"(\d) of (.*\d) runs", capsys.readouterr().err)
    assert said[:3] == [(done, "at least 3") for done in "123"]
    assert said[3:] == [("4", "at least 5"), ("5", "at least 5"), ("5", "5")]


def test_the_main_job_never_says_fewer_runs_than_before(tmp_path: Path) -> None:
    words = ["--quick", "--isa", "aarch64", "--db", str(tmp_path / "a.db")]
    done = lockcross("crossover", *words)
    assert done.returncode == 0, done.stderr
    (*going_on, last) = re.findall(r"measuring: (\d+) of (at least )?(\d+) runs", done.stderr)
    assert going_on and all(least for _, least, _ in going_on) and not last[1]
    assert last[0] == last[2]
    totals = [int(total) for _, _, total in (*going_on, last)]
    assert totals == sorted(totals)


@pytest.mark.parametrize(
    ("words", "work", "said"),
    [
        (["sweep", "smoke", "--dry-run"], "sweeps.run.runner.Runner.describe", "looking for"),
        (["reproduce", "--dry-run"], "sweeps.run.runner.Runner.describe", "looking for"),
        (["figures"], "sweeps.report.figures.draw_all", "drawing into"),
        (["report"], "sweeps.report.report.write_all", "drawing into"),
    ],
)
def test_what_is_coming_is_said_before_the_work_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], work: str, said: str
) -> None:
    Store(tmp_path / "a.db").close()
    runner = CliRunner()

    def begins(*_: object, **__: object) -> None:
        raise RuntimeError(work)

    monkeypatch.setattr(work, begins)
    done = runner.invoke(make_app(), [*words, "--db", str(tmp_path / "a.db")])
    assert str(done.exception) == work
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_programs_that_take_long_to_compile_are_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeps.programs._MANY", 2)
    programs = [Program("sync", lock, "full", "lock") for lock in ("nop", "cas_spin")]
    builder = Builder(folder=tmp_path)
    builder.build(programs[:1])
    builder.build(programs)  # one of them
    assert capsys.readouterr().err == ""
    Builder(folder=tmp_path / "anew").build(programs)
    assert capsys.readouterr().err == "compiling 2 programs, once\n"
    Builder(folder=tmp_path).build(programs)
    assert capsys.readouterr().err == ""


def test_a_sweep_says_how_far_it_is(tmp_path: Path) -> None:
    """On standard error, as it says there how its cells ended beside rows for a program."""
    done = lockcross("sweep smoke --format json", "--db", str(tmp_path / "a.db"))
    assert re.search(r"smoke: 1 of (\d+) runs, .*\n(.*\n)*smoke: \1 of \1 runs", done.stderr)
    assert "25 cells, 25 distinct: 21 ok" in done.stderr
