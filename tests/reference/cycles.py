"""Cycles that must not move unnoticed: every lock on every flavour, alone and contended.

`./lockcross python -m tests.reference.cycles` measures the programs that are kept anew and writes
reference/cycles.json.
"""

import json
from typing import Any

from sweeps.model.locks import load_locks
from sweeps.programs import TARGETS, Program
from tests.engines import test_engine
from tests.engines.test_engine import Options
from tests.reference import programs as reference_programs

REFERENCE = reference_programs.FOLDER / "cycles.json"


OPTIONS: Options = {"seed": 1, "offset_max": 20}
OUT_OF_ORDER = OPTIONS | {"out_of_order": 1, "width": 4, "predictor_history": 8}
OUT_OF_ORDER |= {"fuse_branches": 1, "store_order": 0}
_SYNC = ("sync", {"threads": 1, "iterations": 100})
_CONTENDED = ("threads", {"threads": 3, "iterations": 40, "critical": 4, "think": 10})
_SEQUENCE = {"threads": 2, "objects": 8, "runs": 4, "run_length": 10, "owner_share": 500_000}
CASES: dict[str, tuple[str, Options]] = {
    "sync": _SYNC,
    "sync, out of order": _SYNC,
    "contended": _CONTENDED,
    "contended, out of order": _CONTENDED,
    "sequence": ("lock_sequence", _SEQUENCE | {"critical": 2, "think": 3}),
}


def programs(case: str) -> list[Program]:
    """Every lock, flavour and fence kind that a case can be run with."""
    workload, arguments = CASES[case]
    return [
        Program(workload, lock.name, fence, flavour)
        for lock in load_locks().values()
        for flavour in TARGETS
        for fence in (lock.fence_kinds if flavour == "lock" else ("full",))
        if not (lock.name == "nop" and workload == "threads")
        and not (lock.threads and int(arguments["threads"]) > lock.threads)
    ]


def report_of(name: str, arguments: Options, options: Options) -> dict[str, Any]:
    """Return the engine's report on a program that is kept."""
    binary = reference_programs.unpacked() / name
    return test_engine.report_of(binary, name.rpartition("-")[2], arguments, options)


def measure(case: str, program: Program) -> list[int]:
    """Cycles of each core, of the program that is kept."""
    options = OUT_OF_ORDER if "out of order" in case else OPTIONS
    report = report_of(reference_programs.name(program), CASES[case][1], options)
    return [core["cycles"] for core in report["cores"]]


def key(program: Program) -> str:
    return f"{program.lock} {program.fence} {program.flavour}"


def main() -> None:
    kept = {path.name for path in reference_programs.unpacked().iterdir()}
    cycles = {
        case: {
            key(program): measure(case, program)
            for program in programs(case)
            if reference_programs.name(program) in kept
        }
        for case in CASES
    }
    REFERENCE.write_text(json.dumps(cycles, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
