"""How big and how fast a large database is: pages, winners, export, beside their goals."""

import itertools
import json
import random
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from results.browser import server, site
from results.errors import LockcrossError
from results.paths import REFERENCE, ROOT
from results.store.queries import ask, named_queries
from results.store.records import CrossoverRecord, CrossoverRun, CrossoverSeed, MachineRecord
from results.store.store import Store
from results.text.rows import Rows
from sweeps.model import engines
from sweeps.run.work import CellRecord
from sweeps.search.found import PLAN, PlanFact
from sweeps.support import tools

Line = dict[str, Any]
RUNS = 200_000
REPEATS = 3  # the best counts, since the machine may be shared
GOAL_MB, GOAL_PAGE_S, GOAL_WINNERS_S, GOAL_EXPORT_MB = 300, 1.0, 0.5, 500
NOTE = (
    f"A made-up database in a temporary folder; best of {REPEATS} for pages and winners. "
    "MB of an export: peak memory of the process that writes it."
)
_PAGES = {
    "runs with their facets": "runs",
    "runs of one lock": "runs?lock=thin",
    "runs by cancellation": "runs?cancel_latency=5000",
    "runs by cost": "runs?_sort_desc=cycles_per_pair",
    "one run": "runs/5",
    "metrics of a run": "metrics_of_run?run=5",
    "crossovers of a run": "crossovers_of_run?run=5",
    "options of a run": "options_of_run?run=5",
    "crossovers": "crossovers",
    "metrics": "metrics",
}
_LIKE = REFERENCE / "native_granite_rapids.db"
_MACHINES = ("generic", "generic_inorder", "skylake", "zen4", "power9", "neoverse_n1")
_FLAVOURS = (("x86_64", "lock"), ("ppc64le", "larx"), ("aarch64", "lse"), ("aarch64", "llsc"))
_LOCKS = ("thin", "tasuki", "reservation", "asym_tasuki", "asym_spin1", "mcs", "cas_spin", "tnp")
_SERIES = 20_000  # runs of the map of each machine and flavour, at most
_TABLE = 8  # runs of each winner table
_CHUNK = 10_000  # runs in a transaction
_RUNS_OF_CROSSOVER = 24
_PLAN = {
    "title": "Made up",
    "machine": "generic",
    "flavours": [flavour for _, flavour in _FLAVOURS],
    "beside": list(_MACHINES[1:]),
    "seeds": 5,
    "tie_percent": 2.0,
    "limits": {},
    "locks": list(_LOCKS[1:4]),
    "table_locks": ["thin"],
    "map": {
        "threads": 2,
        "tolerance": 2,
        "parameters": {"objects": 1, "runs": 100, "run_length": 10, "owner_share": 0.9},
    },
}


def measured(runs: int = RUNS) -> Rows:
    """All of it, on a database of so many runs."""
    with TemporaryDirectory(prefix="lockcross-bench-") as name:
        folder = Path(name)
        path, served = folder / "made_up.db", folder / "served"
        begin = time.perf_counter()
        fill(path, runs)
        stored = time.perf_counter() - begin
        records = [
            _line(f"{runs:,} runs stored", stored, "s"),
            _line("size", path.stat().st_size / 1e6, "MB", GOAL_MB),
        ]
        with Store(path, read_only=True) as store:
            winners = _line("winners", None, "s", GOAL_WINNERS_S)
            records.append(winners | _times(lambda: ask(store.connection, "winners", path)))
            served.mkdir()
            copied = site.copy_to(store.connection, path, served)
        records += _pages(copied)
        records += [_export(path, folder / f"runs.{end}") for end in ("csv", "json", "parquet")]
    return Rows(records, {"what": "{what}", "measured": _shown, "goal": _shown_goal})


def _line(what: str, measured: float | None, unit: str, goal: float | None = None) -> Line:
    """A row: what was measured; `first`: the first time of several; `remark`: why it could not
    be."""
    return {
        "what": what,
        "measured": measured,
        "first": None,
        "unit": unit,
        "goal": goal,
        "remark": "",
    }


