"""What herd7 is asked of the primitives and of the locks, and its verdicts, as they are stored in
results/reference/assembly.csv."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from proofs import files
from proofs.assembly.herd import Herd, Model, TranslationError, ask, litmus_text, models_of
from proofs.assembly.instructions import (
    Instruction,
    Thread,
    compile_probes,
    compile_threads,
    touches_memory,
    weakenings,
)
from proofs.assembly.litmus import Litmus, litmus_tests, pair_tests, pairs, primitives
from results.errors import LockcrossError
from results.paths import REFERENCE
from results.store.queries import compiler_name
from sweeps.model.isa import FENCE_KINDS, ISAS
from sweeps.model.locks import load_locks
from sweeps.programs import TARGETS, compiler_version, find_compiler

STORED = REFERENCE / "assembly.csv"


@dataclass(frozen=True)
class Row:
    """One verdict. `kind`: lock (its own functions), code, promised, beyond (the promise), weakened
    or contrast."""

    primitive: str  # or lock
    flavour: str
    fence: str
    promise: str
    litmus: str
    kind: str
    change: str  # what was weakened
    model: str
    tool: str
    verdict: str  # forbidden, allowed, undecided, or why there is none
    bound: str  # of loops
    executions: int
    seconds: str
    compiler: str
    instructions: str  # of all threads; empty for what was weakened

    @property
    def place(self) -> tuple[str, str]:
        """What was asked as one."""
        return self.flavour, self.compiler

    @property
    def answer(self) -> "Row":
        """Without who made it, and when."""
        return replace(self, tool="", executions=0, seconds="", compiler="")


def read_rows(path: Path = STORED) -> list[Row]:
    """All stored verdicts; none where nothing is stored."""
    return files.read_rows(Row, path)


write_rows = partial(files.write_rows, Row)


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """New verdicts in place of those of the same flavours and compilers; of another compiler only
    those that its instructions differ in, since the same instructions have the same verdict."""
    groups: dict[tuple[str, str], list[Row]] = {row.place: [] for row in [*old, *new]}
    done = {row.place for row in new}
    for row in [*(row for row in old if row.place not in done), *new]:
        groups[row.place].append(row)
    kept: list[Row] = []
    known: set[Row] = set()
    for rows in groups.values():  # the compiler that was stored first comes first
        kept += [row for row in rows if row.answer not in known]
        known |= {row.answer for row in rows}
    return kept


@dataclass(frozen=True)
class Question:
    """What herd7 is asked."""

    fence: str
    test: Litmus
    kind: str
    change: str
    threads: tuple[Thread, ...]
    model: Model


def sequence_of(threads: Sequence[Sequence[Instruction]]) -> str:
    """The instructions of a test that access memory or order, and the branches that POWER's isync
    needs. Registers and what computes in them differ between compilers and order nothing here."""
    orders = r"bne-|dmb|isb|(hw|lw|i)?sync|eieio|[mls]fence"
    return " | ".join(
        " ".join(
            f"{one.mnemonic} {one.operands}" if one.mnemonic == "dmb" else one.mnemonic
            for one in code
            if touches_memory(one) or re.fullmatch(orders, one.mnemonic)
        )
        for code in threads
    )


def flavours_of(isas: Sequence[str]) -> list[str]:
    """The flavours of instruction sets; none: all. Raises LockcrossError for an unknown one."""
    if unknown := [isa for isa in isas if isa not in ISAS]:
        raise LockcrossError(
            f"instruction set {unknown[0]!r} is unknown; known are {', '.join(ISAS)}"
        )
    return [flavour for isa in isas or ISAS for flavour in ISAS[isa].flavours]


def fence_kinds_of(flavour: str) -> list[str]:
    """The fence kinds that an instruction set has."""
    refused = ISAS[TARGETS[flavour].isa].refused_fence_kinds
    return [fence for fence in FENCE_KINDS if fence not in refused]


def _changes(primitive: str, fence: str) -> bool:
    """Whether a primitive depends on the fence kind, for all but the full fence."""
    return fence == "full" or len(primitives()[primitive].fences) > 1


@cache
def questions(flavour: str) -> tuple[Question, ...]:
    """What herd7 is asked of a flavour: of the primitives, then of the locks."""
    return (*_of_primitives(flavour), *_of_locks(flavour))


def _of_primitives(flavour: str) -> Iterator[Question]:
    for fence in fence_kinds_of(flavour):
        tests = [test for test in litmus_tests(fence) if _changes(test.primitive, fence)]
        contrasts = [replace(test, threads=test.contrast) for test in tests]
        compiled = compile_threads([*tests, *contrasts], flavour, fence)
        for test, threads, contrast in zip(tests, compiled, compiled[len(tests) :], strict=False):
            models = models_of(flavour, test)
            kind = "promised" if test.promised else "beyond"
            for model in models:
                yield Question(fence, test, kind, "", threads, model)
            locks = TARGETS[flavour].isa == "x86_64"  # what `lock` is for is atomicity
            if test.promised and (test.orders or locks):
                for title, weaker in weakenings(threads, test.tested, flavour):
                    if "xchg" in title and not test.primitive.startswith("store_"):
                        continue  # a store in its place would not give the value asked for
                    yield Question(fence, test, "weakened", title, weaker, models[-1])
            if contrast:
                yield Question(fence, test, "contrast", "", contrast, models[-1])


_THREAD = "{{.tid = {tid}, .tid_field = {tid}u << LOCK_MEMBER(_tid_shift)}}"
_LOCK_HEAD = (
    '#include "lock.h"\n'
    "#define me (*(lock_thread_t *)&me_)\n#define it (*(lock_thread_t *)&it_)\n"
    f"__attribute__((unused)) static const lock_thread_t me_ = {_THREAD.format(tid=1)};\n"
    f"__attribute__((unused)) static const lock_thread_t it_ = {_THREAD.format(tid=2)};\n"
)
_FENCE = re.compile(r"(dmb ish|hwsync|mfence|xchg) ->")


def _of_locks(flavour: str) -> Iterator[Question]:
    for lock, fence in ((lock, fence) for lock in pairs() for fence in fence_kinds_of(flavour)):
        if fence not in load_locks()[lock].fence_kinds:
            continue
        tests, options = pair_tests(lock), (f"-DLOCKCROSS_LOCK={lock}",)
        compiled = compile_threads(tests, flavour, fence, _LOCK_HEAD, options)
        for test, threads in zip(tests, compiled, strict=True):
            models = models_of(flavour, test)
            for model in models:
                yield Question(fence, test, "lock", "", threads, model)
            fences_alone = pairs()[lock][test.name].fences
            for i in range(len(threads)):
                for title, weaker in weakenings(threads, frozenset({i}), flavour):
                    if not fences_alone or _FENCE.search(title):
                        change = f"P{i}, {title}"
                        yield Question(fence, test, "weakened", change, weaker, models[-1])


def compiler_of(flavour: str) -> str:
    """The name and version of the compiler of a flavour."""
    return compiler_name(compiler_version(find_compiler(flavour)))


def codes(flavour: str) -> Iterator[Row]:
    """What each primitive by itself is compiled to."""
    compiler = compiler_of(flavour)
    for fence in fence_kinds_of(flavour):
        for name, code in compile_probes(flavour, fence).items():
            if _changes(name, fence):
                yield Row(
                    name, flavour, fence, primitives()[name].promise, "", "code", "", "", "", "",
                    "", 0, "", compiler, sequence_of([code]),
                )  # fmt: skip


def verdicts(
    herd: Herd, flavour: str, asked: Iterable[Question], jobs: int, tell: Callable[[], None]
) -> list[Row]:
    """What the primitives of a flavour are compiled to, and herd7's verdicts of what it is asked,
    `jobs` at a time; `tell` is told of each."""
    compiler = compiler_of(flavour)

    def row(question: Question) -> Row:
        test, threads = question.test, question.threads
        said, bound, executions, seconds = "", "", 0, ""
        try:
            answer = ask(herd, litmus_text(test, threads, flavour), question.model.options)
            said, executions, seconds = answer.verdict, answer.executions, f"{answer.seconds:.2f}"
            bound = "2 turns of each loop" if answer.bounded else ""
        except TranslationError as error:
            said = f"none: {error}".split(";")[0]
        code = "" if question.kind == "weakened" else sequence_of([one.code for one in threads])
        tell()
        return Row(
            test.primitive, flavour, question.fence, test.promise, test.name, question.kind,
            question.change, question.model.name, f"herd7 {herd.version}", said, bound, executions,
            seconds, compiler, code,
        )  # fmt: skip

    with ThreadPoolExecutor(jobs) as pool:
        return [*codes(flavour), *pool.map(row, asked)]
