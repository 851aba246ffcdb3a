"""Cross-compiles workload programs on demand into build/bin/, cached by content."""

import errno
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.axes import MAX_THREADS
from sweeps.model.cell import Cell
from sweeps.model.workloads import WORKLOADS
from sweeps.support import tools
from sweeps.support.paths import BINARIES

# The family of compilers: gcc, clang, or one of a version, as in gcc-13.
FAMILY = os.environ.get("LOCKCROSS_CC") or "gcc"
_ASK_S = 60.0  # that a compiler may take to say its version
_MANY = 10  # programs that take seconds to compile

COMMON_FLAGS = (
    "-std=gnu17 -O2 -Wall -Wextra -Werror -ffreestanding -nostdlib -static -fno-pie "
    "-fno-stack-protector -fno-asynchronous-unwind-tables "
    "-Wl,--build-id=none -Wl,-z,noexecstack -Ilockimpl -Iworkloads"
).split()
# ipa-reference assumes that only functions that name a variable change it: GCC 14 then keeps the
# variable in a register across a lock whose code it sees, as if there were no threads.
_GCC_FLAGS = "-no-pie -fno-tree-loop-distribute-patterns -fno-ipa-reference".split()

# The most threads of a program that is compiled as it is (lockimpl/types.h: LOCK_MAX_THREADS). What
# it has per thread is of that size, so programs for more are others, and this is not raised:
# stored runs and reference cycles are of these.
USUAL_THREADS = 64


@dataclass(frozen=True)
class Target:
    """How programs of one atomic flavour are compiled."""

    isa: str
    compiler: str
    package: str  # Debian's, on a host of another ISA
    binutils: str  # what their names begin with
    flags: tuple[str, ...]


def _target(isa: str, triple: str, flags: str) -> Target:
    binutils = f"{triple}-linux-gnu-"
    if FAMILY.startswith("clang"):
        clang_flags = (f"--target={triple}-linux-gnu", *flags.split())
        return Target(isa, FAMILY, FAMILY, binutils, clang_flags)
    package = f"{FAMILY}-{triple.replace('_', '-')}-linux-gnu"
    return Target(isa, binutils + FAMILY, package, binutils, (*_GCC_FLAGS, *flags.split()))


_AARCH64 = "-mno-outline-atomics -mgeneral-regs-only"
TARGETS = {
    "lock": _target("x86_64", "x86_64", "-mgeneral-regs-only -mno-red-zone -fcf-protection=none"),
    "larx": _target("ppc64le", "powerpc64le", "-mcpu=power8 -mno-altivec -mno-vsx -msoft-float"),
    "lse": _target("aarch64", "aarch64", f"-march=armv8.1-a {_AARCH64}"),
    "llsc": _target("aarch64", "aarch64", f"-march=armv8-a {_AARCH64} -DLOCKCROSS_LLSC=1"),
}


@dataclass(frozen=True)
class Mechanisms:
    """How added latency reaches the core (lockimpl/arch/latency.h): `engine` adds nothing.

    `atomic_chain` and `fence_chain` are the lengths of chains, where the mechanism is `chain`.
    """

    atomic: str = "engine"
    fence: str = "engine"
    charge: str = "engine"
    atomic_chain: int = 0
    fence_chain: int = 0

    def flags(self) -> list[str]:
        """Return the compiler's flags; none where the engine does it."""
        kinds = {"ATOMIC": self.atomic, "FENCE": self.fence, "CHARGE": self.charge}
        added = {f"{k}_LATENCY": f"LATENCY_{v.upper()}" for k, v in kinds.items() if v != "engine"}
        lengths = {"ATOMIC": self.atomic_chain, "FENCE": self.fence_chain}
        added |= {f"{k}_CHAIN": f"{n}" for k, n in lengths.items() if kinds[k] == "chain"}
        return [f"-DLOCKCROSS_{name}={value}" for name, value in added.items()]


