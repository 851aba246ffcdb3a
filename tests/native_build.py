"""Builds guest programs for the tests of the C side and runs them under QEMU without the engine."""

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from results.paths import ROOT
from sweeps.engines.qemu.engine import find_qemu
from sweeps.model.isa import ISAS
from sweeps.model.locks import FENCE_KINDS, load_locks
from sweeps.programs import TARGETS, Builder, Program
from sweeps.support.paths import BINARIES, ENGINE_SOURCES
from tests.trees import made_once

FLAVOURS = tuple(flavour for isa in ISAS.values() for flavour in isa.flavours)
# One of each instruction set. LL/SC of AArch64 differs from LSE in the atomics of lockimpl/arch
# alone: each has its own tests, and the locks of LLSC together have all of them.
LLSC = ("tasuki", "reservation", "mcs", "to_lock", "qspinlock", "biased")
EACH_ISA = tuple(isa.flavours[0] for isa in ISAS.values())
NATIVE = "tests/native/"
_BUILDER = Builder()


def fence_kinds(lock: str, flavour: str) -> list[str]:
    """The fence kinds a lock is built with on the ISA of a flavour."""
    offered = load_locks()[lock].fence_kinds
    refused = ISAS[TARGETS[flavour].isa].refused_fence_kinds
    return [f for f in FENCE_KINDS if f in offered and f not in refused]


def all_variants() -> list[tuple[str, str, str]]:
    """Every (lock, flavour, fence kind) there is."""
    return [
        (lock, flavour, fence)
        for lock in load_locks()
        for flavour in FLAVOURS
        for fence in fence_kinds(lock, flavour)
    ]


def sampled(lock: str, variant: str, fence: str, flavour: str) -> bool:
    """Tell whether tests of all locks compile this one: each lock for every instruction set, each
    variant and each fence that is not full for x86-64, or for one where it has none."""
    if not variant and fence == "full":
        return flavour in EACH_ISA or lock in LLSC
    return flavour == "lock" and (not variant or fence == "full")


def build_kernel(workload: str, lock: str, flavour: str, fence: str, variant: str = "") -> Path:
    """A workload program, from the cache that the sweeps use too."""
    program = Program(workload, lock, fence, flavour, variant=variant)
    return _BUILDER.build([program])[program].path


@cache
def _sources() -> str:
    """A digest of all that a program of tests/native may include."""
    total = hashlib.sha256()
    for folder in ("lockimpl", "workloads", NATIVE):
        for path in sorted((ROOT / folder).rglob("*.[chSd]*")):
            total.update(path.read_bytes())
    return total.hexdigest()


def _compiled(name: str, command: Sequence[str]) -> Path:
    """The output of a compiler, which is called where it is not there."""

    def compile_to(path: Path) -> None:
        subprocess.run([*command, "-o", str(path)], cwd=ROOT, check=True)

    return made_once(BINARIES / name, compile_to)


def build_native(
    name: str,
    lock: str,
    flavour: str,
    fence: str,
    *options: str,
    variant: str = "",
    scheduled: bool = False,
    runs: bool = True,
) -> Path:
    """A program of tests/native; further compiler options at will. Cached by its content. One that
    only is read, and never `runs`, is without the runtime."""
    program = Program(name, lock, fence, flavour, variant=variant, scheduled=scheduled)
    workload = program.command(TARGETS[flavour].compiler, "")[:-2]
    command = [arg.replace("workloads/kernels/", NATIVE) for arg in workload] + [*options]
    if not runs:
        command = [arg for arg in command if not arg.startswith("workloads/runtime/")]
        command += ["-Wl,--unresolved-symbols=ignore-all", "-Wl,--entry=0"]
    key = hashlib.sha256("\0".join([_sources(), *command]).encode()).hexdigest()
    return _compiled(f"test-{name}-{lock}-{fence}-{flavour}-{key[:16]}", command)


@cache
def yielding(emulator: str) -> tuple[str, ...]:
    """The words that start QEMU so that a thread which spins gives its CPU up."""
    sources = [ROOT / NATIVE / "yields.cc", *sorted(ENGINE_SOURCES.glob("plugin/*api*"))]
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    flags = "-std=c++20 -O2 -fPIC -fvisibility=hidden -shared -Wall -Wextra -Werror".split()
    files = [str(path) for path in sources if path.suffix == ".cc"]
    command = ["g++", *flags, f"-I{ENGINE_SOURCES}", *files]
    return emulator, "-plugin", f"file={_compiled(f'test-yields-{digest[:16]}.so', command)}"


def one_instruction_at_a_time(emulator: str) -> str:
    """QEMU's option for that; QEMU 10 has another word for it than QEMU 7.2."""
    done = subprocess.run([emulator, "--help"], capture_output=True, text=True, check=False)
    return "-one-insn-per-tb" if "-one-insn-per-tb" in done.stdout else "-singlestep"


@dataclass(frozen=True)
class Outcome:
    """The result of a guest program: exit code, its result line, standard error."""

    code: int
    result: Mapping[str, Any]
    stderr: str


def run(
    binary: Path,
    flavour: str,
    *,
    cpus: set[int] | None = None,
    launcher: tuple[str, ...] | None = None,
    **arguments: object,
) -> Outcome:
    """Run a program under QEMU without the engine, or a `launcher` (none: the host itself), on all
    CPUs or on `cpus`. Fails if it does not end."""
    if launcher is None:
        launcher = yielding(find_qemu(TARGETS[flavour].isa).path)
    done = subprocess.run(
        [*launcher, str(binary), *(f"{k}={v}" for k, v in arguments.items())],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
    )
    return Outcome(done.returncode, json.loads(done.stdout or "{}"), done.stderr)
