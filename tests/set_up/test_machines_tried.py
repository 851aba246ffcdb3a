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


def rows(head: str) -> dict[str, dict[str, str]]:
    """The rows of bare_machine.sh in the table with that first head, by suite."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text[text.index(f"| {head} |") :].partition("\n\n")[0].splitlines()
    names, _, *cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in table]
    found = {row[0].split()[0]: dict(zip(names, row, strict=True)) for row in cells}
    return {suite: found.get(suite, dict.fromkeys(names, "never tried")) for suite in SUITES}


@pytest.mark.parametrize("head", ["system", "cycles on"])
@pytest.mark.parametrize("suite", SUITES)
def test_all_tests_passed_there(suite: str, head: str) -> None:
    row = rows(head)[suite]
    assert not [value for value in row.values() if "failed" in value]
    assert "passed" in row["tests"]


@pytest.mark.parametrize("name", ["cycles.json", "drawn.json"])
@pytest.mark.parametrize("suite", SUITES)
def test_the_engine_computes_what_it_did_there(suite: str, name: str) -> None:
    """Else: tests/bare_machine.sh --cycles SUITE, which writes the row. Of an engine that has other
    sources since then and computes the same, continuous integration tries the build."""
    revision = rows("cycles on")[suite]["revision"]

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
        )

    file = f"tests/reference/{name}"
    there = git("show", f"{revision}:{file}")
    if there.returncode:
        pytest.skip(f"this clone lacks revision {revision}")
    then = re.sub(rf"\b{former.FORMER}\b", former.NAME, there.stdout)
    assert then == (ROOT / file).read_text(encoding="utf-8"), f"{suite} was tried before"
