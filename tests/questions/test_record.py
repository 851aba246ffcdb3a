"""record: Java programs of which every acquisition is known, on the JDK that is here."""

import os
import re
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from results.paths import ROOT
from sweeps.lock_logs.locality import Sections, pattern
from sweeps.lock_logs.log import EventLog, Kind, read_events
from sweeps.lock_logs.owners import owners
from sweeps.lock_logs.sites import sites
from sweeps.questions.record.jvm import AGENT
from tests.commands import lockcross, program
from tests.java_agent import counts, needs_java
from tests.jdks import PACKAGED, RELEASES
from tests.processes import until
from tests.questions.recording import ended

pytestmark = needs_java
TIMES = 20_000


def recorded(
    folder: Path, *words: str, options: tuple[str, ...] = (), java: str = "java"
) -> EventLog:
    """The log of a program, given by its class and arguments."""
    log = folder.parent / "program.locks"
    command = [java, "-Xverify:all", "-cp", str(folder), *words]
    done = lockcross("record --force --output", str(log), *options, "--", *command)
    assert done.returncode == 0, done.stderr
    assert "not seen: " in done.stderr
    return read_events(log)


def events_at(log: EventLog, type_: str, method: str) -> pd.DataFrame:
    """The events of the places there."""
    places = log.sites.items()
    here = [site for site, one in places if (one.type, one.method) == (type_, method)]
    return log.events[log.events["site"].isin(here)]


def log_of_endless(log: Path, end: str) -> EventLog:
    """It ends so, and has what was told until then."""
    found = read_events(log)
    assert found.totals is not None and found.totals.end == end
    assert counts(found)["Endless", "main"] > 10_000
    assert pattern(found).nested < 0.01
    return found


@pytest.mark.long
def test_every_acquisition_of_a_known_program_is_there_or_counted(classes: Path) -> None:
    log = recorded(classes, "Known", str(TIMES))
    found = counts(log)
    once = {
        "Known": ("block", "loop", "caught"),
        "Known$Counter": ("returning", "throwing", "ofClass"),
        "Known$Kept": ("method",),
        "java.util.Vector": ("add",),
        "java.util.Hashtable": ("put",),
    }
    expected = {(one, method): TIMES for one, methods in once.items() for method in methods}
    expected |= {("Known", "nested"): 3 * TIMES, ("Known", "increment"): 2 * TIMES}
    assert {place: found[place] for place in expected} == expected
    assert ("Known", "nobodysNull") not in found
    taken = int((log.events["kind"] == Kind.ACQUIRED).sum())
    # But for what the JVM itself holds while it ends.
    assert 0 <= taken - int((log.events["kind"] == Kind.RELEASE).sum()) <= 8
    # The exceptions' own methods are synchronized, too. One in three of `nested` is nested.
    assert found["java.lang.Throwable", "fillInStackTrace"] >= 3 * TIMES
    table = sites(log).groupby("line").sum(numeric_only=True)
    nested = table[table.index.str.startswith("Known.nested:")]
    assert nested["nested"].sum() == TIMES and nested["objects"].tolist() == [1, 1, 1]
    # Every end of `Known` lies behind its beginning, and no two threads are in one section.
    sections = Sections(log)
    assert sections.shared_hashes <= 1
    shared = events_at(log, "Known", "increment")
    acquired = shared[shared["kind"] == Kind.ACQUIRED]
    assert acquired["object"].nunique() == 1 and acquired["thread"].nunique() == 2
    assert log.totals is not None and log.totals.end == "exit" and log.totals.lost == 0
    assert log.totals.cpu_seconds is not None and log.totals.cpu_seconds > 0
    # A sample has some objects whole and counts the rest.
    some = recorded(classes, "Known", str(TIMES), options=("--sample", "4"))
    assert some.sample == 4 and some.totals is not None
    every = some.totals.acquisitions + some.totals.left_out
    assert every == pytest.approx(log.totals.acquisitions, rel=0.02)
    objects = some.events["object"].nunique()
    assert objects == pytest.approx(log.events["object"].nunique() / 4, rel=0.15)
    shown = lockcross("locality", str(classes.parent / "program.locks"))
    assert "a sample of one object in 4" in shown.stderr


def test_waits_and_notifications_are_there(classes: Path) -> None:
    log = recorded(classes, "Waits", "500")
    found = {kind: counts(log, kind) for kind in (Kind.NOTIFY, Kind.NOTIFY_ALL, Kind.WAIT)}
    assert found[Kind.NOTIFY_ALL]["Waits", "pass"] == 1000
    assert found[Kind.NOTIFY] == {("Waits", "times"): 1}
    assert found[Kind.WAIT]["Waits", "times"] == 2
    assert found[Kind.WAIT]["Waits", "interrupted"] == 1
    # What was done without the monitor was no operation.
    assert all(place != ("Waits", "wrong") for kinds in found.values() for place in kinds)
    kinds = log.events["kind"].value_counts()
    assert 0 <= kinds[Kind.WAIT] - kinds[Kind.WAITED] <= 8  # the JVM's own threads wait at its end
    assert Sections(log).contention().loc["wait", "objects"] >= 1


