"""docs/machines-tried.md speaks of an engine with the same results as the present one."""

import os
import re
import subprocess

import pytest

from results.paths import ROOT
from results.store import former

SUITES = ("bookworm", "trixie", "resolute")
DOCUMENT = ROOT / "docs" / "machines-tried.md"
pytestmark = pytest.mark.skipif(
    "LOCKCROSS_TRYING" in os.environ, reason="tests/bare_machine.sh is about to write the row"
)


def table(head: str) -> tuple[list[str], list[list[str]]]:
    """The heads of the table with that first head, and its rows."""
    text = DOCUMENT.read_text(encoding="utf-8")
    lines = text[text.index(f"| {head} |") :].partition("\n\n")[0].splitlines()
    heads, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return heads, rows


def row_of(suite: str, head: str) -> dict[str, str]:
    """The row of bare_machine.sh for a suite in the table with that first head."""
    heads, rows = table(head)
    found = {row[0].split()[0]: row for row in rows}
    return dict(zip(heads, found.get(suite, ["never tried"] * len(heads)), strict=True))


@pytest.mark.parametrize("head", ["system", "cycles on"])
@pytest.mark.parametrize("suite", SUITES)
def test_all_tests_passed_there(suite: str, head: str) -> None:
    row = row_of(suite, head)
    assert not [value for value in row.values() if "failed" in value]
    assert "passed" in row["tests"]


@pytest.mark.parametrize("name", ["cycles.json", "drawn.json"])
@pytest.mark.parametrize("suite", SUITES)
def test_the_engine_computes_what_it_did_there(suite: str, name: str) -> None:
    """Else: tests/bare_machine.sh --cycles SUITE, which writes the row. Of an engine that has other
    sources since then and computes the same, continuous integration tries the build."""
    revision, file = row_of(suite, "cycles on")["revision"], f"tests/reference/{name}"
    words = ["git", "-C", str(ROOT), "show", f"{revision}:{file}"]
    there = subprocess.run(words, capture_output=True, text=True, check=False)
    if there.returncode:
        pytest.skip(f"this clone lacks revision {revision}")
    then = re.sub(rf"\b{former.FORMER}\b", former.NAME, there.stdout)
    assert then == (ROOT / file).read_text(encoding="utf-8"), f"{suite} was tried before"
