"""The output on a terminal of 80 or 100 columns: no number and no name is cut."""

import io
import random
import re
import shlex
from pathlib import Path

import pytest
from rich.table import Table

from results.text.fitting import fitting
from results.text.terminal import console
from sweeps.cli.main import commands, loaded
from tests.commands import SMALL, at_terminal, lockcross

LISTED = ["plans", "machines", "machines skylake", "locks", "locks reservation", "workloads"]
LISTED += ["workloads sync", "doctor", "reproduce --list", "query --list", "answer"]
READ = ["runs", "query winners", "query costs", "show 1"]  # of a database
RUN = [shlex.join(["run", *SMALL]), "advise --machines zen4 --ranking"]
WORDS = ["tasuki/membarrier", "a lock that nobody takes twice", "x86_64", "12.2", "+135.5 %", ""]

_COLOURS, _PASTED = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), "./lockcross"  # a line to be pasted


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "width"),
    [*((line, 80) for line in (*LISTED, *READ, *RUN)), *((line, 100) for line in READ)],
)
def test_no_command_cuts_what_it_prints(line: str, width: int, database: Path) -> None:
    of_database = ["--db", str(database)] if line in READ else []
    code, written = at_terminal(width, *shlex.split(line), *of_database)
    assert code == 0, written
    assert written.strip() and "…" not in written
    lines = [line for line in _COLOURS.sub("", written).splitlines() if "\r" not in line]
    wide = [one for one in lines if len(one) > width and _PASTED not in one]
    assert not wide, "the terminal would break these anywhere"


@pytest.mark.parametrize("name", ["", *commands()])
def test_help_fits_and_has_an_example_that_the_command_takes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = lockcross(*([name] if name else []), "--help", COLUMNS="80")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    (tmp_path / "app.locks").touch()
    monkeypatch.chdir(tmp_path)
    for one in [name] if name else commands():
        assert f"./lockcross {commands()[one].example}\n" in done.stdout
        first, *rest = shlex.split(commands()[one].example)
        assert first == one
        loaded(one).make_context(one, rest)


def printed(table: Table, width: int) -> str:
    """Return a table as a terminal of this width shows it."""
    out = console()
    out.width, out.file = width, io.StringIO()
    out.print(table)
    return out.file.getvalue()


def drawn(seed: int) -> tuple[Table, list[list[str]]]:
    """A table, drawn at random, and its rows."""
    draw = random.Random(seed)
    heads = [f"{draw.choice(['cycles a pair', 'lock', 'in ns'])} {at}" for at in range(9)]
    rows = [[f"row{at}", *draw.choices(WORDS, k=8)] for at in range(draw.randrange(1, 6))]
    table = Table(*heads, title="what there is", caption="and how", box=None)
    for row in rows:
        table.add_row(*row)
    return table, rows


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("width", [30, 60, 80, 100, 400])
def test_a_table_keeps_every_word_at_any_width(seed: int, width: int) -> None:
    table, rows = drawn(seed)
    said = printed(table, width)
    assert "…" not in said and max(map(len, said.splitlines())) <= width
    for head in (column.header for column in table.columns):
        assert all(word in said.split() for word in str(head).split())
    for row in rows:
        for value in row:
            whole = [value] if re.match(r"[+\d]", value) else value.split()
            assert all(said.count(word) >= sum(word in one for one in row) for word in whole)


def test_what_goes_on_below_names_its_rows_again() -> None:
    table = Table("lock", "threads", *(f"cycles_per_pair_{at}" for at in range(6)), box=None)
    for lock, threads in (("thin", "1"), ("thin", "2")):
        table.add_row(lock, threads, *(f"{at}.25" for at in range(6)))
    heads = [line.split() for line in printed(table, 80).splitlines() if "lock" in line]
    assert len(heads) == 2 and all(head[:2] == ["lock", "threads"] for head in heads)
    assert [name for head in heads for name in head[2:]] == [
        f"cycles_per_pair_{at}" for at in range(6)
    ]


def test_where_no_two_columns_fit_each_value_has_its_line() -> None:
    table = Table("name", "meaning", box=None)
    table.add_row("a" * 20, "b" * 20)
    assert [line.split() for line in printed(table, 34).splitlines() if line.strip()] == [
        ["name", "a" * 20],
        ["meaning", "b" * 20],
    ]


def test_a_table_that_fits_stays_as_it_is() -> None:
    table, _ = drawn(1)
    out = console()
    out.width = 400
    assert fitting(table, out) == [table]