@pytest.mark.parametrize("java", RELEASES, indirect=True)
def test_the_log_tells_in_which_state_owners_are_when_others_come(java: str, classes: Path) -> None:
    """400 objects of a thread that has ended, 500 of threads that are parked or wait, 100 of one
    that runs, which no log tells; the JVM and the program's own locks add few."""
    log = recorded(classes, "Pauses", "400", "300", "200", "100", java=java)
    found = owners(log)
    assert found["ended"] == pytest.approx(0.4, abs=0.02)
    assert found["blocked"] == pytest.approx(0.5, abs=0.02)
    assert found["untold"] + found["running"] == pytest.approx(0.1, abs=0.02)
    assert found["untold"] > found["running"]  # it locks nothing while it runs
    assert set(log.pauses["kind"]) == {Kind.PARK, Kind.PARKED, Kind.END}


@pytest.mark.parametrize("java", PACKAGED, indirect=True)
def test_virtual_threads_keep_what_they_hold(java: str, classes: Path) -> None:
    log = recorded(classes, "Virtual", java=java)
    assert counts(log)["Virtual", "work"] == 4000
    assert events_at(log, "Virtual", "work")["thread"].nunique() == 20
    assert Sections(log).shared_hashes == 0


def test_a_killed_programs_log_can_be_read(classes: Path) -> None:
    log = classes.parent / "killed.locks"
    agent = f"-javaagent:{AGENT}=output={log}"
    command = ["java", agent, "-cp", str(classes), "Endless", "60000", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"begun\n"
            size = log.stat().st_size
            until(lambda: log.stat().st_size >= size + 2_000_000, 60)
            time.sleep(1)  # until it has told that all have told
        finally:
            process.kill()
    log_of_endless(log, "cut")
    shown = lockcross("locality", str(log))
    assert shown.returncode == 0 and "was killed" in shown.stderr


def test_a_log_ends_at_its_limit_and_the_program_goes_on(classes: Path) -> None:
    log = classes.parent / "small.locks"
    command = ["java", "-cp", str(classes), "Endless", "3000", "0"]
    done = lockcross("record --most 5M --output", str(log), "--", *command)
    assert done.returncode == 0 and "(--most). The program goes on" in done.stderr
    assert log.stat().st_size <= 5_000_000
    totals = log_of_endless(log, "limit").totals
    assert totals is not None and totals.counted is not None
    # Behind the limit, acquisitions are counted.
    made = int(done.stdout.split()[-1])
    assert made <= totals.acquisitions + totals.counted <= made + 1000


def test_a_full_disk_is_told_and_the_program_goes_on(classes: Path) -> None:
    """A limit on the size of files does the same."""
    log = classes.parent / "full.locks"
    script = f'ulimit -f 5000; exec java "-javaagent:{AGENT}=output={log}" -cp "$1" Endless 3000 0'
    done = ended(["bash", "-c", script, "bash", classes])
    assert done.returncode == 0 and "count" in done.stdout
    assert f"recording ended: {log}: " in done.stderr and "The program goes on" in done.stderr
    log_of_endless(log, "disk")


def test_a_script_hands_it_on_and_the_exit_code_is_the_programs(classes: Path) -> None:
    log = classes.parent / 'it\'s "his"' / "it's with space.locks"
    log.parent.mkdir()
    program(classes.parent, "start", f'exec java -cp "{classes}" Endless 100 7')
    words = ("--output", str(log), "--compare", "--", str(classes.parent / "start"))
    done = lockcross("record", *words)
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("begun\ncount ")
    found = read_events(log)
    assert counts(found)["Endless", "main"] > 0
    assert found.totals is not None and found.totals.cpu_plain is not None
    assert found.totals.recording is not None and 0 < found.totals.start_cpu < 10
    least, middle, most = found.totals.recording
    assert 0 < least <= middle <= most < 100_000
    for least, middle, most in (found.totals.gap_ns, found.totals.section_ns):
        assert 0 < least <= middle <= most < 100_000
    assert re.search(r"with recording, [\d.]+ s without", done.stderr)
    again = lockcross("record", *words)
    assert again.returncode == 2 and "exists; --force replaces it" in again.stderr


def test_a_program_that_starts_no_jvm_leaves_no_log(agent: Path, tmp_path: Path) -> None:
    java = tmp_path / "java"
    for script, command, code, said in (
        ("", ["true"], 1, "no JVM has recorded"),
        ("", ["nonesuch", "-jar"], 2, "nonesuch: no such program"),
        ('echo version \\"1.8.0_392\\"', [str(java)], 2, "is Java 8; 11 or later"),
        ("", [str(java)], 2, "says no"),
    ):
        program(tmp_path, java.name, script)
        done = lockcross("record --output", str(tmp_path / "x"), "--", *command)
        assert done.returncode == code and said in done.stderr


@pytest.mark.long
def test_the_agents_own_tests(tmp_path: Path) -> None:
    project = ROOT / "java-agent" / "pom.xml"
    words = ["--batch-mode", "--quiet", "--file", str(project), f"-Dmade={tmp_path}", "test"]
    clean = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    done = ended(["mvn", *words], env=clean, timeout=600)
    assert done.returncode == 0, done.stdout
    reports = list((tmp_path / "surefire-reports").glob("*.xml"))
    assert sum(len(re.findall("<testcase ", one.read_text("utf-8"))) for one in reports) >= 13
