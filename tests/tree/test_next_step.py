"""The next step that a command names: at a terminal alone, as a line that can be typed."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from results.paths import DATABASE
from sweeps.cli.main import commands, loaded
from sweeps.cli.next_step import next_steps
from tests.commands import SMALL, at_terminal

# They say it themselves (the file that `new` wrote), hand over to another program, or stay.
SILENT = {"new", "python", "serve", "test"}


def test_every_command_says_what_comes_next() -> None:
    assert {name for name, command in commands().items() if not command.steps} == SILENT


GIVEN: dict[str, Any] = dict.fromkeys(("output", "events", "log"), Path("app.locks"))
GIVEN |= {"db": Path("mine.db"), "files": [Path("app.locks"), Path("b.locks")]}
GIVEN |= {"name": "sync", "plan": "smoke", "machine": "zen5", "lock": "thin"}


@pytest.mark.parametrize("name", sorted(set(commands()) - SILENT))
def test_a_next_step_is_a_line_that_its_command_takes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.locks").touch()
    monkeypatch.chdir(tmp_path)
    steps = commands()[name].steps
    # Every way in which the command may have been given.
    ways = [{}, *({name: True} for name in steps)] if not isinstance(steps, str) else [{}]
    for step in (step for way in ways for step in next_steps(steps, way | GIVEN)):
        first, *rest = shlex.split(step)
        loaded(first).make_context(first, rest)
        assert "{" not in step and "None" not in step


def test_what_was_given_stands_in_it() -> None:
    given: dict[str, Any] = {"db": DATABASE, "log": Path("a b.locks"), "more": ["x,y", "z"]}
    steps = {"log": "advise --log {log} {more}{db}", "": "record"}
    assert next_steps(steps, given) == ["advise --log './a b.locks' x,y"]
    assert next_steps(steps, given | {"log": None}) == ["record"]
    two = next_steps("runs{db}\nserve", {"db": Path("/tmp/x.db")})
    assert two == ["runs --db /tmp/x.db", "serve"]


@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("locks tasuki", "next: ./lockcross footprint tasuki"),
        ("runs", "next: ./lockcross show 1 --db {db}"),
        ("query winners", "next: ./lockcross export runs.csv --db {db}"),
        (shlex.join(["run", *SMALL]), "next: ./lockcross footprint cas_spin"),
    ],
)
def test_it_is_the_last_line_at_a_terminal(line: str, last: str, database: Path) -> None:
    of_database = ["--db", str(database)] if "{db}" in last else []
    code, written = at_terminal(100, *shlex.split(line), *of_database)
    assert code == 0 and written.splitlines()[-1] == last.format(db=database)


@pytest.mark.parametrize(
    ("line", "code"), [("locks --format csv", 0), ("locks --help", 0), ("locks nonesuch", 2)]
)
def test_rows_help_and_a_command_that_fails_have_none(line: str, code: int) -> None:
    """Nor has output that is piped, as tests/golden shows."""
    ended, written = at_terminal(100, *line.split())
    assert ended == code and "next:" not in written
