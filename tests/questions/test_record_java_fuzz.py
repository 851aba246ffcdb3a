"""record leaves a program as it is: drawn programs print, say and end the same, recorded or not.
Every acquisition, wait and notification of theirs is in the log, by its line."""

import os
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

from sweeps.lock_logs.log import EventLog, Kind, read_events
from sweeps.questions.record.jvm import AGENT
from tests.java_agent import needs_java
from tests.jdks import jvms
from tests.questions.monitor_programs import Drawn, drawn
from tests.questions.recording import ended

SEED = int(os.environ.get("LOCKCROSS_FUZZ_SEED", "0"))
PROGRAMS = int(os.environ.get("LOCKCROSS_FUZZ", "60"))  # 1,000 find what 60 do not
TOGETHER = 10  # programs in one JVM
_PRINTED = re.compile(r"^(\d+) (\d+)$", re.MULTILINE)
_OURS = "lockcross: "
_COUNTED = (Kind.ACQUIRED, Kind.WAIT, Kind.NOTIFY, Kind.NOTIFY_ALL)


@pytest.fixture(scope="module")
def programs(agent: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Drawn]]:
    """Drawn programs, compiled."""
    folder = tmp_path_factory.mktemp("drawn")
    every = [
        drawn(f"Drawn{n}", 10_000 * SEED + n, TOGETHER) for n in range(max(PROGRAMS // TOGETHER, 1))
    ]
    for one in every:
        (folder / f"{one.name}.java").write_text(one.source)
    command = ["javac", "-nowarn", "-XDignore.symbol.file", "--release", "11", "-d", folder]
    subprocess.run([*command, *folder.glob("*.java")], check=True, capture_output=True)
    return folder, every


@needs_java
@pytest.mark.long
def test_drawn_programs_do_the_same_and_are_counted(programs: tuple[Path, list[Drawn]]) -> None:
    folder, every = programs
    java = jvms()
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = pool.map(partial(_faults, folder), every, cycle(java))
        faults = [words for one in found for words in one]
    assert not faults, "\n".join(faults[:20])


def _faults(folder: Path, one: Drawn, java: str) -> list[str]:
    log = folder / f"{one.name}.locks"
    options = [f"-javaagent:{AGENT}=output={log}"]
    plain, recorded = (_run(java, more, folder, one.name) for more in ([], options))
    where = f"{one.name} on {java}"
    if plain != recorded:
        return [f"{where}: {plain} is not {recorded}"]
    if not one.whole:
        return []
    counted = _by_line(read_events(log), one.name)
    said = {int(number): int(count) for number, count in _PRINTED.findall(plain[1])}
    expected = {line: said[number] for number, line in one.lines.items() if said[number]}
    return [
        f"{where}, line {line}: {expected.get(line)} but {counted.get(line)}"
        for line in sorted(expected)
        if expected[line] != counted[line]
    ]


def _run(java: str, options: list[str], folder: Path, name: str) -> tuple[int, str, str]:
    """Return exit code, output and errors of a program, without the recorder's words."""
    command = [java, "-Xss300k", *options, "-cp", str(folder), name]
    done = ended(command)
    errors = [line for line in done.stderr.splitlines(True) if not line.startswith(_OURS)]
    return done.returncode, done.stdout, "".join(errors)


def _by_line(log: EventLog, name: str) -> Counter[int]:
    done = log.events.loc[log.events["kind"].isin(_COUNTED), "site"]
    places = [log.sites[site] for site in done if site]
    return Counter(place.line for place in places if place.type.startswith(name))