def _shown(row: Mapping[str, Any]) -> str:
    if row["measured"] is None:
        return str(row["remark"])
    if row["first"] is None:
        return f"{row['measured']:.0f} {row['unit']}"
    return f"{row['measured']:.2f} s (first {row['first']:.2f})"


def _shown_goal(row: Mapping[str, Any]) -> str:
    return "" if row["goal"] is None else f"{row['goal']} {row['unit']}"


def _times(work: Callable[[], object]) -> Line:
    """Seconds, the best and the first, as they stand in a line."""
    taken = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return {"measured": min(taken), "first": taken[0]}


def _pages(copied: Path) -> Iterator[Line]:
    """Every page of Datasette, from the request to the last byte."""
    server.DATASETTE.install()
    port = server.free_port(0)
    queries = {f"query {name}": site.query_name(name) for name in named_queries()}
    with server.served(site.command(copied, port), port):
        for words, page in (_PAGES | queries).items():
            address = f"http://{site.HOST}:{port}/{copied.stem}/{page}"
            line = _line(f"page: {words}", None, "s", GOAL_PAGE_S)
            try:
                yield line | _times(partial(_get, address))
            except urllib.error.HTTPError as error:
                why = "more than its limit" if error.code == 400 else str(error)
                yield line | {"remark": f"{address}: {why}"}


def _get(address: str) -> None:
    with urllib.request.urlopen(address, timeout=60) as answer:
        answer.read()


def _export(path: Path, file: Path) -> Line:
    """The peak memory of an export, in a process of its own."""
    words = [sys.executable, "-P", "-c", _EXPORT, str(path), str(file)]
    begin = time.perf_counter()
    child = tools.run(words, cwd=ROOT)
    if child.returncode:
        raise LockcrossError(f"the export to {file.suffix} failed: {child.stderr[-200:]}", 1)
    seconds, size = time.perf_counter() - begin, file.stat().st_size / 1e6
    file.unlink()
    what = f"export {file.suffix} ({size:.0f} MB, {seconds:.0f} s)"
    return _line(what, int(child.stdout) / 1024, "MB", GOAL_EXPORT_MB)


_EXPORT = """
import sys
from pathlib import Path
from results.store.export import export
from results.store.store import Store
with Store(Path(sys.argv[1]), read_only=True) as store:
    export(store.connection, "wide", Path(sys.argv[2]))
# Not getrusage: its peak begins with that of the process that started this one.
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def fill(path: Path, runs: int) -> None:
    """Makes a database at `path`, the same for the same number of runs. It is made up: it has the
    shape of a large study, and its numbers are those of a reference database's runs, varied."""
    with Store(path) as store:
        store.connection.execute("PRAGMA synchronous = OFF")
        PLAN.write(store, PlanFact.model_validate(_PLAN))
        for machine in _MACHINES:
            store.set_machine(MachineRecord(machine, machine, {"latency": {}}))
        made = _runs(runs, _models())
        while chunk := list(itertools.islice(made, _CHUNK)):
            store.add_runs(chunk, "made_up")
        _series(store)
        _crossovers(store, runs)


def _models() -> list[dict[str, Any]]:
    """Runs to be like: what of them is varied, and what stays."""
    with Store(_LIKE, read_only=True) as store:
        runs = store.connection.execute(
            "SELECT id, resolved, command FROM runs JOIN resolved ON run_id = id "
            "WHERE status = 'ok' AND workload = 'lock_sequence' AND engine = ? ORDER BY id",
            (engines.DEFAULT,),
        ).fetchall()
        metrics = "SELECT name, value, unit FROM metrics WHERE run_id = ?"
        return [
            {
                "resolved": json.loads(resolved),
                "command": command,
                "metrics": store.connection.execute(metrics, (run,)).fetchall(),
            }
            for run, resolved, command in runs
        ]


