"""The runner: results, identities, failures, and being killed in the middle."""

import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.cli.progress import one_bar
from sweeps.engines.base import Limits, ProcessResult
from sweeps.engines.qemu import output as qemu_output
from sweeps.engines.qemu.engine import REPORT
from sweeps.model.cell import command
from sweeps.run.runner import Runner
from sweeps.run.system import SYSTEM, this_system
from sweeps.run.work import with_paths
from tests.commands import SMALL, lockcross, program, start
from tests.fakes.cells import cell_of
from tests.processes import alive, children, until
from tests.run.jobs import rows, write_plan

CELL = cell_of("cas_spin", parameters={"iterations": 50})


def test_cells_run_once_and_come_back_in_order(tmp_path: Path, store: Store) -> None:
    cells = [replace(CELL, cas_latency=cas) for cas in (50, 0, 50)]
    runs = Runner(store).run(cells, "test")
    again = Runner(store).run(cells[::-1], "test")
    assert [run.status for run in runs] == ["ok"] * 3
    assert runs[0] == runs[2] and runs == again[::-1]
    assert runs[0].metrics["pairs"] == 50
    # One CAS a pair, each 50 cycles dearer.
    assert runs[0].metrics["cycles"] - runs[1].metrics["cycles"] == pytest.approx(2500, abs=100)
    assert rows(tmp_path / "a.db", "SELECT count(*), max(attempts) FROM runs") == [(2, 1)]


