"""What an SST can do, shown by litmus runs."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.paths import WORK
from sweeps.engines.base import Limits, ProcessResult
from sweeps.engines.qemu.engine import plugin_version
from sweeps.engines.sst import output as sst_output
from sweeps.engines.sst.command import INPUT, command, document
from sweeps.engines.sst.find import Sst, configs_digest, element
from sweeps.model.cell import Cell
from sweeps.model.cells import digest
from sweeps.model.isa import ISAS
from sweeps.programs import Binary, Builder, Program

PROBES = WORK / "build" / "sst"  # what the litmus runs of each SST showed

_TIME_S = 120.0


@dataclass(frozen=True)
class Probe:
    """`alone`: why a run on one core fails, or nothing; `together`: the same for two cores."""

    alone: str
    together: str


@cache
def probe(sst: Sst, flavour: str) -> Probe:
    """Runs the litmus tests on one core and on two, or returns what is stored of them."""
    programs = {test: Program(test.workload, test.lock, "full", flavour) for test in _TESTS}
    binaries = Builder().build(list(programs.values()))
    built = [binaries[program].digest for program in programs.values()]
    known = [element(sst).name, sst.version, configs_digest(), plugin_version(), *built]
    path = PROBES / f"{flavour}-{digest(known)[:16]}.json"
    if path.exists():
        return Probe(**json.loads(path.read_text(encoding="utf-8")))
    isa = next(isa.name for isa in ISAS.values() if flavour in isa.flavours)
    alone = together = ""
    for test, program in programs.items():
        alone = alone or _litmus(sst, test.cell(isa, flavour, 1), binaries[program])
        together = together or alone or _litmus(sst, test.cell(isa, flavour, 2), binaries[program])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"alone": alone, "together": together}), encoding="utf-8")
    return Probe(alone, together)


@dataclass(frozen=True)
class _Test:
    workload: str
    lock: str
    parameters: tuple[tuple[str, int | str], ...]

    def cell(self, isa: str, flavour: str, threads: int) -> Cell:
        """A run of the test."""
        return Cell(
            engine="sst", machine="sst_bus", isa=isa, flavour=flavour, lock=self.lock,
            workload=self.workload, threads=threads, parameters=dict(self.parameters),
        )  # fmt: skip


_TESTS = (
    _Test("threads", "cas_spin", (("iterations", 30), ("critical", 0), ("think", 0))),
    _Test("transfer", "null", (("iterations", 30), ("op", "store"))),
)


def _litmus(sst: Sst, cell: Cell, binary: Binary) -> str:
    """Why a run of a test fails, or nothing."""
    limits = Limits(_TIME_S, 10_000_000)
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        text = document(cell, list(range(cell.threads)), binary.path, limits)
        Path(folder, INPUT).write_text(text, encoding="utf-8")
        what = f"a litmus run of workload {cell.workload} with {cell.threads} threads"
        try:
            done = subprocess.run(
                command(sst), cwd=folder, capture_output=True, text=True, errors="replace", env={},
                stdin=subprocess.DEVNULL, check=False, timeout=_TIME_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{what} did not end in {_TIME_S:g} s"
        end = ProcessResult(done.returncode, done.stdout, done.stderr, "", 0.0)
        cause = sst_output.read(cell, limits, end, Path(folder), {}).cause
        return cause and f"{what} fails: {cause}"