def _runs(number: int, models: list[dict[str, Any]]) -> Iterator[CellRecord]:
    chance = random.Random(1)
    axes = itertools.product(
        range(0, 10**6, 4), range(0, 20_000, 5_000), (1, 2, 3, 4, 5), _MACHINES, _FLAVOURS, _LOCKS
    )
    for cas, cancel, seed, machine, (isa, flavour), lock in itertools.islice(axes, number):
        model = chance.choice(models)
        settings = {
            "cas_success": cas,
            "charge_stop": cancel,
            "seed": seed,
            "lat_memory": 100 + len(machine),
            "l1_size": 1024 * len(flavour),
            "machine": machine,
        }
        failed = chance.random() < 0.005
        identity, duration_s = f"{chance.getrandbits(256):064x}", chance.random()
        factor = 0.0 if failed else chance.uniform(0.5, 1.5)
        metrics = {  # whole numbers are kept whole
            name: (round(value * factor) if value == int(value) else value * factor, unit)
            for name, value, unit in model["metrics"]
        }
        yield CellRecord(
            identity=identity,
            engine_version=f"0.1.0+{'e' * 37}",
            machine=machine,
            isa=isa,
            flavour=flavour,
            lock=lock,
            workload="lock_sequence",
            threads=2,
            cas_latency=cas,
            fence_latency=30,
            cancel_latency=cancel,
            seed=seed,
            parameters={
                "objects": 1,
                "owner_share": 0.9,
                "run_length": 10 + cas % 7,
                "runs": 100,
            },
            status="failed" if failed else "ok",
            cause="time limit" if failed else "",
            output="",
            command=f"{model['command']} --cas-latency {cas} --cancel-latency {cancel}",
            started=f"2026-01-01T00:00:00.{seed:06}",
            duration_s=duration_s,
            attempts=1,
            binary_digest=f"{len(lock) * 7919:064x}",
            source_revision="f" * 40,
            compiler="x86_64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0",
            resolved=models[0]["resolved"] | settings,
            metrics={} if failed else metrics,
        )


def _series(store: Store) -> None:
    for machine, (isa, flavour) in itertools.product(_MACHINES, _FLAVOURS):
        rows = store.connection.execute(
            "SELECT id FROM runs WHERE machine = ? AND isa = ? AND flavour = ? ORDER BY id LIMIT ?",
            (machine, isa, flavour, _SERIES),
        )
        ids = [run for (run,) in rows]
        store.set_series(f"map/{machine}/{isa}/{flavour}", ids)
        store.set_series(f"table/{machine}/{isa}/{flavour}", ids[:_TABLE])


def _crossovers(store: Store, runs: int) -> None:
    """One for each twenty runs, as a study has."""
    chance = random.Random(2)
    records = []
    for number in range(runs // 20):
        seeds = tuple(CrossoverSeed(seed, chance.uniform(0, 200), 1, 3) for seed in range(1, 6))
        shown = tuple(
            CrossoverRun(chance.randint(1, runs), 1 + place % 4, _LOCKS[1 + place % 2], place, 1.5)
            for place in range(_RUNS_OF_CROSSOVER)
        )
        isa, flavour = _FLAVOURS[number % len(_FLAVOURS)]
        records.append(
            CrossoverRecord(
                machine=_MACHINES[number % len(_MACHINES)],
                isa=isa,
                flavour=flavour,
                engine=engines.DEFAULT,
                workload="lock_sequence",
                axis="cas_latency",
                setting={"fence_latency": number},
                unit="cycles",
                lock_a="tasuki",
                lock_b="reservation",
                low=0,
                high=200,
                tolerance=2,
                verdict="crosses",
                below="tasuki",
                value=seeds[0].value,
                bracket_low=1,
                bracket_high=3,
                runs=shown,
                seeds=seeds,
            )
        )
    store.set_crossovers(records, "map/made_up")
