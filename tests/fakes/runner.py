"""Runners that answer cells from a cost model, without an engine."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache

from results.store.records import StoredRun
from results.store.store import Store
from sweeps.model.cell import Cell, arguments, command, digest
from sweeps.model.isa import ISAS
from sweeps.model.machine import load_machine
from sweeps.run.runner import Runner
from tests.fakes.costs import costs
from tests.fakes.records import record


class FakeRunner(Runner, ABC):
    """Stores an answer for each cell that is new; `made` counts them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.made = 0

    def identity(self, cell: Cell) -> str:
        return digest([cell.engine, command(cell)])

    @abstractmethod
    def answer(self, cell: Cell) -> Mapping[str, object]:
        """Return the fields of the run that are not the cell's."""

    def run(self, cells: Sequence[Cell], plan: str) -> list[StoredRun]:
        names = [self.identity(cell) for cell in cells]
        known = self._store.find(names)
        for name, cell in dict(zip(names, cells, strict=True)).items():
            if name not in known:
                self.made += 1
                axes = vars(cell) | {"parameters": dict(cell.parameters)}
                self._store.add_run(record(name, **axes, **self.answer(cell)), plan)
        known = self._store.find(names)
        return [known[name] for name in names]


class ModelRunner(FakeRunner):
    """Costs as in `costs`. Each seed but the first makes tasuki a cycle dearer; reservation pays a
    cancellation for each object that changes hands. A failing lock fails."""

    def __init__(self, store: Store, failing: str = "") -> None:
        super().__init__(store)
        self._failing = failing

    def identity(self, cell: Cell) -> str:
        fixed = [cell.lock, cell.fence, cell.flavour, cell.workload, arguments(cell)]
        return digest([_options(cell), *fixed])

    def answer(self, cell: Cell) -> Mapping[str, object]:
        options = _options(cell)
        if cell.lock == self._failing:
            failed = {"status": "failed", "cause": "made to fail", "metrics": {}}
            return {"resolved": options, **failed}
        return {"resolved": options, "metrics": _metrics(cell, options)}


@cache
def _figures(machine: str, isa: str) -> dict[str, int]:
    return {name: figure.number for name, figure in load_machine(machine).figures(isa).items()}


def _options(cell: Cell) -> dict[str, int]:
    """Return the machine's figures, but for the latencies that the cell sets."""
    given = {
        "cas_success": cell.cas_latency,
        ISAS[cell.isa].full_fence: cell.fence_latency,
        "charge_stop_running": cell.cancel_latency,
    }
    return _figures(cell.machine, cell.isa) | {k: v for k, v in given.items() if v is not None}


def _metrics(cell: Cell, options: dict[str, int]) -> dict[str, tuple[float, str]]:
    cas, full = options["cas_success"], options[ISAS[cell.isa].full_fence]
    kinds = {"rmw": cas, "lock_add": cas + 1, "store_forward": 12, "membarrier": 1}
    if cell.workload == "calibrate":
        each = {"empty": 0, "cas": cas + 3, "fence": full + 2}
        turn = 10 + each.get(str(cell.parameters["op"]), 1)
        if cell.parameters["op"] == "fence":
            turn += 1  # the store that it is compared with
        total = turn * int(cell.parameters["iterations"])
        return {"cycles": (total, "cycles"), "charges_stop": (0, "count")}
    objects, pairs, shared = _work(cell)
    # The locks of runtimes pay a CAS.
    per_pair = costs(cas, kinds.get(cell.fence, full)).get(cell.lock, 50 + cas)
    per_pair += (cell.seed - 1) * (cell.lock == "tasuki")
    per_pair += int(cell.parameters.get("critical", 0)) + int(cell.parameters.get("think", 0))
    stops = objects * shared * (cell.lock == "reservation")
    cycles = pairs * per_pair + stops * options["charge_stop_running"]
    metrics = {
        "core_cycles": (cycles, "cycles"),
        "pairs": (pairs, "pairs"),
        "cycles_per_pair": (cycles / pairs, "cycles/pair"),
        "charges_stop": (stops, "count"),
    }
    if cell.workload == "rounds":
        rounds = range(1, int(cell.parameters["rounds"]) + 1)
        metrics |= {f"phase_{n}_cycles": (per_pair * n, "cycles") for n in rounds}
    return metrics


def _work(cell: Cell) -> tuple[int, int, bool]:
    """Return objects, pairs, and whether objects change hands."""
    keys = {name: int(n) for name, n in cell.parameters.items() if not isinstance(n, str)}
    objects = keys.get("objects", 1)
    if cell.workload == "lock_use":
        each = keys["first"] + keys["turns"] * keys["run_length"] + keys["after"]
        return objects, objects * each, keys["turns"] > 0
    if cell.workload == "random_threads":
        return 1, cell.threads * keys["iterations"], False
    runs = keys.get("runs", keys.get("rounds", 1))
    return objects, objects * runs * keys.get("run_length", 1), keys.get("owner_share", 0) < 10**6
