"""Rows of commands as CSV and as JSON, read back by other programs, with units; the version; a
shell's completions."""

import csv
import io
import json
import shlex
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
from tests.commands import SMALL, lockcross
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
RUN = shlex.join(["run", *SMALL])


@pytest.mark.parametrize(
    ("line", "column", "value"),
    [
        ("answer", "question", "Which lock costs one thread in a loop the least, and how much?"),
        ("build smoke", "flavour", "lock"),
        ("calibrate p3 --isa x86_64", "op", "load"),
        ("compare --plan validate --along threads", "lock", "reservation"),
        ("doctor", "part", "x86_64 lock: compiler"),
        ("footprint nop thin --isa x86_64", "path", "acquire"),
        ("locks", "lock", "reservation"),
        ("locks", "aarch64_lse", "f"),
        ("locks nop", "variant", "nop"),
        ("locks reservation", "variant", "reservation"),
        ("machines", "machine", "skylake"),
        ("machines --options", "option", "lat_mul"),
        ("machines skylake", "figure", "clock_mhz"),
        ("machines skylake", "value", 3100),
        ("machines zen5", "figure", "clock_mhz"),
        ("plans", "plan", "smoke"),
        ("prove cas_spin --models tso --clients exclusion:2x2", "verdict", "proved"),
        ("query --list", "query", "winners"),
        ("query --units", "column", "iterations"),
        ("query costs", "lock", "asym_tasuki"),
        ("query costs --plan validate", "engine", "gem5/o3"),
        ("query validation", "reference", "gem5/o3"),
        ("query winners", "winner", "thin"),
        ("query 'SELECT id, lock, cause FROM runs ORDER BY id'", "lock", "thin"),
        ("query 'SELECT low, high, value, verdict FROM crossovers'", "verdict", "crosses"),
        ("query 'SELECT lock, count(*), avg(cycles_per_pair) FROM runs GROUP BY 1'", "lock", "nop"),
        ("query 'SELECT id, CASE WHEN id > 200 THEN id + 0.5 ELSE 1 END AS h FROM runs'", "id", 1),
        ("query 'SELECT id, variant, output FROM runs ORDER BY id DESC'", "variant", "signal"),
        ("reproduce --list", "name", "k_rounds"),
        (RUN, "metric", "cycles_per_pair"),
        (f"{RUN} --seeds 2", "metric", "cycles_per_pair"),
        ("runs --limit 100000", "status", "failed"),
        ("runs --lock nop", "lock", "nop"),
        ("runtimes --list", "name", "byte_writer"),
        ("sweep smoke", "winner", "cas_spin"),
        ("workloads", "workload", "sync"),
        ("workloads micro", "key", "op"),
        ("workloads sync", "key", "iterations"),
    ],
)
def test_rows_are_the_same_in_csv_and_json_and_are_read_back(
    line: str, column: str, value: object, filled: Path, tmp_path: Path
) -> None:
    words = shlex.split(line)
    if words[0] in (*OF_DATABASE, *STORING):
        words += ["--db", str(filled if words[0] in OF_DATABASE else tmp_path / "a.db")]
    done = lockcross(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert value in [row[column] for row in rows]
    columns, read = is_read_back(words, tmp_path / "a.csv")
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


def test_a_sweep_prints_its_winners_as_rows(tmp_path: Path) -> None:
    plan = tmp_path / "two.toml"
    plan.write_text(
        'title = "two"\n[[sweep]]\nmachine = "generic"\nisa = "x86_64"\nlock = ["thin", "tasuki"]\n'
        'workload = "sync"\nparameters = { iterations = 30 }\n'
    )
    done = lockcross("sweep", str(plan), "--format", "json", "--db", str(tmp_path / "a.db"))
    (row,) = json.loads(done.stdout)
    assert (row["winner"], row["next"]) == ("thin", "tasuki")
    assert "2 cells, 2 distinct: 2 ok" in done.stderr


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


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("swe", {"sweep"}),
        ("compare --al", {"--along"}),
        ("run --machine zen", {"zen3", "zen4", "zen5"}),
        ("machines sky", {"skylake", "skylake_smt"}),
        ("run --lock asym_t", {"asym_tasuki"}),
        ("locks tas", {"tasuki"}),
        ("advise --locks thin,tas", {"thin,tasuki"}),
        ("runs --workload lock_s", {"lock_sequence"}),
        ("sweep smo", {"smoke"}),
        ("compare --plan smo", {"smoke"}),
        ("crossover --study gem5_o", {"gem5_o3"}),
        ("reproduce k_r", {"k_rounds"}),
        ("validate --against nat", {"native"}),
        ("query win", {"winners"}),
        ("new machine mine --from p", {"p3", "p4xeon", "power10", "power9", "ppc604"}),
        ("crossovers --isa ppc", {"ppc64le"}),
    ],
)
def test_a_shell_completes(line: str, there: set[str]) -> None:
    words = f"lockcross {line}"
    asked = {"_LOCKCROSS_COMPLETE": "complete_bash", "COMP_CWORD": str(len(words.split()) - 1)}
    assert set(lockcross(COMP_WORDS=words, **asked).stdout.split()) == there


def test_every_option_and_argument_that_takes_a_name_completes_it() -> None:
    names = "machine lock locks workload plan isa isas flavour engine study against fence".split()
    for name, command in every_command().items():
        context = typer.Context(command, info_name=name)
        for parameter in command.params:
            if parameter.name in names:
                assert parameter.shell_complete(context, ""), f"{name} {parameter.name}"
