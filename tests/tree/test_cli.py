"""The command line: help, documentation, errors for people."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.cli.main import commands, loaded
from sweeps.model.cell import invalid_reason
from sweeps.support.paths import ENGINE_PLUGIN
from tests.commands import SMALL, environment, lockcross, program
from tests.fakes.cells import cell_of
from tests.tree.test_options import EVERY

# Users' documents: the README, the pages, and CONTRIBUTING.
TEXTS = [path.read_text() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", commands())
def test_every_command_has_help_and_stands_in_a_document(name: str) -> None:
    command = loaded(name)
    beginning = command.help.partition("\n\n")[0]
    assert " ".join(beginning.split()) == commands()[name].sentence  # as in the list of all
    missing = [p.name for p in command.params if not getattr(p, "help", "x")]
    assert not missing, f"no help for {missing}"
    assert any(re.search(rf"lockcross {name}\b", text) for text in TEXTS)


def test_options_say_whether_a_latency_is_set_or_measured() -> None:
    asked = {"--cas-latency", "--fence-latency"}
    found = [(name, option.help) for name, option in EVERY if asked & {*option.opts}]
    assert all("is set to" in text for _, text in found), found
    assert len(found) == 3 * 2  # run, runs, calibrate; advise takes measured latencies alone
    assert not any(re.search("advise .*--(cas|fence)-latency", text) for text in TEXTS)


@pytest.mark.parametrize(
    ("closed", "code"), [(">&-", 0), (">&- 2>&-", 0), ("<&- >&- 2>&-", 0), (">/dev/full", 1)]
)
def test_output_that_nobody_reads_is_no_mistake(closed: str, code: int) -> None:
    command = f'"$0" -P -m sweeps query --list {closed}'
    words = ["/bin/sh", "-c", command, sys.executable]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.count("\n") == code and "Traceback" not in done.stderr


def test_a_cell_out_of_bounds_is_no_run() -> None:
    cell = cell_of()
    assert invalid_reason(cell) == ""
    outside = {"cas_latency": 20_000_000, "cancel_latency": -1, "seed": 2**32, "cores": 129}
    for key, value in outside.items():
        assert f"{key}: {value}: allowed is" in invalid_reason(replace(cell, **{key: value}))


def test_dry_run_says_what_is_known_and_leaves_nothing(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    before = lockcross("sweep", "smoke", "--dry-run", "--db", str(db))
    assert before.returncode == 0 and not db.exists()
    assert "0 known" in before.stdout and "s each are assumed for" in before.stdout
    assert lockcross("sweep", "smoke", "--db", str(db)).returncode == 0
    after = lockcross("sweep", "smoke", "--dry-run", "--db", str(db))
    assert " 0 to run" in after.stdout and "assumed" not in after.stdout


def test_calibration_measures_what_was_set(tmp_path: Path) -> None:
    db = str(tmp_path / "a.db")

    def measured(*options: str) -> dict[str, list[float]]:
        done = lockcross("calibrate", "generic", *options, "--db", db)
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines()[2:]]
        return {line[0]: [float(cycles) for cycles in line[1:]] for line in lines}

    low = measured("--cas-latency", "10")
    high = measured("--cas-latency", "60", "--fence-latency", "130")
    for op, more in (("cas", 50), ("rmw", 50), ("fence", 100)):
        found = [b - a for a, b in zip(low[op], high[op], strict=True)]
        assert found == pytest.approx([more] * 4, abs=0.02), op  # the table shows hundredths
    assert low["load"] == high["load"] and low["stop"] == high["stop"]


def path_with(folder: Path, *names: str) -> str:
    """A PATH on which only `names` of QEMU and the compilers are found."""
    places = f"{os.environ.get('LOCKCROSS_QEMU', '')}:{os.environ['PATH']}"
    for name in names:
        if found := shutil.which(name, path=places):
            (folder / name).symlink_to(found)
    return str(folder)


def test_missing_parts_are_one_message(tmp_path: Path) -> None:
    tools = [f"x86_64-linux-gnu-{tool}" for tool in ("gcc", "as", "ld")]
    path = path_with(tmp_path, "as", "ld", *tools)

    def fails(message: str, **changes: str) -> None:
        done = lockcross("run", *SMALL, **{"PATH": path, "LOCKCROSS_QEMU": "", **changes})
        assert done.returncode == 1 and message in done.stderr

    fails("qemu-x86_64 is missing; ./lockcross finds")
    fails(
        f"not in LOCKCROSS_QEMU={tmp_path}", LOCKCROSS_QEMU=str(tmp_path), PATH=os.environ["PATH"]
    )
    program(tmp_path, "qemu-x86_64", 'echo "usage: qemu-x86_64 -g port"')
    fails("built without plugins")


def test_the_doctor_tells_what_is_there_and_what_is_missing(tmp_path: Path) -> None:
    done = lockcross("doctor")
    assert done.returncode == 0 and "MISSING" not in done.stdout and ENGINE_PLUGIN.exists()
    assert done.stderr.startswith("asking compilers and engines")  # which may take a while
    done = lockcross("doctor", PATH=path_with(tmp_path, "qemu-x86_64"), LOCKCROSS_QEMU="")
    assert done.returncode == 1
    assert re.search(r"ok +engine qemu: qemu-x86_64", done.stdout)
    assert re.search(r"MISSING engine qemu: qemu-ppc64le", done.stdout)
    assert re.search(r"MISSING aarch64 lse: compiler", done.stdout)
