"""Run a candidate engine against reference engines. A file of sweeps/plans/validations names the
engines, the cells and the bars. Every run is stored; tables and report are made from the store."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import log
from typing import Any, Self

from pydantic import Field, model_validator

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines.base import load_engine
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import Cell, unsupported_reason
from sweeps.model.engines import DEFAULT
from sweeps.model.isa import ISAS
from sweeps.model.locks import Trait, load_locks
from sweeps.model.machine import HOST, load_machine
from sweeps.plans import VALIDATIONS
from sweeps.questions.validate.answer import ALL_ISAS, BARS, JAVA_LOCKS, Bars, JavaLocks, StoredSet
from sweeps.run.runner import Runner
from sweeps.study.calibrate import store_isas, store_machines
from sweeps.study.plan import load_plan
from sweeps.support.toml import Document


class Set(Bars):
    """Cells of a plan on the candidate and one reference, and the bars."""

    name: str = Field(min_length=1)
    reference: str
    plan: str

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.known and not self.missed:
            raise ValueError("known: say in `missed` why these bars are missed")
        if unknown := [axis for axis in self.own if axis not in LATENCIES]:
            raise ValueError(f"own: {unknown[0]!r} is no latency; known are {', '.join(LATENCIES)}")
        if unknown := [isa for isa in self.known if isa not in (*ISAS, ALL_ISAS)]:
            raise ValueError(f"known: {unknown[0]!r} is no ISA, nor {ALL_ISAS!r}")
        bars = {bar for some in self.known.values() for bar in some} - {"runs"}
        if none := sorted(bar for bar in bars if vars(self)[bar] is None):
            raise ValueError(f"known: there is no bar {none[0]!r}")
        return self


class Definition(Document):
    """One file of sweeps/plans/validations."""

    title: str = Field(min_length=1)
    candidate: str = DEFAULT
    # The candidate with its cores far from one another, for cells whose reference had its CPUs so.
    far: str = ""
    set: list[Set] = Field(min_length=1)

    @model_validator(mode="after")
    def _known(self) -> Self:
        named = (self.candidate, *filter(None, [self.far]))
        for engine in (*named, *(judged.reference for judged in self.set)):
            try:
                load_engine(engine)
            except LockcrossError as error:
                raise ValueError(error.message) from None
        if len({judged.name for judged in self.set}) != len(self.set):
            raise ValueError("set: two sets have one name")
        return self


def load_validation(name: str) -> Definition:
    """Read sweeps/plans/validations/<name>.toml.

    Raises LockcrossError (exit code 2) that names file, key, value and the allowed ones.
    """
    return VALIDATIONS.load(Definition, name)


def chosen_sets(definition: Definition, wanted: Sequence[str]) -> list[Set]:
    """Return the sets of these names, all for none. Raises LockcrossError for an unknown one."""
    known = [judged.name for judged in definition.set]
    if unknown := [name for name in wanted if name not in known]:
        raise LockcrossError(f"set {unknown[0]!r} is unknown; known are {', '.join(known)}")
    return [judged for judged in definition.set if judged.name in (wanted or known)]


def host_machine(references: Iterable[str], machine: str = "") -> str:
    """Return the machine that describes the host, where it is one of these engines: `machine`, or
    the latest that was measured on it; else nothing.

    Raises LockcrossError when none does, or not `machine`.
    """
    machines = (load_engine(reference).capabilities().host_machines for reference in references)
    on_host = next((some for some in machines if some is not None), None)
    if on_host is None:
        return ""
    known = [name for name in on_host if name != HOST]
    if not known or machine not in ("", *known):
        there = f"known are {', '.join(known)}" if known else "./lockcross measure NAME makes one"
        raise LockcrossError(f"machine {machine or HOST}: does not describe this host; {there}")
    return machine or known[0]


def cells_of(judged: Set, machine: str = "", seeds: int = 1) -> list[Cell]:
    """Return the cells of a set, each with so many seeds. Where its reference is the host, those
    that the host can run, on the machine that describes it.

    Raises LockcrossError when the plan is faulty, and as host_machine does.
    """
    planned = itertools.product(load_plan(judged.plan).cells, range(seeds))
    cells = [replace(cell, seed=cell.seed + more) for cell, more in planned]
    described = host_machine([judged.reference], machine)
    if not described:
        return cells
    can = load_engine(judged.reference).capabilities()
    here = [replace(cell, machine=described) for cell in cells]
    runnable = [cell for cell in here if not unsupported_reason(cell)]
    return [c for c in runnable if c.isa in can.isas and c.threads <= can.max_cores]


# A cell on the host, without its engine -> cycles of a hand-over between its CPUs in that run.
Apart = Mapping[Cell, float]


def _as_placed(
    definition: Definition, cells: Sequence[Cell], apart: Apart, runner: Runner
) -> list[Cell]:
    """Return the cells, the candidate's with its cores as far from one another as the host's CPUs
    were: a hypervisor moves these. A hand-over by workload transfer tells near from far."""
    labels = (definition.candidate, definition.far)
    takes: dict[tuple[str, str, str], tuple[float | None, ...]] = {}

    def nearest(cell: Cell) -> str:
        handover = apart.get(replace(cell, engine=""))
        if handover is None or cell.engine != definition.candidate:
            return cell.engine
        place = cell.machine, cell.isa, cell.flavour
        if place not in takes:
            takes[place] = tuple(_handover_on(label, place, runner) for label in labels)
        by_distance = {
            abs(log(handover / cycles)): label
            for label, cycles in zip(labels, takes[place], strict=True)
            if cycles
        }
        return by_distance[min(by_distance)]

    return [replace(cell, engine=nearest(cell)) for cell in cells]


def _handover_on(label: str, place: tuple[str, str, str], runner: Runner) -> float | None:
    """Return cycles of a hand-over between two cores of an engine; None where it refuses that
    machine."""
    machine, isa, flavour = place
    cell = Cell(
        engine=label,
        machine=machine,
        isa=isa,
        flavour=flavour,
        lock="nop",
        workload="transfer",
        threads=2,
        parameters={"op": "store", "iterations": 1000},
    )
    cost = runner.run([cell], "validate")[0].metrics.get("cycles_per_pair")
    return None if cost is None else cost / 2


def own_latencies(judged: Set, cell: Cell) -> Mapping[str, Any]:
    """Return the latencies that the candidate's cell sets and the reference's leaves unset. An
    owner that waits for the others of its round is blocked in a JVM; in these programs it looks for
    them, so a signal to it interrupts a thread that runs."""
    if not judged.own or not load_locks()[cell.lock].has(Trait.BY_SIGNAL, cell.variant):
        return judged.own
    machine = load_machine(cell.machine)
    signal = machine.measured.get("stop_signal_running")
    running = machine.charges.number("stop_running")
    return {"cancel_latency": running if signal is None else round(signal.value)}


def run(
    definition: Definition,
    sets: Sequence[Set],
    store: Store,
    runner: Runner,
    machine: str = "",
    seeds: int = 1,
) -> None:
    """Run sets and store their results. `machine`: that describes the host, where a reference is
    the host ("": see cells_of); `seeds`: of each cell.

    Raises LockcrossError when an engine is missing.
    """

    def run_series(name: str, cells: Sequence[Cell]) -> None:
        store.set_series(name, [run.id for run in runner.run(cells, "validate")])

    cells = {judged.name: cells_of(judged, machine, seeds) for judged in sets}
    if definition.far:
        known = list(itertools.chain(*cells.values()))
        references = [cell for cell in known if cell.engine != definition.candidate]
        runs = zip(references, runner.run(references, "validate"), strict=True)
        apart = {
            replace(cell, engine=""): done.metrics["handover"]
            for cell, done in runs
            if "handover" in done.metrics
        }
        cells = {name: _as_placed(definition, some, apart, runner) for name, some in cells.items()}
    for judged in sets:
        cells[judged.name] = [
            cell
            if cell.engine == judged.reference
            else replace(cell, **own_latencies(judged, cell))
            for cell in cells[judged.name]
        ]
    everything = list(itertools.chain(*cells.values()))
    runner.run(everything, "validate")
    bars = dict(BARS.optional(store.connection) or {})
    for judged in sets:
        run_series(f"validation/{judged.name}", cells[judged.name])
        title = load_plan(judged.plan).title.removeprefix("Validation: ")
        held = judged.model_dump(include=set(Bars.model_fields))
        bars[judged.name] = StoredSet(title=title, candidate=definition.candidate, **held)
    BARS.write(store, bars)
    java = [lock.name for lock in load_locks().values() if lock.java]
    JAVA_LOCKS.write(store, JavaLocks(java))
    store_isas(store)
    store_machines(store, (cell.machine for cell in everything))
