"""The reference engine: the user's own gem5 in SE mode, with gem5-configs/."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.errors import LockcrossError
from sweeps.engines import base
from sweeps.engines.base import Capabilities, Limits, PartCheck, ProcessResult, RunOutcome
from sweeps.engines.gem5 import output
from sweeps.engines.gem5.find import (
    CHARGES,
    UNREAD_CHARGES,
    configs_digest,
    figures_of,
    find_gem5,
    probe,
    script_command,
)
from sweeps.model import workloads
from sweeps.model.cell import Cell, arguments
from sweeps.model.isa import ISAS
from sweeps.model.locks import MEMBARRIER
from sweeps.model.machine import STOPS, load_machine
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
# Cycles of one turn of the padding loop by ISA and core model, as measured; the calibration of
# charges checks it.
CYCLES_PER_TURN = {
    ("x86_64", "timing"): 2.0,
    ("x86_64", "minor"): 10.5,
    ("x86_64", "o3"): 1.0,
    ("aarch64", "timing"): 2.0,
    ("aarch64", "minor"): 4.0,
    ("aarch64", "o3"): 1.0,
    ("ppc64le", "timing"): 1.0,
    ("ppc64le", "minor"): 4.0,
}
_SINGLE_ISSUE_X86 = 12.0  # Minor, which decodes an operation a cycle then


LATENCIES = ("cas_latency", "fence_latency", "cancel_latency")  # axes of a cell that it can set


@dataclass(frozen=True)
class Latencies:
    """The latencies that a cell sets, by mechanism.

    `mechanisms`: atomic, fence, charge -> mechanism, where something is set; `built_in`: the
    program's defines; `program`: its arguments (name -> amount); `config`: gem5's (name -> cycles).
    """

    mechanisms: dict[str, str]
    built_in: Mechanisms
    program: dict[str, int]
    config: dict[str, int]


def latencies(
    cell: Cell, model: str, forced: str, charges: dict[str, int], width: int
) -> Latencies:
    """Return the mechanisms of a cell and their amounts. `forced`: a mechanism instead of the
    default, where it works; `charges`: kind -> cycles of the machine; `width`: that of its core."""
    where = (cell.isa, model)
    single = (*where, width) == ("x86_64", "minor", 1)
    turn = _SINGLE_ISSUE_X86 if single else CYCLES_PER_TURN[where]
    mechanisms: dict[str, str] = {}
    built: dict[str, Any] = {}
    program: dict[str, int] = {}
    config: dict[str, int] = {}
    for kind, works, cycles in (
        ("atomic", ATOMIC[where], cell.cas_latency),
        ("fence", FENCE[where], cell.fence_latency),
    ):
        if cycles is None:
            continue
        mechanisms[kind] = forced if forced in works else works[0]
        match mechanisms[kind]:
            case "quiesce":
                program[f"latency_{kind}"] = cycles
            case "padding":
                program[f"latency_{kind}"] = round(cycles / turn)
            case "chain":
                built[f"{kind}_chain"] = cycles
            case "sentinel":
                config[f"sentinel_{kind}"] = max(1, cycles)
            case "fu_timing" if cycles:
                config[f"fu_{kind}"] = cycles
    if any(charges.values()):
        mechanisms["charge"] = "padding"
        program |= {f"latency_{name}": round(n / turn) for name, n in charges.items()}
    # Functional-unit timing needs nothing in the program.
    built |= {kind: name for kind, name in mechanisms.items() if name != "fu_timing"}
    return Latencies(mechanisms, Mechanisms(**built), program, config)


MECHANISMS = ("quiesce", "sentinel", "padding", "chain", "fu_timing")
ROIS = ("m5", "pc_count")
# In place of the classic caches; with o3 alone, which hides the time that fetching then takes.
RUBY = "ruby"
MAX_CORES = 64
_FEWEST_COUNTERS = 2  # of gem5's LocalBP


class Gem5Engine(base.Engine):
    """Runs cells under gem5 with one core model; `gem5/<model>[/<mechanism>][/<roi>][/ruby]`.

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
        self._mechanism = self._roi = ""
        self._ruby = False
        for variant in variants:
            if variant in MECHANISMS and not self._mechanism:
                self._mechanism = variant
            elif variant in ROIS and not self._roi:
                self._roi = variant
            elif variant == RUBY and self.model == "o3" and not self._ruby:
                self._ruby = True
            else:
                raise LockcrossError(
                    f"engine {label!r}: {variant!r} is unknown or one too many; allowed are one of "
                    f"{', '.join(MECHANISMS)}, one of {', '.join(ROIS)}, and with o3 {RUBY}"
                )

    def version(self, isa: str) -> str:
        """Return gem5's version and a digest of gem5-configs/."""
        return f"gem5 {find_gem5(isa).version}, gem5-configs {configs_digest()}"

    def capabilities(self) -> Capabilities:
        tables = ("core", "memory", "latency", "charges")
        return Capabilities(
            tuple(ISAS), MAX_CORES, latencies=LATENCIES, tables=tables, unread=UNREAD_CHARGES
        )

    def refuses(self, cell: Cell) -> str:
        """Return why a cell cannot be answered honestly, or nothing. Raises LockcrossError."""
        where = f"gem5's {self.model} core for {ISAS[cell.isa].title}"
        if cell.fence == MEMBARRIER:
            return (
                f"fence: {MEMBARRIER}: in gem5 no program interrupts another core, so neither its "
                "stores would drain at a process-wide barrier nor its time be lost"
            )
        gem5 = find_gem5(cell.isa)
        if self.model not in gem5.models[cell.isa]:
            return f"isa: {cell.isa}: this gem5 has no {self.model} core for it"
        if self._ruby and RUBY not in gem5.memories:
            return f"engine: {self.name}: this gem5 was built without Ruby's MESI_Two_Level"
        shown = probe(gem5, cell.isa, self.model)
        if shown.alone:
            return f"isa: {cell.isa}: {where} is unusable: {shown.alone}"
        if cell.threads > 1 and shown.together:
            return f"threads: {cell.threads}: atomics are not atomic across cores: {shown.together}"
        # Whether label and machine fit the core model.
        known = ATOMIC.get((cell.isa, self.model), ())
        figures = figures_of(cell.machine, cell.isa)
        pipelined = self.model != "timing"
        why = ""
        if not known:
            why = f"isa: {cell.isa}: no latency mechanism is known for {where}"
        elif self._mechanism and self._mechanism not in known:
            why = f"engine: {self.name}: {where} supports only {', '.join(known)}"
        elif self._roi == "m5" and cell.isa == "ppc64le":
            why = f"isa: {cell.isa}: gem5 has no m5 operations on this ISA"
        elif pipelined and not figures["store_buffer"]:
            why = f"machine: {cell.machine}: {where} needs a store buffer, the machine has none"
        elif pipelined and figures["predictor_entries"] < _FEWEST_COUNTERS:
            why = f"machine: {cell.machine}: {where} needs {_FEWEST_COUNTERS} predictor_entries"
        return why

    def _latencies(self, cell: Cell) -> Latencies:
        machine = load_machine(cell.machine)
        charges = {name: machine.charges.number(name) for name in CHARGES}
        if cell.cancel_latency is not None:
            charges |= dict.fromkeys(STOPS, cell.cancel_latency)
        width = machine.core.number("width")
        return latencies(cell, self.model, self._mechanism, charges, width)

    def _roi_of(self, cell: Cell) -> str:
        return self._roi or ("pc_count" if cell.isa == "ppc64le" else "m5")

    def options(self, cell: Cell) -> dict[str, int | str]:
        """Return the machine's figures, how latencies are set, and how the region is found."""
        added = self._latencies(cell)
        options: dict[str, int | str] = dict(figures_of(cell.machine, cell.isa))
        options |= {f"mechanism_{kind}": name for kind, name in added.mechanisms.items()}
        options |= {**added.program, **added.config}
        if self._ruby:
            options["memory"] = RUBY
        return options | {"model": self.model, "roi": self._roi_of(cell)}

    def program(self, cell: Cell) -> Program:
        return Program.of(cell, self._latencies(cell).built_in)

    def command(self, cell: Cell, binary: Path, limits: Limits) -> list[str]:
        """Use the instruction limit as a cycle limit."""
        added, roi = self._latencies(cell), self._roi_of(cell)
        phases = workloads.phases(cell.workload, cell.parameters)
        more = [f"--roi={roi}", f"--limit={limits.instructions}", f"--phases={phases}"]
        more += [f"--latency={name}={cycles}" for name, cycles in sorted(added.config.items())]
        if self._ruby:
            more.append(f"--memory={RUBY}")
        gem5 = find_gem5(cell.isa)
        command = script_command(gem5, cell.isa, self.model, cell.threads, cell.machine, more)
        amounts = [f"{name}={amount}" for name, amount in sorted(added.program.items())]
        marker = "marker=m5" if roi == "m5" else "marker=watch"
        return [*command, str(binary), *arguments(cell), *amounts, marker]

    def read(self, cell: Cell, limits: Limits, end: ProcessResult, folder: Path) -> RunOutcome:
        return output.read(cell, limits, end, folder, self._latencies(cell).mechanisms)

    def doctor(self) -> list[PartCheck]:
        checks: list[PartCheck] = []
        for isa in ISAS:
            with base.noting(checks, f"gem5 for {isa}"):
                gem5 = find_gem5(isa)
                checks.append(PartCheck(f"gem5 for {isa}", True, f"{gem5.version} ({gem5.path})"))
                for model in gem5.models[isa]:
                    shown = probe(gem5, isa, model)
                    well = "threads start, atomics work across cores"
                    checks.append(base.judged(f"gem5/{model} for {isa}", shown, well))
        return checks


make = Gem5Engine
