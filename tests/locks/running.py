"""Programs of locks, under the engine and QEMU alone; with the scheduler for shared `cores`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.model.locks import LockLabel
from sweeps.programs import Program
from tests.engines.test_engine import BUILDER, finished
from tests.native_build import Outcome, build_native, run


def program_of(workload: str, label: str, flavour: str = "lock", **more: bool) -> Program:
    lock = LockLabel(label)
    return Program(workload, lock.lock, lock.fence, flavour, variant=lock.variant, **more)


@dataclass(frozen=True)
class Simulated:
    """What a program printed, and what the engine reports of it."""

    result: dict[str, Any]
    report: dict[str, Any]

    @property
    def cores(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.report["cores"]
        return found

    @property
    def cycles(self) -> list[int]:
        """Of each core."""
        return [core["cycles"] for core in self.cores]

    @property
    def extra(self) -> dict[str, int]:
        """The workload's own metrics."""
        found: dict[str, int] = self.result["extra"]
        return found

    def total(self, table: str, kind: str) -> int:
        """Of all cores together."""
        return sum(core[table].get(kind, 0) for core in self.cores)


def binary_of(workload: str, label: str, flavour: str, **more: bool) -> Path:
    program = program_of(workload, label, flavour, **more)
    return BUILDER.build([program])[program].path


def simulated(
    workload: str,
    label: str,
    flavour: str = "lock",
    options: Mapping[str, int | str] | None = None,
    *,
    many: bool = False,
    **arguments: int | str,
) -> Simulated:
    """Run a program under the engine, which must succeed, and end."""
    binary = binary_of(workload, label, flavour, scheduled="cores" in arguments, many=many)
    limited = {"max_instructions": 100_000_000, **(options or {})}
    return Simulated(*finished(binary, flavour, arguments, limited))


def bare(
    workload: str, label: str, flavour: str = "lock", *, many: bool = False, **arguments: Any
) -> Outcome:
    """Run a program under QEMU alone. `arguments` are its own, or those of `native_build.run`."""
    binary = binary_of(workload, label, flavour, scheduled="cores" in arguments, many=many)
    return run(binary, flavour, **arguments)


def passes(name: str, label: str, flavour: str, *options: str, **arguments: Any) -> None:
    """Run a program of tests/native, compiled with `options`, under QEMU: it finds no fault."""
    lock = LockLabel(label)
    more = {"variant": lock.variant, "scheduled": "cores" in arguments}
    binary = build_native(name, lock.lock, flavour, lock.fence, *options, **more)
    outcome = run(binary, flavour, **arguments)
    assert (outcome.code, outcome.result["error"]) == (0, ""), (label, arguments)
