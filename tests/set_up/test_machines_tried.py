"""docs/machines-tried.md speaks of the engine that is here."""

import os
import subprocess

import pytest

from results.paths import ROOT
from sweeps.engines.qemu.engine import plugin_version

SUITES = ("bookworm", "trixie", "resolute")
DOCUMENT = ROOT / "docs" / "machines-tried.md"
pytestmark = pytest.mark.skipif(
    "LOCKCROSS_TRYING" in os.environ, reason="tests/bare_machine.sh is about to write the row"
)
ENGINE = ("qemu-timing/src", "qemu-timing/Makefile")


def rows() -> dict[str, dict[str, str]]:
    """The rows of bare_machine.sh, by suite."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text[text.index("| system |") :].partition("\n\n")[0].splitlines()
    names, _, *cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in table]
    found = {row[0].split()[0]: dict(zip(names, row, strict=True)) for row in cells}
    return {suite: found.get(suite, dict.fromkeys(names, "never tried")) for suite in SUITES}


@pytest.mark.parametrize("suite", SUITES)
def test_the_systems_were_tried_with_this_engine(suite: str) -> None:
    """Else: tests/bare_machine.sh SUITE, which writes the row."""
    row = rows()[suite]
    assert row["engine"] == plugin_version().partition("+")[2]
    assert not [value for value in row.values() if "failed" in value]
    assert "passed" in row["tests"]


@pytest.mark.parametrize("suite", SUITES)
def test_the_revision_is_no_older_than_the_engine(suite: str) -> None:
    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
        )

    revision = rows()[suite]["revision"]
    if git("cat-file", "-e", f"{revision}^{{commit}}").returncode:
        pytest.skip(f"this clone lacks revision {revision}")
    changed = git("log", "--format=%h %s", f"{revision}..HEAD", "--", *ENGINE).stdout
    assert not changed, f"the engine has changed since {suite} was tried: {changed}"