def test_a_long_job_says_how_long_before_it_begins(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [replace(CELL, cas_latency=cas) for cas in (1, 2, 3)]
    monkeypatch.setattr("sweeps.run.runner._LONG_S", 0.1)
    Runner(store, 1).foretell(cells, more=True)
    assert capsys.readouterr().err.startswith("at least 3 runs, about 0 s, a guess")
    with one_bar(7, at_least=True) as progress:
        Runner(store, 1, progress).run(cells, "test")
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("at least 7 runs, about 1 s") and len(said) > 1
    Runner(store, 1).foretell(cells)
    assert capsys.readouterr().err == ""  # nothing is left to be run


def test_the_system_s_packages_are_kept(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a database from before they were."""
    said = r"ii \tgcc-12:amd64\t12.2.0-14\nun \tgcc-13:amd64\t\nii \tmake:amd64\t4.3-4.1\n"
    program(tmp_path, "dpkg-query", f"printf '{said}'; exit 1")  # some names are nobody's
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    system = this_system.__wrapped__()
    assert system.packages == {"gcc-12:amd64": "12.2.0-14", "make:amd64": "4.3-4.1"}
    assert system.name
    monkeypatch.setattr("sweeps.run.system.this_system", lambda: system)
    store.connection.execute("ALTER TABLE runs DROP COLUMN system")
    Runner(store).run([CELL], "test")
    assert len(SYSTEM.every(store.connection)) == 1
    shown = lockcross("show 1 --db", str(tmp_path / "a.db")).stdout
    assert "gcc-12:amd64=12.2.0-14 make:amd64=4.3-4.1" in shown
    program(tmp_path, "dpkg-query", "exit 2")
    assert this_system.__wrapped__().packages == {}


def test_an_identity_tells_what_can_change_the_answer(store: Store) -> None:
    changes: dict[str, Any] = {"lock": "thin", "workload": "nosync", "machine": "p3", "threads": 2}
    changes |= {"cas_latency": 1, "fence_latency": 1, "cancel_latency": 1, "seed": 2}
    changes |= {"parameters": {"iterations": 51}}
    cells = [CELL, replace(CELL, isa="ppc64le", flavour="larx")]
    cells += [replace(CELL, **{axis: value}) for axis, value in changes.items()]
    works = Runner(store).prepare(cells)
    assert len({work.identity for work in works}) == len(cells)


def test_cells_that_are_one_run_are_stored_as_the_first(tmp_path: Path, store: Store) -> None:
    """The machine's own figures (20 cycles, less the L1 access of 4), set by hand."""
    first, second = Runner(store).run([CELL, replace(CELL, cas_latency=16)], "test")
    assert first.id == second.id
    assert rows(tmp_path / "a.db", "SELECT cas_latency FROM runs") == [(None,)]


def test_refused_cells_are_stored_with_the_reason(store: Store) -> None:
    cells = [replace(CELL, lock="tasuki", fence="rmw", isa="ppc64le", flavour="larx"), CELL]
    refused, fine = Runner(store).run(cells, "test")
    assert refused.status == "refused" and "POWER" in refused.cause
    assert fine.status == "ok"


def test_a_cell_of_unknown_values_is_an_error(store: Store) -> None:
    with pytest.raises(LockcrossError, match="'thim'"):
        Runner(store).run([replace(CELL, lock="thim")], "test")


# The output of a workload's run of CELL.
GUEST = {key: vars(CELL)[key] for key in "workload lock isa flavour fence threads".split()}
GUEST |= {"pairs": 50, "ok": True, "error": "", "ticks": 0}
NOT_AGREED = "workload output does not match the schema"


def say(**changes: object) -> str:
    return f"echo '{json.dumps(GUEST | changes)}'"


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        ("echo rubbish", "workload output is not JSON"),
        ("echo '{}'", "workload output does not match the schema: workload: missing"),
        ("head -c 3000 /dev/urandom", "workload output is not JSON"),
        (say(), "engine output is missing"),
        (f"echo '{{' > engine.json; {say()}", "engine output is not JSON"),
        (f"echo '{{}}' > engine.json; {say()}", "engine output does not match the schema"),
        (say(lock="thin"), "workload output belongs to another run: lock 'thin', not 'cas_spin'"),
        (say(ok=False, error="counter is 3") + "; exit 1", "check failed: counter is 3"),
        ("echo no such file >&2; exit 1", "QEMU failed: no such file"),
        ("echo 'sync: x: unknown key' >&2; exit 2", "arguments refused: sync: x: unknown key"),
        ("echo 'lockcross-timing: option x' >&2; exit 2", "options refused: lockcross-timing"),
        ("exit 3", "instruction limit: 4000000000"),
        ("echo 'lockcross-timing: broken' >&2; exit 4", "engine failure: lockcross-timing: broken"),
        (say(pairs=-1), f"{NOT_AGREED}: pairs: -1: Input should be"),
        (say(pairs=10**400), f"{NOT_AGREED}: pairs: 1000000000"),
        ("exit 77", "exit code 77: it did not say why"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("kill -40 $$", "killed by signal 40"),
        ("trap '' TERM INT; while :; do :; done", "CPU time limit: 0.5 s"),
        ("trap '' TERM INT; sleep 600 & wait", "wall time limit: 5 s; it had the CPU for"),
        ("sleep 1; echo rubbish", "workload output is not JSON"),  # it waits: no time of its own
    ],
)
def test_every_bad_end_of_an_engine_has_its_cause(
    tmp_path: Path, behaviour: str, cause: str
) -> None:
    script = (
        "PATH=/usr/bin:/bin\n"
        'case "$1" in\n--help) echo " -plugin x";;\n--version) echo "qemu version 7.2.0";;\n'
        f"*) {behaviour};;\nesac"
    )
    program(tmp_path, "qemu-x86_64", script)
    db = tmp_path / "a.db"
    limit = "0.5" if re.search("sleep|while", behaviour) else "30"
    words = [*SMALL, "--time-limit", limit, "--db", str(db)]
    done = lockcross("run", *words, PATH=f"{tmp_path}:{os.environ['PATH']}", LOCKCROSS_QEMU="")
    assert done.returncode == 1
    assert f"failed: {cause}" in done.stderr
    ((status, stored),) = rows(db, "SELECT status, cause FROM runs")
    assert status == "failed" and cause in str(stored)


def test_a_report_of_impossible_numbers_is_no_run(tmp_path: Path, store: Store) -> None:
    path, end = tmp_path / REPORT, ProcessResult(0, json.dumps(GUEST), "", "", 1.0)
    kept: list[str] = []
    Runner(store, collect=lambda at: kept.append((at / REPORT).read_text())).run([CELL], "t")
    good = json.loads(kept[0])
    core = good["cores"][0]
    mark = {"phase": 1, "cycle": 10} | {
        name: core[name]
        for name in ("core", "instructions", "loads", "stores", "cas", "rmw", "fences")
    }
    less = {"stalls": {"issue": -core["cycles"]}, "cycles": -core["cycles"]}
    for changes, cause in (
        ({}, ""),
        ({"cores": [core | less]}, "cores.0.cycles: -"),
        ({"cores": [core | {"loads": 10**400}]}, "cores.0.loads: 10000"),
        ({"cores": [core | {"fences": {"x": -1}}]}, "cores.0.fences.x: -1"),
        ({"handovers": -1}, "handovers: -1"),
        ({"phases": [mark, mark | {"phase": 2, "cycle": 9}]}, "phase_1_cycles is -1"),
        ({"phases": [mark | {"phase": -1}]}, "phases.0.phase: -1"),
    ):
        path.write_text(json.dumps(good | changes))
        outcome = qemu_output.read(CELL, Limits(), end, path)
        assert cause in outcome.cause and bool(cause) == bool(outcome.cause), changes
    footprint = replace(CELL, workload="footprint", parameters={"iterations": 1})
    guest = GUEST | {"workload": "footprint", "extra": {"object_bytes": 8, "monitor_bytes": 0}}
    path.write_text(json.dumps(good | {"phases": [mark]}))
    outcome = qemu_output.read(footprint, Limits(), replace(end, stdout=json.dumps(guest)), path)
    assert outcome.cause == ""
    assert "1 phases, not a multiple of 6" in with_paths(footprint, outcome).cause


@pytest.mark.long
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path, blow: signal.Signals) -> None:
    plan, db = write_plan(tmp_path, latencies=30, iterations=20_000), tmp_path / "a.db"
    sweep = ["sweep", str(plan), "--db", str(db), "--jobs", "2"]
    query = "SELECT id, identity, started, attempts FROM runs ORDER BY id"

    driver = start(*sweep)
    names = "SELECT name FROM sqlite_master"
    assert until(lambda: db.exists() and "runs" in str(rows(db, names)))
    assert until(lambda: len(rows(db, query)) >= 3 and len(children(driver.pid)) == 2)
    engines = children(driver.pid)
    driver.send_signal(blow)
    _, said = driver.communicate(timeout=30)
    if blow != signal.SIGKILL:
        assert driver.returncode == 128 + blow and "interrupted" in said and "Traceback" not in said
    assert until(lambda: not any(map(alive, engines)), 5)
    kept = rows(db, query)
    assert 3 <= len(kept) < 30 * 3
    again = lockcross(*sweep)
    assert again.returncode == 0 and "90 cells, 90 distinct: 90 ok" in again.stdout
    after = rows(db, query)
    assert after[: len(kept)] == kept and len(after) == 90
    assert {row[3] for row in after} == {1}


