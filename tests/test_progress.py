"""How far a job is, without a terminal."""

import re
from pathlib import Path

import pytest

from sweeps.cli import progress
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


def test_batches_count_on_one_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.one_bar(4) as bar:
        for batch in (2, 3):
            task = bar.add_task("a batch", total=batch)
            for _ in range(batch):
                bar.advance(task)
    assert "measuring: 5 of 5 runs" in capsys.readouterr().err


def test_a_sweep_says_how_far_it_is(tmp_path: Path) -> None:
    done = lockcross("sweep", "smoke", "--db", str(tmp_path / "a.db"))
    assert re.search(r"smoke: 1 of (\d+) runs, .*\n(.*\n)*smoke: \1 of \1 runs", done.stderr)
