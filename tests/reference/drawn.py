"""A thousand cells drawn at random, of the kept programs, and the engine's report on each: the same
on every system, under every QEMU, however fast the engine becomes.

`./lockcross python -m tests.reference.drawn` draws them anew and writes reference/drawn.json; with
`--measure` it keeps the cells and measures them again.
"""

import hashlib
import json
import os
import random
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from pydantic import BaseModel

from sweeps.engines.qemu.engine import own_options
from sweeps.model.locks import load_locks
from sweeps.model.machine import isas_of, machine_names
from sweeps.programs import TARGETS
from tests.reference import programs as reference_programs
from tests.reference.cycles import CASES, programs, report_of

STORED = reference_programs.FOLDER / "drawn.json"
COUNT = 1000
_SEED = 20261123
# Bounds of the workloads' keys and of further options; threads come from the lock.
_KEYS = {
    "sync": {"iterations": (1, 200)},
    "threads": {"iterations": (1, 40), "critical": (0, 30), "think": (0, 100)},
    "lock_sequence": {
        "objects": (1, 16), "runs": (1, 6), "run_length": (1, 20), "owner_share": (0, 1_000_000),
        "critical": (0, 10), "think": (0, 10),
    },
}  # fmt: skip
_THREADS = {"sync": (1, 1), "threads": (2, 8), "lock_sequence": (2, 6)}
_OPTIONS = {"seed": (1, 1000), "offset_max": (0, 200), "charge_stop_running": (0, 20_000)}


class Drawn(BaseModel):
    """One cell. `options` names a set of them; `further` come on top. `cycles` are those of each
    core, `report` the digest of the whole report but for version and options."""

    program: str
    arguments: dict[str, int]
    options: str
    further: dict[str, int]
    cycles: list[int] = []
    report: str = ""


class Stored(BaseModel):
    """The file. The options stand in it, so that a machine's file may change."""

    options: dict[str, dict[str, int]]
    cells: list[Drawn]


@cache
def stored() -> Stored:
    """Return the kept cells."""
    return Stored.model_validate_json(STORED.read_text(encoding="utf-8"))


def draw() -> Stored:
    """Cells over all kept programs and all machines that the engine simulates by itself."""
    chance = random.Random(_SEED)
    kept = sorted(
        {program for case in CASES for program in programs(case)}, key=reference_programs.name
    )
    machines = [name for name in machine_names() if not name.startswith("sst_")]
    sets: dict[str, dict[str, int]] = {}
    cells = []
    for _ in range(COUNT):
        program = chance.choice(kept)
        isa = TARGETS[program.flavour].isa
        machine = chance.choice([name for name in machines if isa in isas_of(name)])
        sets.setdefault(f"{machine} {isa}", dict(own_options(machine, isa)))
        arguments = _numbers(chance, _KEYS[program.workload])
        low, high = _THREADS[program.workload]
        most = load_locks()[program.lock].threads or high
        arguments["threads"] = chance.randint(low, min(high, most))
        further = _numbers(chance, _OPTIONS)
        given = {"arguments": arguments, "options": f"{machine} {isa}", "further": further}
        cells.append(Drawn(program=reference_programs.name(program), **given))
    return Stored(options=dict(sorted(sets.items())), cells=cells)


def _numbers(chance: random.Random, bounds: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    return {name: chance.randint(low, high) for name, (low, high) in bounds.items()}


def measure(cell: Drawn, options: Mapping[str, int]) -> Drawn:
    """Return the cell with the engine's present report."""
    document = report_of(cell.program, dict(cell.arguments), {**options, **cell.further})
    cycles = [core["cycles"] for core in document["cores"]]
    del document["version"], document["options"]
    whole = json.dumps(document, sort_keys=True)
    digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
    return cell.model_copy(update={"cycles": cycles, "report": digest})


def main(keep: bool) -> None:
    """Write the file, and say how many cells moved."""
    found = stored() if keep else draw()

    def one(cell: Drawn) -> Drawn:
        return measure(cell, found.options[cell.options])

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        cells = list(pool.map(one, found.cells))
    moved = sum(old.report != new.report for old, new in zip(found.cells, cells, strict=True))
    lines = ",\n".join(cell.model_dump_json() for cell in cells)
    options = json.dumps(found.options, indent=0)
    STORED.write_text(f'{{"options": {options},\n"cells": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(cells)} cells, {moved} with another report than before")


if __name__ == "__main__":
    main("--measure" in sys.argv[1:])
