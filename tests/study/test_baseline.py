"""The work around a lock, from the runs without one."""

from pathlib import Path

from results.store.store import Store
from sweeps.study.baseline import Baseline, unlocked
from tests.fakes.cells import cell_of
from tests.fakes.records import record


def test_the_latest_run_without_a_lock_says_what_the_work_is(tmp_path: Path) -> None:
    """A database may hold former ones, of a machine file or a program that has changed since."""
    setting = cell_of(workload="sync", lock="thin", parameters={"iterations": 10, "think": 50})
    with Store(tmp_path / "a.db") as store:
        for age, cycles in (("former", 70), ("latest", 60)):
            for extra, cell in enumerate(reversed(unlocked([setting]))):  # the loop, then the work
                known = {
                    name: getattr(cell, name)
                    for name in ("machine", "isa", "flavour", "lock", "workload", "parameters")
                }
                added = record(f"{age} {extra}", cycles * extra, threads=1, **known)
                store.add_run(added, "p")
        assert Baseline(store.connection).work(setting) == 60
