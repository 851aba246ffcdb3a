"""`lockcross validate`: the embedded engine against gem5, and gem5's latency mechanisms against
what they are told. Everything it runs is stored; the tables and the report are made of that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.errors import LockcrossError
from results.model.cell import Cell
from results.store.store import Store
from sweeps.engines.gem5 import latency as gem5_latency
from sweeps.engines.gem5.engine import MODELS
from sweeps.execution.runner import Runner
from sweeps.experiments.calibrate import Setting, calibrate
from sweeps.experiments.facts import store_isas, store_machines
from sweeps.experiments.plan import load_plan
from sweeps.model.isa import ISAS
from sweeps.model.locks import load_locks

if TYPE_CHECKING:
    pass

PREFIX = "validate_"  # of the plans


@dataclass(frozen=True)
class Bars:
    """What a set must reach: mean and worst error, share of lock pairs in the same order."""

    mean: float | None = None
    worst: float | None = None
    order: float | None = None


# Set -> bars. The plan of a set is sweeps/plans/validate_<set>.toml. No bar is set for O3: what an
# in-order model misses there is a finding.
SETS = {
    "timing_uncontended": Bars(mean=0.03, worst=0.10, order=0.95),
    "timing_contended": Bars(mean=0.15, order=0.95),
    "minor_uncontended": Bars(mean=0.15, order=0.95),
    "o3_uncontended": Bars(),
    "o3_contended": Bars(),
}

LATENCIES = (0, 20, 50, 100, 200)  # cycles, as set, of the latency sweeps
_SWEEP_OPS = ("empty", "store", "cas", "fence", "stop")
_LENGTHS = (1000, 2000)  # iterations, of the comparison of ways to the region of interest
MACHINES = {"timing": "gem5_timing", "minor": "gem5_minor", "o3": "gem5_o3"}


def set_cells(names: Sequence[str]) -> dict[str, list[Cell]]:
    """The cells of each set. Raises LockcrossError for an unknown one."""
    for name in names:
        if name not in SETS:
            raise LockcrossError(f"set {name!r} is unknown; known are {', '.join(SETS)}")
    return {name: load_plan(f"{PREFIX}{name}").cells for name in names}


def latency_settings(models: Sequence[str]) -> list[Setting]:
    """Every latency sweep: each mechanism of each core model, ISA and flavour."""
    found = []
    for (isa, model), mechanisms in gem5_latency.ATOMIC.items():
        if model not in models:
            continue
        for number, mechanism in enumerate(mechanisms):
            label = f"gem5/{model}" + (f"/{mechanism}" if number else "")
            found += [
                Setting(MACHINES[model], isa, flavour, latency, latency, label, latency, _SWEEP_OPS)
                for flavour in ISAS[isa].flavours
                for latency in LATENCIES
            ]
    return found


def region_cells(models: Sequence[str]) -> dict[str, list[Cell]]:
    """Series -> the runs by which the ways to the region of interest are compared."""
    found: dict[str, list[Cell]] = {}
    for isa, model in gem5_latency.ATOMIC:
        if model not in models:
            continue
        ways = ("pc_count",) if isa == "ppc64le" else ("m5", "pc_count")
        found[f"roi/{isa}/{model}"] = [
            Cell(
                engine=f"gem5/{model}/{way}", machine=MACHINES[model], isa=isa,
                flavour=ISAS[isa].flavours[0], lock="tasuki", fence="full", workload="sync",
                parameters={"iterations": length},
            )
            for way in ways
            for length in _LENGTHS
        ]  # fmt: skip
    return found


class Validation:
    """Runs sets, latency sweeps and the comparison of regions, and stores what they show."""

    def __init__(self, store: Store, runner: Runner) -> None:
        self._store = store
        self._runner = runner

    def run(self, names: Sequence[str], latencies: bool) -> None:
        """Raises LockcrossError when gem5 is missing, or a latency sweep fails."""
        cells = set_cells(names)
        models = [m for m in MODELS if any(name.startswith(m) for name in names)]
        everything = [cell for some in cells.values() for cell in some]
        self._runner.run(everything, "validate")
        for name, some in cells.items():
            self._store_series(f"validation/{name}", some)
        self._store_facts(names, everything)
        if latencies:
            for name, some in region_cells(models).items():
                self._store_series(name, some)
            calibrate(self._runner, self._store, latency_settings(models))

    def _store_series(self, name: str, cells: Sequence[Cell]) -> None:
        self._store.set_series(name, [run.id for run in self._runner.run(cells, "validate")])

    def _store_facts(self, names: Sequence[str], cells: Sequence[Cell]) -> None:
        bars = dict(self._store.fact("validation_bars") or {})
        for name in names:
            title = load_plan(f"{PREFIX}{name}").title.removeprefix("Validation: ")
            bars[name] = {"title": title, **vars(SETS[name])}
        self._store.set_fact("validation_bars", bars)
        java = [lock.name for lock in load_locks().values() if lock.java and lock.name != "null"]
        self._store.set_fact("java_locks", {"names": java})
        store_isas(self._store)
        store_machines(self._store, (cell.machine for cell in cells))