@dataclass(frozen=True)
class Program:
    """A program to build: everything of a cell that is fixed at compile time."""

    workload: str
    lock: str
    fence: str
    flavour: str
    mechanisms: Mechanisms = Mechanisms()
    variant: str = ""
    scheduled: bool = False  # with the M:N runtime: threads may share cores
    events: bool = False  # tells an engine its lock events
    host: bool = False  # for the host itself: bound threads, its counters, parking in the kernel
    many: bool = False  # for more than USUAL_THREADS threads

    @classmethod
    def of(cls, cell: Cell, mechanisms: Mechanisms = Mechanisms()) -> "Program":
        fixed = cell.workload, cell.lock, cell.fence, cell.flavour, mechanisms, cell.variant
        return cls(*fixed, cell.cores is not None, many=cell.threads > USUAL_THREADS)

    def command(self, compiler: str, output: str) -> list[str]:
        """Return the compile command, to be run in the root of the tree: its paths are relative, so
        that the same sources give the same bytes wherever the tree lies."""
        target, workload = TARGETS[self.flavour], WORKLOADS.get(self.workload)
        has_text = workload is not None and workload.has_text
        has_metrics = workload is not None and bool(workload.metrics)
        defines = {
            f"LOCKCROSS_LOCK={self.lock}": True,
            f"LOCKCROSS_FENCE=FENCE_{self.fence.upper()}": True,
            f"LOCKCROSS_VARIANT={self.variant}": self.variant,
            # What the preprocessor can compare.
            f"LOCKCROSS_VARIANT_{self.variant.upper()}=1": self.variant,
            "LOCKCROSS_SCHEDULER=1": self.scheduled,
            "LOCKCROSS_EVENTS=1": self.events,
            "LOCKCROSS_NATIVE=1": self.host,
            f"LOCK_MAX_THREADS={MAX_THREADS}": self.many,
            "LOCKCROSS_EXTRAS=1": has_metrics,
            "LOCKCROSS_SLEEPS=1": workload is not None and bool(workload.sleeps) and self.scheduled,
            "LOCKCROSS_TEXT_KEYS=1": has_text or self.host,
        }
        defined = [f"-D{define}" for define, wanted in defines.items() if wanted]
        runtime = ["runtime.c", f"start_{target.isa}.S"]
        if self.scheduled:
            runtime += ["scheduler.c", f"switch_{target.isa}.S"]
        sources = [f"kernels/{self.workload}.c", *(f"runtime/{source}" for source in runtime)]
        flags = [*COMMON_FLAGS, *target.flags, *defined, *self.mechanisms.flags()]
        return [compiler, *flags, *(f"workloads/{path}" for path in sources), "-o", output]


@dataclass(frozen=True)
class Binary:
    """A built program: where it is, the SHA-256 of its loaded part, the compiler."""

    path: Path
    digest: str
    compiler: str


def find_compiler(flavour: str) -> str:
    """Return the path of a flavour's compiler. Raises LockcrossError when it is missing."""
    target = TARGETS[flavour]
    path = shutil.which(target.compiler)
    if path is None:
        raise LockcrossError(
            f"compiler {target.compiler} (for {target.isa}) is missing; on Debian: "
            f"apt-get install {target.package} (on a host that is {target.isa} itself: {FAMILY}). "
            "LOCKCROSS_CC names another family: gcc, clang, or one of a version, as in gcc-13",
            exit_code=1,
        )
    return path