def test_failed_cells_are_retried_only_when_asked(tmp_path: Path) -> None:
    plan, db = write_plan(tmp_path, latencies=1, iterations=20_000), tmp_path / "a.db"
    query = "SELECT status, attempts, cause FROM runs"
    sweep = ["sweep", str(plan), "--db", str(db)]
    first = lockcross(*sweep, "--instruction-limit", "1000")
    assert first.returncode == 1 and first.stdout.count("instruction limit: 1000;") == 3
    assert lockcross(*sweep).returncode == 1
    assert [row[:2] for row in rows(db, query)] == [("failed", 1)] * 3
    assert lockcross(*sweep, "--retry-failed").returncode == 0
    assert rows(db, query) == [("ok", 2, "")] * 3


def test_the_command_of_a_run_repeats_it(tmp_path: Path, store: Store) -> None:
    cell = replace(
        CELL, machine="zen4", threads=2, cas_latency=3, fence_latency=4, cancel_latency=5, seed=6
    )
    (run,) = Runner(store).run([cell], "test")
    words = command(cell).split()
    assert words[:2] == ["./lockcross", "run"]
    assert lockcross(*words[1:], "--db", str(tmp_path / "b.db")).returncode == 0
    assert rows(tmp_path / "b.db", "SELECT identity FROM runs") == [(run.identity,)]
