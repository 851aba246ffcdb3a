"""What herd7 is asked of the primitives and of the locks, and its verdicts, as they are stored in
results/reference/assembly.csv."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

from proofs import files
from proofs.assembly.herd import Herd, TranslationError, litmus_text, models_of
from proofs.assembly.instructions import (
    Thread,
    compile_probes,
    compile_threads,
    sequence_of,
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
    litmus: str = ""
    kind: str = ""
    change: str = ""  # what was weakened
    model: str = ""
    tool: str = ""
    verdict: str = ""  # forbidden, allowed, undecided, or why there is none
    bound: str = ""  # of loops
    executions: int = 0
    seconds: str = ""
    compiler: str = ""
    instructions: str = ""  # of all threads; empty for what was weakened


read_rows = partial(files.read_rows, Row, STORED)
write_rows = partial(files.write_rows, Row)


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """New verdicts in place of those of the same flavours and compilers; of another compiler only
    those that its instructions differ in, since the same instructions have the same verdict."""
    places = {(row.flavour, row.compiler): dict[Row, Row]() for row in [*old, *new]}
    done = {(row.flavour, row.compiler) for row in new}
    for row in [*(row for row in old if (row.flavour, row.compiler) not in done), *new]:
        answer = replace(row, tool="", executions=0, seconds="", compiler="")
        places[row.flavour, row.compiler][row] = answer
    kept: list[Row] = []
    known: set[Row] = set()
    for answers in places.values():  # the compiler that was stored first comes first
        kept += [row for row, answer in answers.items() if answer not in known]
        known |= set(answers.values())
    return kept


@dataclass(frozen=True)
class Question:
    """What herd7 is asked, with the options of a model. `row` has all but the answer."""

    row: Row
    test: Litmus
    threads: tuple[Thread, ...]
    options: Sequence[str]


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


def _asked(
    flavour: str, fence: str, test: Litmus, kind: str, threads: tuple[Thread, ...], change: str = ""
) -> Iterator[Question]:
    """Under every model; what must allow the outcome only under that which shows the promise."""
    weakened = kind == "weakened"
    sequence = "" if weakened else sequence_of([one.code for one in threads])
    models = models_of(flavour, test)
    for model in list(models)[-1:] if weakened or kind == "contrast" else models:
        row = Row(
            test.primitive, flavour, fence, test.promise, test.name, kind, change, model,
            compiler=compiler_of(flavour), instructions=sequence,
        )  # fmt: skip
        yield Question(row, test, threads, models[model])


def _of_primitives(flavour: str) -> Iterator[Question]:
    for fence in fence_kinds_of(flavour):
        ask = partial(_asked, flavour, fence)
        tests = [test for test in litmus_tests(fence) if _changes(test.primitive, fence)]
        contrasts = [test.model_copy(update={"threads": test.contrast}) for test in tests]
        compiled = compile_threads([*tests, *contrasts], flavour, fence)
        for test, threads, contrast in zip(tests, compiled, compiled[len(tests) :], strict=False):
            yield from ask(test, "promised" if test.promised else "beyond", threads)
            locks = TARGETS[flavour].isa == "x86_64"  # what `lock` is for is atomicity
            if test.promised and (test.orders or locks):
                for title, weaker in weakenings(threads, test.tested, flavour):
                    # A store in place of an exchange would not give the value asked for.
                    if "xchg" not in title or test.primitive.startswith("store_"):
                        yield from ask(test, "weakened", weaker, title)
            if contrast:
                yield from ask(test, "contrast", contrast)


_THREAD = "{{.tid = {tid}, .tid_field = {tid}u << LOCK_MEMBER(_tid_shift)}}"
_LOCK_HEAD = (
    '#include "lock.h"\n'
    "#define me (*(lock_thread_t *)&me_)\n#define it (*(lock_thread_t *)&it_)\n"
    f"__attribute__((unused)) static const lock_thread_t me_ = {_THREAD.format(tid=1)};\n"
    f"__attribute__((unused)) static const lock_thread_t it_ = {_THREAD.format(tid=2)};\n"
)
_FENCE = re.compile(r"(dmb ish|hwsync|mfence|xchg) ->")


def _of_locks(flavour: str) -> Iterator[Question]:
    for lock, fence in product(pairs(), fence_kinds_of(flavour)):
        if fence not in load_locks()[lock].fence_kinds:
            continue
        tests, options = pair_tests(lock), (f"-DLOCKCROSS_LOCK={lock}",)
        compiled = compile_threads(tests, flavour, fence, _LOCK_HEAD, options)
        for test, threads in zip(tests, compiled, strict=True):
            yield from _asked(flavour, fence, test, "lock", threads)
            fences_alone = pairs()[lock][test.name].fences
            for i in range(len(threads)):
                for title, weaker in weakenings(threads, [i], flavour):
                    if not fences_alone or _FENCE.search(title):
                        change = f"P{i}, {title}"
                        yield from _asked(flavour, fence, test, "weakened", weaker, change)


@cache
def compiler_of(flavour: str) -> str:
    """The name and version of the compiler of a flavour."""
    return compiler_name(compiler_version(find_compiler(flavour)))


def codes(flavour: str) -> Iterator[Row]:
    """What each primitive by itself is compiled to."""
    for fence in fence_kinds_of(flavour):
        for name, code in compile_probes(flavour, fence).items():
            if _changes(name, fence):
                yield Row(
                    name, flavour, fence, primitives()[name].promise, kind="code",
                    compiler=compiler_of(flavour), instructions=sequence_of([code]),
                )  # fmt: skip


def verdicts(
    herd: Herd, flavour: str, asked: Iterable[Question], jobs: int, tell: Callable[[], None]
) -> list[Row]:
    """What the primitives of a flavour are compiled to, and herd7's verdicts of what it is asked,
    `jobs` at a time; `tell` is told of each."""

    def answered(question: Question) -> Row:
        try:
            text = litmus_text(question.test, question.threads, flavour)
            answer = herd.ask(text, question.options)
        except TranslationError as error:
            answer = {"verdict": f"none: {error}".split(";")[0]}
        tell()
        return replace(question.row, tool=f"herd7 {herd.version}", **answer)

    with ThreadPoolExecutor(jobs) as pool:
        return [*codes(flavour), *pool.map(answered, asked)]
