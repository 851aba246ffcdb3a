"""Proves the primitives from their instructions, for `lockcross prove --assembly`."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.assembly.litmus import FOLDER, Litmus, litmus_tests, primitives
from proofs.assembly.source import (
    Instruction,
    Thread,
    compile_probes,
    compile_tests,
    touches_memory,
)
from proofs.assembly.translate import TranslationError, litmus_text, without_reservations
from proofs.assembly.weaken import weakenings
from results.errors import LockcrossError
from results.store.queries import compiler_name
from sweeps.model.isa import FENCE_KINDS, ISAS
from sweeps.programs import TARGETS, compiler_version, find_compiler
from sweeps.support.tools import Tool

VARIABLE = "HERD7"
DOCUMENTATION = "https://diy.inria.fr/doc/herd.html"
LIMIT_S = 600.0
_OBSERVATION = re.compile(r"^Observation \S+ (Never|Sometimes|Always) (\d+) (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Herd:
    """One binary and its version."""

    path: str
    version: str


@dataclass(frozen=True)
class Verdict:
    """What herd7 said: `allowed`, `forbidden`, or `undecided` within the limit of time. `bounded`:
    some loop has more turns than were looked at."""

    verdict: str
    executions: int
    seconds: float
    bounded: bool


def find_herd() -> Herd:
    """The herd7 in HERD7 or on PATH. Raises LockcrossError (1) when there is none that runs."""
    tool = Tool(
        "herd7",
        ("herd7",),
        "not an executable program; name a herd7 binary there",
        f"name its binary in {VARIABLE} or put it on PATH. It is part of herdtools7: "
        f"{DOCUMENTATION}",
    )
    path, _ = tool.locate(VARIABLE)
    return Herd(path, _version(tool, path))


@cache
def _version(tool: Tool, path: str) -> str:
    if version := tool.version(r"^(\d[^,\s]*)", path, "-version"):
        return version
    raise LockcrossError(f"herd7 ({path}) prints no version; is it a herd7?", 1)


def ask(herd: Herd, text: str, options: Sequence[str]) -> Verdict:
    """Whether the outcome of a litmus test can be. Raises LockcrossError when herd7 refuses it."""
    with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
        path = Path(folder) / "test.litmus"
        path.write_text(text)
        begun = time.monotonic()
        try:
            done = subprocess.run(
                [herd.path, *options, str(path)], capture_output=True, text=True, check=False,
                timeout=LIMIT_S, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Verdict("undecided", 0, LIMIT_S, False)
        seconds = time.monotonic() - begun
    found = _OBSERVATION.search(done.stdout)
    executions = int(found[2]) + int(found[3]) if found else 0
    if not found or not executions:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise LockcrossError(f"herd7 refuses a test: {said}\n{text}", exit_code=1)
    verdict = "forbidden" if found[1] == "Never" else "allowed"
    return Verdict(verdict, executions, seconds, "unrolling limit" in done.stderr)


@dataclass(frozen=True)
class Model:
    """A memory model of herd7, or one of proofs/assembly/ that builds on it."""

    name: str
    options: tuple[str, ...] = ()


def _own(name: str, *options: str) -> Model:
    return Model(name, ("-I", str(FOLDER), "-model", str(FOLDER / name), *options))


_BARRIER = re.compile(r"dmb|isb|(hw|lw|i)sync|sync|eieio|[mls]fence")
_MIXED = ("-variant", "mixed")
_LITTLE = ("-endian", "little")
_AARCH64 = Model("aarch64.cat")
_PPC = Model("ppc.cat", _LITTLE)
_RESERVED = _own("power_reserved.cat", *_LITTLE)


def models_of(flavour: str, test: Litmus) -> list[Model]:
    """The models for a test. The last one is that under which the promise is to be shown."""
    isa = TARGETS[flavour].isa
    if isa == "aarch64":
        return [Model("aarch64.cat", _MIXED) if test.mixed else _AARCH64]
    if isa == "x86_64":
        return [_own("x86_64.cat", *(_MIXED if test.mixed else ()))]
    if test.mixed:
        return [_own(f"power_{how}.cat", *_LITTLE, *_MIXED) for how in ("apart", "together")]
    atomic = any(word in test.primitive for word in ("cas_", "swap_", "fetch_"))
    return [_PPC, _RESERVED] if atomic else [_PPC]


@dataclass(frozen=True)
class Row:
    """One verdict, as results/reference/assembly.csv keeps it."""

    primitive: str  # or lock
    flavour: str
    fence: str
    promise: str
    litmus: str
    kind: (
        str  # lock (its own functions), code, promised, beyond (the promise), weakened or contrast
    )
    change: str  # what was weakened
    model: str
    tool: str
    verdict: str  # forbidden, allowed, undecided, or why there is none
    bound: str  # of loops
    executions: int
    seconds: str
    compiler: str
    instructions: str  # of all threads; empty for what was weakened


@dataclass(frozen=True)
class Question:
    """What herd7 is asked."""

    test: Litmus
    kind: str
    change: str
    threads: tuple[Thread, ...]
    model: Model


def sequence_of(threads: Sequence[Sequence[Instruction]]) -> str:
    """The instructions of a test that access memory or order, and the branches that POWER's isync
    needs. Registers and what computes in them differ between compilers and order nothing here."""
    return " | ".join(
        " ".join(
            f"{one.mnemonic} {one.operands}" if one.mnemonic == "dmb" else one.mnemonic
            for one in code
            if touches_memory(one) or one.mnemonic == "bne-" or _BARRIER.fullmatch(one.mnemonic)
        )
        for code in threads
    )


def fence_kinds_of(flavour: str) -> list[str]:
    """The fence kinds that an instruction set has."""
    refused = ISAS[TARGETS[flavour].isa].refused_fence_kinds
    return [fence for fence in FENCE_KINDS if fence not in refused]


def tests_of(flavour: str) -> Iterator[tuple[str, Litmus, list[Thread], list[Thread]]]:
    """(fence kind, test, its threads, those of its contrast), compiled."""
    for fence in fence_kinds_of(flavour):
        tests = tuple(test for test in litmus_tests(fence) if _changes(test.primitive, fence))
        compiled = compile_tests(tests, flavour, fence)
        for test, (threads, contrast) in zip(tests, compiled, strict=True):
            yield fence, test, threads, contrast


def _changes(primitive: str, fence: str) -> bool:
    """Whether a primitive depends on the fence kind, for all but the full fence."""
    return fence == "full" or len(primitives()[primitive].fences) > 1


def _questions(
    flavour: str, test: Litmus, threads: list[Thread], contrast: list[Thread]
) -> Iterator[Question]:
    models = models_of(flavour, test)
    kind = "promised" if test.promised else "beyond"
    for model in models:
        yield Question(test, kind, "", tuple(threads), model)
    locks = TARGETS[flavour].isa == "x86_64"  # what `lock` is for is atomicity
    if test.promised and (test.orders or locks):
        for title, weaker in weakenings(threads, test.tested, flavour):
            if "xchg" in title and not test.primitive.startswith("store_"):
                continue  # a store in its place would not give the value that is asked for
            yield Question(test, "weakened", title, tuple(weaker), models[-1])
    if contrast:
        yield Question(test, "contrast", "", tuple(contrast), models[-1])


def questions(flavour: str) -> list[tuple[str, Question]]:
    """All questions of a flavour, each with its fence kind."""
    return [
        (fence, question)
        for fence, test, threads, contrast in tests_of(flavour)
        for question in _questions(flavour, test, threads, contrast)
    ]


def compiler_of(flavour: str) -> str:
    """The name and version of the compiler of a flavour."""
    return compiler_name(compiler_version(find_compiler(flavour)))


def verdicts(
    herd: Herd,
    flavour: str,
    asked: Iterable[tuple[str, Question]],
    jobs: int,
    tell: Callable[[], None] = lambda: None,
) -> list[Row]:
    """The verdicts of a flavour's questions."""
    compiler = compiler_of(flavour)

    def row(item: tuple[str, Question]) -> Row:
        found = _row(herd, flavour, item[0], item[1], compiler)
        tell()
        return found

    with ThreadPoolExecutor(jobs) as pool:
        return [*codes(flavour, compiler), *pool.map(row, asked)]


