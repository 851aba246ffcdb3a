"""A large database that is made up, for measurements: it has the shape of a large study, and its
numbers are those of a reference database's runs, varied."""

import itertools
import json
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from results.paths import REFERENCE
from results.store.records import (
    CrossoverRecord,
    CrossoverRun,
    CrossoverSeed,
    MachineRecord,
    RunRecord,
)
from results.store.store import Store
from sweeps.model import engines

_MODEL = REFERENCE / "native_granite_rapids.db"
_MACHINES = ("generic", "generic_inorder", "skylake", "zen4", "power9", "neoverse_n1")
_FLAVOURS = (("x86_64", "lock"), ("ppc64le", "larx"), ("aarch64", "lse"), ("aarch64", "llsc"))
_LOCKS = ("thin", "tasuki", "reservation", "asym_tasuki", "asym_spin1", "mcs", "cas_spin", "tnp")
_SERIES = 20_000  # runs of the map of each machine and flavour, at most
_TABLE = 8  # runs of each winner table
_CHUNK = 10_000  # runs in a transaction
_RUNS_OF_CROSSOVER = 24
_PLAN = {
    "title": "Made up", "machine": "generic", "flavours": [flavour for _, flavour in _FLAVOURS],
    "beside": list(_MACHINES[1:]), "seeds": 5, "tie_percent": 2.0, "limits": {},
    "locks": list(_LOCKS[1:4]), "table_locks": ["thin"],
    "map": {"threads": 2, "tolerance": 2, "parameters": {}},
}  # fmt: skip


@dataclass(frozen=True)
class _Model:
    resolved: dict[str, int | str]
    metrics: dict[str, tuple[float, str]]
    command: str


def fill(path: Path, runs: int) -> None:
    """Makes the database at `path`, the same for the same number of runs."""
    with Store(path) as store:
        store.connection.execute("PRAGMA synchronous = OFF")
        store.set_fact("plan", _PLAN)
        for machine in _MACHINES:
            store.set_machine(MachineRecord(machine, machine, {"latency": {}}))
        made = _runs(runs, _models())
        while chunk := list(itertools.islice(made, _CHUNK)):
            store.add_runs(chunk, "made_up")
        _series(store)
        _crossovers(store, runs)


def _models() -> list[_Model]:
    with Store(_MODEL, read_only=True) as store:
        connection: sqlite3.Connection = store.connection
        found = connection.execute(
            "SELECT id, resolved, command FROM runs JOIN resolved ON run_id = id "
            "WHERE status = 'ok' AND workload = 'lock_sequence' AND engine = ? ORDER BY id",
            (engines.DEFAULT,),
        ).fetchall()
        metrics = "SELECT name, value, unit FROM metrics WHERE run_id = ?"
        return [
            _Model(
                json.loads(resolved),
                {name: (value, unit) for name, value, unit in connection.execute(metrics, (run,))},
                command,
            )
            for run, resolved, command in found
        ]


def _runs(number: int, models: list[_Model]) -> Iterator[RunRecord]:
    chance = random.Random(1)
    axes = itertools.product(
        range(0, 10**6, 4), range(0, 20_000, 5_000), (1, 2, 3, 4, 5), _MACHINES, _FLAVOURS, _LOCKS
    )
    for cas, cancel, seed, machine, (isa, flavour), lock in itertools.islice(axes, number):
        model = chance.choice(models)
        parameters = {"objects": 1, "owner_share": 900_000, "run_length": 10 + cas % 7, "runs": 100}
        settings: dict[str, int | str] = {
            "cas_success": cas, "charge_stop": cancel, "seed": seed,
            "lat_memory": 100 + len(machine), "l1_size": 1024 * len(flavour), "machine": machine,
        }  # fmt: skip
        failed = chance.random() < 0.005
        yield RunRecord(
            identity=f"{chance.getrandbits(256):064x}", engine=engines.DEFAULT,
            engine_version=f"0.1.0+{'e' * 37}", machine=machine, isa=isa, flavour=flavour,
            lock=lock, variant="", fence="full", workload="lock_sequence",
            parameters=parameters, threads=2, cores=None, cas=cas, fence_latency=30,
            cancel=cancel, seed=seed,
            status="failed" if failed else "ok", cause="time limit" if failed else "", output="",
            command=f"{model.command} --cas-latency {cas} --cancel-latency {cancel}",
            started=f"2026-01-01T00:00:00.{seed:06}", duration_s=chance.random(), attempts=1,
            binary_digest=f"{len(lock) * 7919:064x}", source_revision="f" * 40,
            compiler="x86_64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0",
            resolved=models[0].resolved | settings,
            metrics={} if failed else _varied(model, chance.uniform(0.5, 1.5)),
        )  # fmt: skip


def _varied(model: _Model, factor: float) -> dict[str, tuple[float, str]]:
    """The model's metrics times a factor, whole numbers kept whole."""
    return {
        name: (round(value * factor) if value == int(value) else value * factor, unit)
        for name, (value, unit) in model.metrics.items()
    }


def _series(store: Store) -> None:
    for machine, (isa, flavour) in itertools.product(_MACHINES, _FLAVOURS):
        ids = [
            run
            for (run,) in store.connection.execute(
                "SELECT id FROM runs WHERE machine = ? AND isa = ? AND workload = 'lock_sequence' "
                "AND flavour = ? ORDER BY id LIMIT ?",
                (machine, isa, flavour, _SERIES),
            )
        ]
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
                machine=_MACHINES[number % len(_MACHINES)], isa=isa, flavour=flavour,
                engine=engines.DEFAULT, workload="lock_sequence", axis="cas",
                setting={"fence_latency": number},
                unit="cycles", lock_a="tasuki", lock_b="reservation", low=0, high=200, tolerance=2,
                verdict="crosses", below="tasuki", value=seeds[0].value, bracket_low=1,
                bracket_high=3, runs=shown, seeds=seeds,
            )
        )  # fmt: skip
    store.set_crossovers(records, "map/made_up")
