"""The questions for herd7 about the primitives and the locks, and its verdicts, as they are stored
in results/reference/assembly.csv."""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

from results.errors import check_known
from results.paths import REFERENCE
from results.store.queries import compiler_name
from sweeps.model.isa import ISAS
from sweeps.model.locks import FENCE_KINDS, FULL, LOCK_ADD, MEMBARRIER, load_locks
from sweeps.programs import TARGETS, compiler_version, find_compiler
from sweeps.questions.prove.assembly import herd, litmus
from sweeps.questions.prove.assembly.instructions import (
    Code,
    compile_probes,
    compile_threads,
    sequence_of,
    weakenings,
)
from sweeps.questions.prove.assembly.litmus import Litmus, pairs, primitives
from sweeps.support import csv_rows

STORED = REFERENCE / "assembly.csv"


@dataclass(frozen=True)
class AssemblyRow:
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


read_rows = partial(csv_rows.read_rows, AssemblyRow, STORED)
write_rows = partial(csv_rows.write_rows, AssemblyRow)


def merged(old: Sequence[AssemblyRow], new: Sequence[AssemblyRow]) -> list[AssemblyRow]:
    """Return new verdicts in place of those of the same flavours and compilers; of another compiler
    only those that its instructions differ in, since the same instructions have the same verdict.
    """
    places = list(dict.fromkeys((row.flavour, row.compiler) for row in [*old, *new]))
    renewed = {(row.flavour, row.compiler) for row in new}
    rows = [*(row for row in old if (row.flavour, row.compiler) not in renewed), *new]
    rows.sort(key=lambda row: places.index((row.flavour, row.compiler)))
    by_answer: dict[AssemblyRow, AssemblyRow] = {}
    for row in rows:  # the compiler that was stored first comes first
        answer = replace(row, tool="", executions=0, seconds="", compiler="")
        by_answer.setdefault(answer, row)
    return list(by_answer.values())


@dataclass(frozen=True)
class Question:
    """A test for herd7, with the options of a model. `row` has all but the answer."""

    row: AssemblyRow
    test: Litmus
    codes: tuple[Code, ...]
    options: Sequence[str]


def flavours_of(isas: Sequence[str]) -> list[str]:
    """Return the flavours of instruction sets, without names of all. Raises LockcrossError."""
    check_known("instruction set", isas, ISAS)
    return [flavour for isa in isas or ISAS for flavour in ISAS[isa].flavours]


def fence_kinds_of(flavour: str) -> list[str]:
    """Return the fence kinds that an instruction set has; not `membarrier`, since no architecture's
    model has a barrier of all threads, and without it its instructions promise nothing; nor
    `lock_add`, whose place is the stack, which a litmus test does not have."""
    refused = {*ISAS[TARGETS[flavour].isa].refused_fence_kinds, MEMBARRIER, LOCK_ADD}
    return [fence for fence in FENCE_KINDS if fence not in refused]


def _changes(primitive: str, fence: str) -> bool:
    """Say whether a primitive depends on the fence kind; for the full fence all are taken."""
    return fence == FULL or len(primitives()[primitive].fences) > 1


def _is_asked(primitive: str, flavour: str) -> bool:
    """Say whether herd7 has words for a primitive's instructions."""
    return flavour not in primitives()[primitive].unasked


@cache
def questions(flavour: str) -> tuple[Question, ...]:
    """Return the questions for herd7 on a flavour: on the primitives, then on the locks."""
    return (*_of_primitives(flavour), *_of_locks(flavour))


def _questions(
    flavour: str, fence: str, test: Litmus, kind: str, codes: tuple[Code, ...], change: str = ""
) -> Iterator[Question]:
    """Ask under every model; about a weakened form or a contrast only under the one that shows the
    promise."""
    weakened = kind == "weakened"
    sequence = "" if weakened else sequence_of(codes)
    models = herd.models_of(flavour, test)
    for model in list(models)[-1:] if weakened or kind == "contrast" else models:
        row = AssemblyRow(
            test.primitive, flavour, fence, test.promise, test.name, kind, change, model,
            compiler=compiler_of(flavour), instructions=sequence,
        )  # fmt: skip
        yield Question(row, test, codes, models[model])


def _of_primitives(flavour: str) -> Iterator[Question]:
    for fence in fence_kinds_of(flavour):
        ask = partial(_questions, flavour, fence)
        tests = [
            test
            for test in litmus.litmus_tests(fence)
            if _changes(test.primitive, fence) and _is_asked(test.primitive, flavour)
        ]
        contrasts = [test.model_copy(update={"threads": test.contrast}) for test in tests]
        compiled = compile_threads([*tests, *contrasts], flavour, fence)
        quadruples = zip(tests, compiled, contrasts, compiled[len(tests) :], strict=False)
        for test, codes, contrast, of_contrast in quadruples:
            yield from ask(test, "promised" if test.promised else "beyond", codes)
            locks = TARGETS[flavour].isa == "x86_64"  # what `lock` is for is atomicity
            if test.promised and (test.orders or locks):
                for title, weaker in weakenings(codes, test.tested, flavour):
                    # A store in place of an exchange would not give the value asked for.
                    if "xchg" not in title or test.primitive.startswith("store_"):
                        yield from ask(test, "weakened", weaker, title)
            if of_contrast:
                yield from ask(contrast, "contrast", of_contrast)


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
        tests, define = litmus.pair_tests(lock), f"-DLOCKCROSS_LOCK={lock}"
        compiled = compile_threads(tests, flavour, fence, _LOCK_HEAD, define)
        for test, codes in zip(tests, compiled, strict=True):
            yield from _questions(flavour, fence, test, "lock", codes)
            fences_alone = pairs()[lock][test.name].fences
            for i in range(len(codes)):
                for title, weaker in weakenings(codes, [i], flavour):
                    if not fences_alone or _FENCE.search(title):
                        change = f"P{i}, {title}"
                        yield from _questions(flavour, fence, test, "weakened", weaker, change)


@cache
def compiler_of(flavour: str) -> str:
    return compiler_name(compiler_version(find_compiler(flavour)))


def codes(flavour: str) -> Iterator[AssemblyRow]:
    """Yield the code that each primitive by itself is compiled to."""
    for fence in fence_kinds_of(flavour):
        for name, code in compile_probes(flavour, fence).items():
            if _changes(name, fence) and _is_asked(name, flavour):
                yield AssemblyRow(
                    name, flavour, fence, primitives()[name].promise, kind="code",
                    compiler=compiler_of(flavour), instructions=sequence_of([code]),
                )  # fmt: skip


def verdicts(
    herd7: herd.Herd, flavour: str, at_once: int, tell: Callable[[], None]
) -> list[AssemblyRow]:
    """Return the code of the primitives of a flavour, and herd7's verdicts on the
    questions about it; `tell` is told of each."""

    def answered(question: Question) -> AssemblyRow:
        try:
            text = herd.litmus_text(question.test, question.codes, flavour)
            answer = herd7.ask(text, question.options)
        except herd.TranslationError as error:
            answer = {"verdict": f"none: {error}".split(";")[0]}
        tell()
        return replace(question.row, tool=f"herd7 {herd7.version}", **answer)

    with ThreadPoolExecutor(at_once) as pool:
        return [*codes(flavour), *pool.map(answered, questions(flavour))]