@cache
def compiler_version(path: str) -> str:
    """Return the first line of a compiler's `--version`. Raises LockcrossError if it fails."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = tools.run([path, "--version"], _ASK_S)
        if done.returncode == 0 and done.stdout:
            return done.stdout.splitlines()[0]
    message = f"compiler {path} does not run ('{path} --version' failed); install it again"
    raise LockcrossError(message, exit_code=1)


def loaded_digest(elf: bytes) -> str:
    """Return the SHA-256 of the memory image of a static program, and of its entry.

    Its symbols are left out: the assembler's temporary files, named by chance, are among them.
    """
    from elftools.elf.elffile import ELFFile

    program = ELFFile(io.BytesIO(elf))
    total = hashlib.sha256(str(program["e_entry"]).encode())
    for segment in program.iter_segments("PT_LOAD"):
        total.update(f"{segment['p_vaddr']} {segment['p_memsz']}\0".encode())
        total.update(segment.data())
    return total.hexdigest()


class Builder:
    """Builds programs once each. Sources are read once, when the builder is made."""

    def __init__(self, root: Path = ROOT, folder: Path = BINARIES) -> None:
        self._root = root
        self._folder = folder
        self._built: dict[Program, Binary] = {}
        total = hashlib.sha256()  # of all that a program may include
        for part in ("lockimpl", "workloads"):
            for path in sorted((root / part).rglob("*")):
                if path.suffix in (".h", ".c", ".S", ".def", ".inc"):
                    total.update(f"{path.relative_to(root)}\0".encode())
                    total.update(hashlib.sha256(path.read_bytes()).digest())
        self._sources = total.hexdigest()

    def build(self, programs: Iterable[Program], jobs: int | None = None) -> dict[Program, Binary]:
        """Build the missing programs, `jobs` at a time (default: one per CPU). Says on standard
        error how many are to be compiled, where that takes seconds.

        Raises LockcrossError for a missing compiler or sources that do not compile.
        """
        wanted = list(dict.fromkeys(programs))
        if missing := [program for program in wanted if program not in self._built]:
            self._folder.mkdir(parents=True, exist_ok=True)
            new = sum(not self._output_path(program)[0].exists() for program in missing)
            if new >= _MANY:
                print(f"compiling {new} programs, once", file=sys.stderr, flush=True)
            with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
                self._built.update(zip(missing, pool.map(self._build_one, missing), strict=True))
        return {program: self._built[program] for program in wanted}

    def _build_one(self, program: Program) -> Binary:
        path, version = self._output_path(program)
        if not path.exists():
            self._compile(program, path)
        return Binary(path, loaded_digest(path.read_bytes()), version)

    def _output_path(self, program: Program) -> tuple[Path, str]:
        """Return where a program is, or will be, and the version of its compiler."""
        version = compiler_version(find_compiler(program.flavour))
        flags = program.command(TARGETS[program.flavour].compiler, "")
        key = hashlib.sha256("\0".join([self._sources, version, *flags]).encode()).hexdigest()
        words = [program.workload, program.lock, program.variant, program.fence, program.flavour]
        marks = ("scheduled", "events", "host", "many")
        words += [mark for mark in marks if getattr(program, mark)]
        return self._folder / f"{'-'.join(filter(None, words))}-{key[:16]}", version

    def _compile(self, program: Program, path: Path) -> None:
        # Built beside its place and renamed into it: a program is there whole or not at all,
        # also when several drivers build it at once.
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".building-")
        os.close(handle)
        temporary = Path(name)
        command = program.command(find_compiler(program.flavour), name)
        try:
            # Its messages are searched for words, so they are to be in English.
            done = tools.run(command, cwd=self._root, env={**os.environ, "LC_ALL": "C"})
            lines, full = done.stderr.strip().splitlines(), os.strerror(errno.ENOSPC)
            if done.returncode != 0 and full in done.stderr:
                # The compiler's own temporary files may lie elsewhere; it says which.
                message = next(line for line in lines if full in line).strip()[:300]
                raise OSError(errno.ENOSPC, full, f"{self._folder}; the compiler says: {message}")
            if done.returncode != 0:
                errors = [line for line in lines if "error" in line or "undefined" in line] or lines
                words = program.command(TARGETS[program.flavour].compiler, "/dev/null")
                lock = f"{program.lock}:{program.variant}" if program.variant else program.lock
                raise LockcrossError(
                    f"workload {program.workload} with lock {lock} ({program.flavour}, fence "
                    f"{program.fence}) does not compile:\n  " + "\n  ".join(errors[:5]) + "\n"
                    f"for the whole output, in the root of the tree: {' '.join(words)}",
                    exit_code=1,
                )
            temporary.chmod(0o755)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
