"""Validation: a candidate engine against reference engines, and the references' latency mechanisms
against the latencies that are set. A file of sweeps/plans/validations names the engines, the cells
and the bars. Every run is stored; tables and report are made from the store."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines import load_engine
from sweeps.model.axes import MAX_LATENCY
from sweeps.model.cell import Cell
from sweeps.model.cells import unsupported_reason
from sweeps.model.engines import DEFAULT
from sweeps.model.isa import ISAS
from sweeps.model.locks import load_locks
from sweeps.model.machine import HOST, machine_names
from sweeps.plans import VALIDATIONS
from sweeps.plans.sweep import load_plan
from sweeps.questions.validate import answer
from sweeps.questions.validate.answer import ALL_ISAS
from sweeps.questions.validate.latency import SLOPES, SlopeBar
from sweeps.run.runner import Runner
from sweeps.search.calibrate import Setting, calibrate
from sweeps.search.facts import store_isas, store_machines
from sweeps.support.toml import Document

_SWEEP_OPS = ("empty", "store", "cas", "fence", "stop")
_CANDIDATE_OPS = _SWEEP_OPS[:-1]  # its charges are what is set
Share = Annotated[float, Field(ge=0, le=1)]


class Set(Document):
    """Cells of a plan on the candidate and one reference, and the bars: mean and worst error, share
    of lock pairs in the same order, and above which lead the reference's cheapest lock is to be the
    candidate's; None: no bar. `each_isa`: they hold for each ISA by itself.
    `known`: which bars are missed (`runs`: that none fails), by ISA, or `all`; `missed`: why, to be
    said where one is."""

    name: str = Field(min_length=1)
    reference: str
    plan: str
    mean: Annotated[float, Field(ge=0)] | None = None
    worst: Annotated[float, Field(ge=0)] | None = None
    order: Share | None = None
    lead: Annotated[float, Field(ge=0)] | None = None
    each_isa: bool = False
    known: dict[str, list[Literal["mean", "worst", "order", "lead", "runs"]]] = {}
    missed: str = ""

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.known and not self.missed:
            raise ValueError("known: say in `missed` why these bars are missed")
        if unknown := [isa for isa in self.known if isa not in (*ISAS, ALL_ISAS)]:
            raise ValueError(f"known: {unknown[0]!r} is no ISA, nor {ALL_ISAS!r}")
        bars = {bar for some in self.known.values() for bar in some} - {"runs"}
        if none := sorted(bar for bar in bars if vars(self)[bar] is None):
            raise ValueError(f"known: there is no bar {none[0]!r}")
        return self


class Mechanisms(Document):
    """Sweeps of every mechanism that sets a latency (`latencies`: cycles, as set), and runs of two
    `lengths` (iterations) by every method of finding the region of interest. `machines`: reference
    -> the machine that describes it. `slope`: by how much the candidate's slope of measured over
    set latency may differ from a reference's, relative to that; None: no bar, and the candidate has
    no sweeps."""

    latencies: Annotated[list[Annotated[int, Field(ge=0, le=MAX_LATENCY)]], Field(min_length=2)]
    lengths: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)]
    machines: dict[str, str]
    slope: Annotated[float, Field(ge=0)] | None = None


class Definition(Document):
    """One file of sweeps/plans/validations."""

    title: str = Field(min_length=1)
    candidate: str = DEFAULT
    set: list[Set] = Field(min_length=1)
    mechanisms: Mechanisms | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        machines = self.mechanisms.machines if self.mechanisms else {}
        for engine in (self.candidate, *(one.reference for one in self.set), *machines):
            try:
                load_engine(engine)
            except LockcrossError as error:
                raise ValueError(error.message) from None
        if unknown := [one for one in machines.values() if one not in machine_names()]:
            raise ValueError(f"mechanisms.machines: {unknown[0]!r} is unknown")
        if len({one.name for one in self.set}) != len(self.set):
            raise ValueError("set: two sets have one name")
        return self


def load_validation(name: str) -> Definition:
    """Reads sweeps/plans/validations/<name>.toml.

    Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
    """
    return VALIDATIONS.load(Definition, name)


def chosen_sets(definition: Definition, wanted: Sequence[str]) -> list[Set]:
    """The sets of these names, all for none. Raises LockcrossError for an unknown one."""
    known = [one.name for one in definition.set]
    if unknown := [name for name in wanted if name not in known]:
        raise LockcrossError(f"set {unknown[0]!r} is unknown; known are {', '.join(known)}")
    return [one for one in definition.set if one.name in (wanted or known)]


def host_machine(sets: Sequence[Set], machine: str = "") -> str:
    """The machine that describes the host, where it is a reference of these sets: `machine`, or the
    latest that was measured on it; else nothing.

    Raises LockcrossError when none does, or not `machine`.
    """
    machines = (load_engine(one.reference).capabilities().host_machines for one in sets)
    on_host = next((some for some in machines if some is not None), None)
    if on_host is None:
        return ""
    known = [name for name in on_host if name != HOST]
    if not known or machine not in ("", *known):
        there = f"known are {', '.join(known)}" if known else "./lockcross measure NAME makes one"
        raise LockcrossError(f"machine {machine or HOST}: does not describe this host; {there}")
    return machine or known[0]


def cells_of(one: Set, machine: str = "", seeds: int = 1) -> list[Cell]:
    """The cells of a set, each with so many seeds. Where its reference is the host, those that the
    host can run, on the machine that describes it.

    Raises LockcrossError when the plan is faulty, and as host_machine does.
    """
    cells = [
        replace(cell, seed=cell.seed + more)
        for cell in load_plan(one.plan).cells
        for more in range(seeds)
    ]
    described = host_machine([one], machine)
    if not described:
        return cells
    can = load_engine(one.reference).capabilities()
    here = [replace(cell, machine=described) for cell in cells]
    runnable = [cell for cell in here if not unsupported_reason(cell)]
    return [c for c in runnable if c.isa in can.isas and c.threads <= can.max_cores]


def latency_settings(definition: Definition, sets: Sequence[Set]) -> list[Setting]:
    """Every latency sweep: each mechanism of each reference of the sets, ISA and flavour, and where
    the slopes have a bar the candidate beside them."""
    found = []
    for reference, machine in _machines(definition, sets):
        assert definition.mechanisms is not None
        beside = () if definition.mechanisms.slope is None else (definition.candidate,)
        for isa in ISAS.values():
            labels = load_engine(reference).mechanisms(isa.name)
            found += [
                Setting(machine, isa.name, flavour, cycles, cycles, label, cycles, ops)
                for label, ops in (
                    *((label, _SWEEP_OPS) for label in labels),
                    *((label, _CANDIDATE_OPS) for label in beside if labels),
                )
                for flavour in isa.flavours
                for cycles in definition.mechanisms.latencies
            ]
    return found


def region_cells(definition: Definition, sets: Sequence[Set]) -> dict[str, list[Cell]]:
    """Series -> the runs by which the methods of finding the region of interest are compared."""
    found: dict[str, list[Cell]] = {}
    for reference, machine in _machines(definition, sets):
        assert definition.mechanisms is not None
        for isa in ISAS.values():
            labels = load_engine(reference).regions(isa.name)
            if labels:
                found[f"roi/{isa.name}/{reference}"] = [
                    Cell(
                        engine=label, machine=machine, isa=isa.name, flavour=isa.flavours[0],
                        lock="tasuki", workload="sync", parameters={"iterations": length},
                    )
                    for label in labels
                    for length in definition.mechanisms.lengths
                ]  # fmt: skip
    return found


def _machines(definition: Definition, sets: Sequence[Set]) -> list[tuple[str, str]]:
    """The references of the sets whose mechanisms are looked at, with their machines."""
    machines = definition.mechanisms.machines if definition.mechanisms else {}
    references = dict.fromkeys(one.reference for one in sets)
    return [(one, machines[one]) for one in references if one in machines]


class Validation:
    """Runs sets, latency sweeps and the comparison of regions, and stores what they show.

    `machine`: that describes the host, where a reference is the host ("": see cells_of); `seeds`:
    of each cell."""

    def __init__(
        self, definition: Definition, store: Store, runner: Runner, machine: str = "",
        seeds: int = 1,
    ) -> None:  # fmt: skip
        self._definition = definition
        self._machine, self._seeds = machine, seeds
        self._store = store
        self._runner = runner

    def run(self, sets: Sequence[Set], mechanisms: bool) -> None:
        """Raises LockcrossError when an engine is missing, or a latency sweep fails."""
        cells = {one.name: cells_of(one, self._machine, self._seeds) for one in sets}
        everything = [cell for some in cells.values() for cell in some]
        self._runner.run(everything, "validate")
        for name, some in cells.items():
            self._store_series(f"validation/{name}", some)
        self._store_facts(sets)
        store_machines(self._store, (cell.machine for cell in everything))
        if mechanisms:
            for name, some in region_cells(self._definition, sets).items():
                self._store_series(name, some)
            settings = latency_settings(self._definition, sets)
            calibrate(self._runner, self._store, settings)
            self._store_slopes()

    def _store_series(self, name: str, cells: Sequence[Cell]) -> None:
        self._store.set_series(name, [run.id for run in self._runner.run(cells, "validate")])

    def _store_slopes(self) -> None:
        mechanisms = self._definition.mechanisms
        if mechanisms and mechanisms.slope is not None:
            SLOPES.write(self._store, SlopeBar(self._definition.candidate, mechanisms.slope))

    def _store_facts(self, sets: Sequence[Set]) -> None:
        bars = dict(answer.BARS.optional(self._store.connection) or {})
        for one in sets:
            title = load_plan(one.plan).title.removeprefix("Validation: ")
            bars[one.name] = answer.Bars(
                title, self._definition.candidate, one.mean, one.worst, one.order, one.lead,
                one.each_isa, {isa: [*some] for isa, some in one.known.items()}, one.missed,
            )  # fmt: skip
        answer.BARS.write(self._store, bars)
        java = [lock.name for lock in load_locks().values() if lock.java and lock.name != "null"]
        answer.JAVA_LOCKS.write(self._store, answer.JavaLocks(java))
        store_isas(self._store)
