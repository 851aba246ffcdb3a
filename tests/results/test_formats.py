"""Rows as a table, as CSV and as JSON; the version; a shell's completions."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer

from results.paths import ROOT
from sweeps.cli.main import VERSION, commands, loaded
from tests.commands import SMALL, lockcross

# Commands that print no rows, or one run as text.
WITHOUT_ROWS = [
    *"check crossover explore export figures measure python record report serve show test".split(),
    *("new machine", "new plan", "new study"),
]


@pytest.mark.parametrize(
    ("words", "column", "value"),
    [
        (["plans"], "plan", "smoke"),
        (["machines"], "machine", "skylake"),
        (["machines", "skylake"], "figure", "clock_mhz"),
        (["locks"], "lock", "reservation"),
        (["locks"], "aarch64_lse", "f"),
        (["locks", "reservation"], "variant", "reservation"),
        (["workloads"], "workload", "sync"),
        (["workloads", "sync"], "key", "iterations"),
        (["doctor"], "part", "x86_64 lock: compiler"),
        (["query", "--list"], "query", "winners"),
        (["run", *SMALL], "metric", "cycles_per_pair"),
        (["build", "smoke"], "flavour", "lock"),
        (["reproduce", "--list"], "name", "k_rounds"),
        (["query", "SELECT id, lock, cause FROM runs ORDER BY id"], "lock", "thin"),
    ],
)
def test_rows_are_the_same_in_csv_and_json(
    words: list[str], column: str, value: str, database: Path
) -> None:
    if words[0] == "query":
        words = [*words, "--db", str(database)]
    done = lockcross(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert value in [row[column] for row in rows]
    lines = list(csv.DictReader(io.StringIO(lockcross(*words, "--format", "csv").stdout)))
    assert [line[column] for line in lines] == [str(row[column] or "") for row in rows]


def test_numbers_are_numbers_in_json() -> None:
    rows = json.loads(lockcross("machines", "skylake", "--format", "json").stdout)
    assert [row["value"] for row in rows if row["figure"] == "clock_mhz"] == [3100]


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
