"""Rows of commands as CSV and as JSON, read back by other programs, with units; the version; a
shell's completions."""

import csv
import io
import json
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from results.paths import REFERENCE, ROOT
from results.store.missing import WORDS
from results.store.store import reading
from sweeps.cli.main import VERSION, commands, loaded
from sweeps.questions.read.units import units
from tests.commands import lockcross
from tests.results.test_exports import READERS
from tests.results.test_units import have_units

# Commands that print no rows, or one run as text.
WITHOUT_ROWS = [
    *"check crossover explore export figures measure python record report serve show test".split(),
    *("new machine", "new plan", "new study"),
]
OF_DATABASE = ("query", "runs", "compare")
STORING = ("calibrate", "footprint", "sweep")
# A column of numbers may have no unit: SQL of one's own, keys and options, costs of any metric.
WITHOUT_UNITS = ("query 'SELECT", "workloads ", "machines --options", "query costs --plan")
TABLES = tomllib.loads(Path(__file__).with_name("rows.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("line", "row_has"), TABLES["rows"].items(), ids=TABLES["rows"])
def test_rows_are_the_same_in_csv_and_json_and_are_read_back(
    line: str, row_has: dict[str, object], filled: Path, tmp_path: Path
) -> None:
    words = shlex.split(line)
    if words[0] in (*OF_DATABASE, *STORING):
        words += ["--db", str(filled if words[0] in OF_DATABASE else tmp_path / "a.db")]
    done = lockcross(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    columns, read = is_read_back(words, tmp_path / "a.csv")
    for column, value in row_has.items():
        assert value in [row[column] for row in rows]
        texts = ["" if row[column] is None else str(row[column]) for row in rows]
        assert [one[columns.index(column)] for one in read] == texts
    if line.startswith(WITHOUT_UNITS):
        return
    with reading(REFERENCE / "runtimes.db") as connection:
        known = units(connection)
    for row in rows:
        assert all(name.isidentifier() for name in row)
        have_units(known, list(row), [row.values()], line)


def test_what_a_log_shows_is_read_back(tmp_path: Path) -> None:
    log = str(tmp_path / "a.log")
    small = ["--lock", "nop", "--workload", "sync", "iterations=50", "--events", log]
    assert lockcross("run", *small).returncode == 0
    is_read_back(["locality", log], tmp_path / "a.csv")


def is_read_back(words: Sequence[str], path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows that a command prints as CSV, which every reader has as well."""
    done = lockcross(*words, "--format", "csv")
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout, encoding="utf-8")
    columns, *rows = csv.reader(io.StringIO(done.stdout))
    assert rows
    lost = {value for row in rows for value in row if value.lower() in WORDS - {""}}
    assert not lost
    for reader in READERS:
        read = reader(path)
        assert (read[0], len(read[1])) == (columns, len(rows))
        for mine, theirs in zip(rows, read[1], strict=True):
            assert [value in (None, "") for value in theirs] == [value == "" for value in mine]
            texts = zip(mine, theirs, strict=True)
            assert all(a == b for a, b in texts if isinstance(b, str) and b)
    return columns, rows


def every_command() -> dict[str, Any]:
    """The commands by their words, those of a group in its place."""
    every = {}
    for name in commands():
        inner = getattr(loaded(name), "commands", {})
        every |= {f"{name} {word}": one for word, one in inner.items()} or {name: loaded(name)}
    return every


def test_every_command_that_prints_rows_has_the_one_option() -> None:
    for name, command in every_command().items():
        options = {one for parameter in command.params for one in parameter.opts}
        assert ("--format" in options) != (name in WITHOUT_ROWS), name
        assert not options & {"--csv", "--json"}, name


def test_the_version_is_the_change_logs() -> None:
    done = lockcross("--version")
    assert done.returncode == 0 and done.stdout.startswith(f"lockcross {VERSION}, ")
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize(("line", "there"), TABLES["completions"].items())
def test_a_shell_completes(line: str, there: list[str]) -> None:
    words = f"lockcross {line}"
    asked = {"_LOCKCROSS_COMPLETE": "complete_bash", "COMP_CWORD": str(len(words.split()) - 1)}
    assert set(lockcross(COMP_WORDS=words, **asked).stdout.split()) == {*there}


def test_every_option_and_argument_that_takes_a_name_completes_it() -> None:
    names = "machine lock locks workload plan isa isas flavour engine study against fence".split()
    for name, command in every_command().items():
        context = typer.Context(command, info_name=name)
        for parameter in command.params:
            if parameter.name in names:
                assert parameter.shell_complete(context, ""), f"{name} {parameter.name}"
