"""The reference engine: the user's own gem5 in SE mode, with gem5-configs/."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.errors import LockcrossError
from sweeps.engines import base
from sweeps.engines.base import Capabilities, Check, Limits, ProcessResult, RunOutcome
from sweeps.engines.gem5 import output as gem5_output
from sweeps.engines.gem5.find import configs_digest, figures_of, find_gem5, probe, script_command
from sweeps.model import workloads
from sweeps.model.cell import Cell
from sweeps.model.cells import arguments
from sweeps.model.isa import ISAS
from sweeps.programs import Mechanisms, Program

# ISA and core model -> mechanisms that work there, the first is the default.
ATOMIC = {
    ("x86_64", "timing"): ("quiesce", "padding"),
    ("x86_64", "minor"): ("sentinel", "quiesce"),
    ("x86_64", "o3"): ("sentinel", "chain"),
    ("aarch64", "timing"): ("quiesce", "padding"),
    ("aarch64", "minor"): ("fu_timing", "sentinel"),
    ("aarch64", "o3"): ("sentinel", "chain"),
    ("ppc64le", "timing"): ("padding",),
    ("ppc64le", "minor"): ("sentinel", "padding"),
}
# POWER has one class for all floating point, so one sentinel.
FENCE = ATOMIC | {("ppc64le", "minor"): ("padding",)}

MODELS = ("timing", "minor", "o3")
# Cycles of one turn of the padding loop by core model, as measured; the calibration of charges
# checks it.
_CYCLES_PER_TURN = {
    "x86_64": (2.0, 10.5, 1.0),
    "aarch64": (2.0, 4.0, 1.0),
    "ppc64le": (1.0, 4.0),
}
_SINGLE_ISSUE_X86 = 12.0  # Minor, which decodes an operation a cycle then


@dataclass(frozen=True)
class Latencies:
    """What a cell sets, by mechanism.

    `mechanisms`: atomic, fence, charge -> mechanism, where something is set; `program`: what the
    program's arguments are (name -> amount); `config`: gem5's (name -> cycles); `chains`:
    atomic, fence -> operations compiled into the program.
    """

    mechanisms: dict[str, str]
    program: dict[str, int]
    config: dict[str, int]
    chains: dict[str, int]

    def built_in(self) -> Mechanisms:
        """What the program is built with. Functional-unit timing needs nothing there."""
        built: dict[str, Any] = {k: v for k, v in self.mechanisms.items() if v != "fu_timing"}
        built |= {f"{kind}_chain": length for kind, length in self.chains.items()}
        return Mechanisms(**built)


def mechanism(kind: str, isa: str, model: str, forced: str) -> str:
    """The mechanism of `atomic` or `fence`: the forced one where it works, else the default."""
    works = (ATOMIC if kind == "atomic" else FENCE)[isa, model]
    return forced if forced in works else works[0]


def cycles_per_turn(isa: str, model: str, width: int) -> float:
    """Cycles of one turn of the padding loop on a core of that width."""
    if (isa, model, width) == ("x86_64", "minor", 1):
        return _SINGLE_ISSUE_X86
    return _CYCLES_PER_TURN[isa][MODELS.index(model)]


def latencies(
    cell: Cell, model: str, forced: str, charges: dict[str, int], width: int
) -> Latencies:
    """The mechanisms of a cell and their amounts. `charges`: kind -> cycles of the machine;
    `width`: that of its core."""
    where = (cell.isa, model)
    turn = cycles_per_turn(*where, width)
    mechanisms: dict[str, str] = {}
    program: dict[str, int] = {}
    config: dict[str, int] = {}
    chains: dict[str, int] = {}
    for kind, cycles in (("atomic", cell.cas_latency), ("fence", cell.fence_latency)):
        if cycles is None:
            continue
        chosen = mechanism(kind, *where, forced)
        mechanisms[kind] = chosen
        if chosen == "quiesce":
            program[f"latency_{kind}"] = cycles
        elif chosen == "chain":
            chains[kind] = cycles
        elif chosen == "padding":
            program[f"latency_{kind}"] = round(cycles / turn)
        elif chosen == "sentinel":
            config[f"sentinel_{kind}"] = max(1, cycles)
        elif cycles:
            config[f"fu_{kind}"] = cycles
    if any(charges.values()):
        mechanisms["charge"] = "padding"
        program |= {f"latency_{name}": round(n / turn) for name, n in charges.items()}
    return Latencies(mechanisms, program, config, chains)


MECHANISMS = ("quiesce", "sentinel", "padding", "chain", "fu_timing")
ROIS = ("m5", "pc_count")
MAX_CORES = 64
_CHARGES = "charge_"
_FEWEST_COUNTERS = 2  # of gem5's LocalBP


class Gem5Engine(base.Engine):
    """Runs cells under gem5 with one core model; `gem5/<model>[/<mechanism>][/<roi>]`.

    Raises LockcrossError (exit code 2) for a label that names none.
    """

    time_limit_s = 1800.0

    def __init__(self, label: str) -> None:
        _, *parts = label.split("/")
        if not parts or parts[0] not in MODELS:
            raise LockcrossError(
                f"engine {label!r} has no known core model; known are "
                f"{', '.join(f'gem5/{model}' for model in MODELS)}"
            )
        self.name = label
        self.model, *variants = parts
        self._base = f"gem5/{self.model}"
        self._mechanism = self._roi = ""
        for variant in variants:
            if variant in MECHANISMS and not self._mechanism:
                self._mechanism = variant
            elif variant in ROIS and not self._roi:
                self._roi = variant
            else:
                raise LockcrossError(
                    f"engine {label!r}: {variant!r} is unknown or one too many; allowed are one of "
                    f"{', '.join(MECHANISMS)} and one of {', '.join(ROIS)}"
                )

    def version(self, isa: str) -> str:
        """gem5's version and a digest of gem5-configs/."""
        return f"gem5 {find_gem5(isa).version}, gem5-configs {configs_digest()}"

    def capabilities(self) -> Capabilities:
        """Every ISA, a simulated core a thread; the probe says what holds of a given gem5."""
        return Capabilities(
            tuple(ISAS), MAX_CORES, tables=("core", "memory", "latency", "charges"),
            unread=("switch",),
        )  # fmt: skip

    def refuses(self, cell: Cell) -> str:
        """Why it cannot answer a cell honestly, or nothing. Raises LockcrossError without gem5."""
        where = f"gem5's {self.model} core for {ISAS[cell.isa].title}"
        gem5 = find_gem5(cell.isa)
        if self.model not in gem5.models[cell.isa]:
            return f"isa: {cell.isa}: this gem5 has no {self.model} core for it"
        shown = probe(gem5, cell.isa, self.model)
        if shown.alone:
            return f"isa: {cell.isa}: {where} is unusable: {shown.alone}"
        if cell.threads > 1 and shown.together:
            return f"threads: {cell.threads}: atomics are not atomic across cores: {shown.together}"
        return self._misfit(cell, where)

    def _misfit(self, cell: Cell, where: str) -> str:
        """Why label or machine do not fit the core model, or nothing."""
        known = ATOMIC.get((cell.isa, self.model), ())
        figures = figures_of(cell.machine, cell.isa)
        if not known:
            return f"isa: {cell.isa}: no latency mechanism is known for {where}"
        if self._mechanism and self._mechanism not in known:
            return f"engine: {self.name}: {where} supports only {', '.join(known)}"
        if self._roi == "m5" and cell.isa == "ppc64le":
            return f"isa: {cell.isa}: gem5 has no m5 operations on this ISA"
        if self.model != "timing" and not figures["store_buffer"]:
            return f"machine: {cell.machine}: {where} needs a store buffer, the machine has none"
        if self.model != "timing" and figures["predictor_entries"] < _FEWEST_COUNTERS:
            return f"machine: {cell.machine}: {where} needs {_FEWEST_COUNTERS} predictor_entries"
        return ""

    def _latencies(self, cell: Cell) -> Latencies:
        figures = figures_of(cell.machine, cell.isa)
        charges = {
            name.removeprefix(_CHARGES): cycles
            for name, cycles in figures.items()
            if name.startswith(_CHARGES)
        }
        if cell.cancel_latency is not None:
            charges["stop"] = cell.cancel_latency
        return latencies(cell, self.model, self._mechanism, charges, figures["width"])

    def _roi_of(self, cell: Cell) -> str:
        return self._roi or ("pc_count" if cell.isa == "ppc64le" else "m5")

    def options(self, cell: Cell) -> dict[str, int | str]:
        """The machine's figures, the mechanisms of set latencies, the method for the region."""
        added = self._latencies(cell)
        options: dict[str, int | str] = dict(figures_of(cell.machine, cell.isa))
        options |= {f"mechanism_{kind}": name for kind, name in added.mechanisms.items()}
        options |= {**added.program, **added.config}
        return options | {"model": self.model, "roi": self._roi_of(cell)}

    def program(self, cell: Cell) -> Program:
        """The program, with its mechanisms where a latency is set."""
        return Program.of(cell, self._latencies(cell).built_in())

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        """The gem5 command. The instruction limit is used as a cycle limit."""
        added, roi = self._latencies(cell), self._roi_of(cell)
        figures = figures_of(cell.machine, cell.isa)
        figures = {name: n for name, n in figures.items() if not name.startswith(_CHARGES)}
        phases = workloads.phases(cell.workload, cell.parameters)
        more = [f"--roi={roi}", f"--limit={limits.instructions}", f"--phases={phases}"]
        more += [f"--latency={name}={cycles}" for name, cycles in sorted(added.config.items())]
        command = script_command(
            find_gem5(cell.isa), cell.isa, self.model, cell.threads, figures, more
        )
        amounts = [f"{name}={amount}" for name, amount in sorted(added.program.items())]
        marker = "marker=m5" if roi == "m5" else "marker=watch"
        return [*command, str(binary), *arguments(cell), *amounts, marker]

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        """What a run said, from its exit, the program's line and the script's report."""
        mechanisms = self._latencies(cell).mechanisms
        return gem5_output.read(cell, limits, end, folder, mechanisms)

    def mechanisms(self, isa: str) -> list[str]:
        """The default mechanism's label, then that of each other one that works on the core."""
        known = ATOMIC.get((isa, self.model), ())
        return [self._base + (f"/{name}" if number else "") for number, name in enumerate(known)]

    def regions(self, isa: str) -> list[str]:
        """By m5 operations, where the ISA has them, and by counting a program counter."""
        if (isa, self.model) not in ATOMIC:
            return []  # a core that is refused
        return [f"{self._base}/{name}" for name in ROIS if name != "m5" or isa != "ppc64le"]

    def doctor(self) -> list[Check]:
        """gem5 for each ISA, and what the probe shows of each core model."""

        def checks(isa: str) -> Iterator[Check]:
            gem5 = find_gem5(isa)
            yield Check(f"gem5 for {isa}", True, f"{gem5.version} ({gem5.path})")
            for model in gem5.models[isa]:
                shown = probe(gem5, isa, model)
                well = "threads start, atomics work across cores"
                yield base.judged(f"gem5/{model} for {isa}", shown, well)

        return [
            check for isa in ISAS for check in base.unless_missing(f"gem5 for {isa}", checks(isa))
        ]


make = Gem5Engine