def codes(flavour: str, compiler: str) -> Iterator[Row]:
    """What each primitive by itself is compiled to."""
    for fence in fence_kinds_of(flavour):
        for name, code in compile_probes(flavour, fence).items():
            if _changes(name, fence):
                yield Row(
                    name, flavour, fence, primitives()[name].promise, "", "code", "", "", "", "",
                    "", 0, "", compiler, sequence_of([code]),
                )  # fmt: skip


def litmus_of(flavour: str, question: Question) -> str:
    """What herd7 reads. Raises TranslationError."""
    test = question.test
    threads = [without_reservations(x) if test.mixed else x for x in question.threads]
    return litmus_text(
        test.primitive, threads, flavour, test.forbidden, dict(test.bits), test.first
    )


def _row(herd: Herd, flavour: str, fence: str, question: Question, compiler: str) -> Row:
    test, threads = question.test, question.threads
    said, bound, executions, seconds = "", "", 0, ""
    try:
        answer = ask(herd, litmus_of(flavour, question), question.model.options)
        said, executions, seconds = answer.verdict, answer.executions, f"{answer.seconds:.2f}"
        bound = "2 turns of each loop" if answer.bounded else ""
    except TranslationError as error:
        said = f"none: {error}".split(";")[0]
    return Row(
        test.primitive,
        flavour,
        fence,
        test.promise,
        test.name,
        question.kind,
        question.change,
        question.model.name,
        f"herd7 {herd.version}",
        said,
        bound,
        executions,
        seconds,
        compiler,
        "" if question.kind == "weakened" else sequence_of([one.code for one in threads]),
    )
