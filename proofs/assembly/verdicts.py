"""What herd7 is asked of the primitives and of the locks, in its own language, and its verdicts, as
they are stored in results/reference/assembly.csv. Nothing is added to the compiled instructions or
left out but what only computes in registers and what herd7 has no word for, which instructions.toml
says."""

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product, zip_longest
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from proofs import files
from proofs.assembly.litmus import (
    FOLDER,
    Code,
    Instruction,
    Litmus,
    arguments_of,
    compile_probes,
    compile_threads,
    instruction_set,
    litmus_tests,
    pair_tests,
    pairs,
    primitives,
    sequence_of,
    weakenings,
)
from results.errors import LockcrossError, check_known
from results.paths import REFERENCE
from results.store.queries import compiler_name
from sweeps.model.isa import ISAS
from sweeps.model.locks import FENCE_KINDS, LOCK_ADD, MEMBARRIER, load_locks
from sweeps.programs import TARGETS, compiler_version, find_compiler
from sweeps.support import tools

_END = "LEND"
_UPPER = "and $-4294967296"  # the upper half of a register
_SIZES = re.compile(
    r"[ ,]%(?:(?P<q>r(?:[a-d]x|[sd]i|\d+))|(?P<l>e(?:[a-d]x|[sd]i)|r\d+d)|"
    r"(?P<b>[a-d]l|[sd]il|r\d+b)|(?P<w>[a-d]x|[sd]i|r\d+w))(?=,|$)"
)


class TranslationError(LockcrossError):
    """herd7 has no word for an instruction."""


def _translated(instruction: Instruction, flavour: str) -> list[str]:
    """The lines that stand for an instruction. Raises TranslationError."""
    known = instruction_set(flavour)
    operands = re.sub(r"\b([wx])(\d+|zr)\b", lambda name: name[0].upper(), instruction.operands)
    operands = re.sub(r"-?0x[0-9a-f]+", lambda number: str(int(number[0], 16)), operands)
    target = "" if instruction.target is None else _label(instruction.target)
    arguments = ",".join(filter(None, (operands.replace(" ", ""), target)))
    text = f"{instruction.mnemonic} {arguments}".strip()
    last = int(re.findall(r"\d+", f"0 {text}")[-1])
    size = _SIZES.search(re.sub(r"\(.*?\)", "()", text))  # of no register of an address
    letter = size.lastgroup if size else ""
    words = {"size": letter, "low": last & 0xFFFF, "high": last >> 16, "rest": 31 - last}
    fitting = ((re.fullmatch(pattern, text), lines) for pattern, *lines in known.rules)
    fits, lines = next((rule for rule in fitting if rule[0]), (None, []))
    if fits and lines:
        return [fits.expand(line.format_map(words)) for line in lines]
    raise TranslationError(
        f"{known.called} instruction {instruction.mnemonic} {instruction.operands} is not known to "
        "herd7; proofs/assembly/instructions.toml says which are",
        exit_code=1,
    )


def _label(address: int) -> str:
    return f"L{address:x}"


def column(code: Code, flavour: str) -> list[str]:
    """A thread as herd7 reads it, a label or an instruction each."""
    leave = f"{instruction_set(flavour).jump} {_END}"
    labels = {instruction.target for instruction in code}
    lines: list[str] = []
    for instruction in code:
        if instruction.address in labels:
            lines.append(f"{_label(instruction.address)}:")
        lines += (
            [leave] if instruction.mnemonic in ("ret", "blr") else _translated(instruction, flavour)
        )
    for n, line in enumerate(lines):
        if line.startswith(_UPPER):
            narrow, wide = f"movl %e{line[-2:]},(", f"movq %r{line[-2:]},("
            lines[n:] = [other.replace(narrow, wide) for other in lines[n:]]
    if lines and lines[-1] == leave:
        lines.pop()
    return [*lines, f"{_END}:"] if any(_END in line for line in lines) else lines


def litmus_text(test: Litmus, codes: Sequence[Code], flavour: str) -> str:
    """A whole litmus test of compiled threads; what a thread saw in `r` is in the place `saw_r`.
    Raises TranslationError."""
    known = instruction_set(flavour)
    # herd7 knows POWER's pair only where all accesses have one size; power_apart.cat and
    # power_together.cat keep the plain pair atomic.
    plain = {"lwarx": "lwzx", "stwcx.": "stwx"} if test.mixed else {}
    bits, head, columns = dict(test.bits), [], []
    arguments = [arguments_of(thread) for thread in test.threads]
    for i, (own, code) in enumerate(zip(arguments, codes, strict=True)):
        plainly = (
            replace(instruction, mnemonic=plain.get(instruction.mnemonic, instruction.mnemonic))
            for instruction in code
        )
        lines = column(tuple(plainly), flavour)
        if any(line.startswith(_UPPER) for line in lines):
            bits |= {argument: 64 for argument in own if argument not in "xyz"}
        # herd7 wants the labels of threads to differ.
        lines = [re.sub(r"\bL([0-9a-f]+|END)\b", rf"T{i}L\1", line) for line in lines]
        columns.append([f"P{i}", *lines])
        registers = zip(known.arguments, own, strict=False)
        head += [f"{i}:{register}={_place(argument)};" for register, argument in registers]
    places = sorted({argument for own in arguments for argument in own})
    first = [
        f"uint{bits.get(place, 32)}_t {_place(place)}={test.first.get(place, 0)};"
        for place in places
    ]
    body = [" | ".join(row) + " ;" for row in zip_longest(*columns, fillvalue="")]
    terms = test.forbidden.split(" & ")
    terms = [re.sub(r"^[a-z](?==)", lambda place: _place(place[0]), term) for term in terms]
    exists = f"exists ({' & '.join(terms)})".replace("&", "/\\")
    return "\n".join(
        [f"{known.title} {test.primitive}", "{", *first, *head, "}", *body, exists, ""]
    )


def _place(name: str) -> str:
    return name if name in "xyz" else f"saw_{name}"


_VARIABLE = "HERD7"
_DOCUMENTATION = "https://diy.inria.fr/doc/herd.html"
_LIMIT_S = 600.0
_OBSERVATION = re.compile(r"^Observation \S+ (Never|Sometimes|Always) (\d+) (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Herd:
    """One binary and its version."""

    path: str
    version: str

    def ask(self, text: str, options: Sequence[str]) -> dict[str, Any]:
        """Whether the outcome of a litmus test can be: `verdict` (allowed, forbidden, or undecided
        within the limit of time), `executions`, `seconds`, and `bound`, where some loop has more
        turns than were looked at. Raises LockcrossError when herd7 refuses it."""
        with tempfile.TemporaryDirectory(prefix="lockcross-") as folder:
            path = Path(folder) / "test.litmus"
            path.write_text(text)
            begun = time.monotonic()
            try:
                done = tools.run([self.path, *options, str(path)], _LIMIT_S)
            except TimeoutExpired:
                return {"verdict": "undecided", "seconds": f"{_LIMIT_S:.2f}"}
            seconds = time.monotonic() - begun
        observed = _OBSERVATION.search(done.stdout)
        executions = int(observed[2]) + int(observed[3]) if observed else 0
        if not observed or not executions:
            said = " ".join((done.stderr or done.stdout).split())[-300:]
            raise LockcrossError(f"herd7 refuses a test: {said}\n{text}", exit_code=1)
        return {
            "verdict": "forbidden" if observed[1] == "Never" else "allowed",
            "bound": "2 turns of each loop" if "unrolling limit" in done.stderr else "",
            "executions": executions,
            "seconds": f"{seconds:.2f}",
        }


def find_herd() -> Herd:
    """The herd7 in HERD7 or on PATH. Raises LockcrossError (1) when there is none that runs."""
    tool = tools.Tool(
        "herd7",
        ("herd7",),
        "not an executable program; name a herd7 binary there",
        f"name its binary in {_VARIABLE} or put it on PATH. It is part of herdtools7: "
        f"{_DOCUMENTATION}",
    )
    path, _ = tool.locate(_VARIABLE)
    if version := tool.version(r"^(\d[^,\s]*)", path, "-version"):
        return Herd(path, version)
    raise LockcrossError(f"herd7 ({path}) prints no version; is it a herd7?", 1)


def models_of(flavour: str, test: Litmus) -> dict[str, list[str]]:
    """The memory models for a test with herd7's options: its own, and those of proofs/assembly/.
    The last one is that under which the promise is to be shown."""
    options = ["-variant", "mixed"] * test.mixed
    match TARGETS[flavour].isa:
        case "aarch64":
            names = ["aarch64.cat"]
        case "x86_64":
            names = ["x86_64.cat"]
        case _:
            options = ["-endian", "little", *options]
            names = ["ppc.cat"]
            if test.mixed:
                names = ["power_apart.cat", "power_together.cat"]
            elif any(word in test.primitive for word in ("cas_", "swap_", "fetch_")):
                names.append("power_reserved.cat")
    own = {name: FOLDER / name for name in names if (FOLDER / name).exists()}
    chosen = {name: ["-I", str(FOLDER), "-model", str(path)] for name, path in own.items()}
    return {name: [*chosen.get(name, ()), *options] for name in names}


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
    codes: tuple[Code, ...]
    options: Sequence[str]


def flavours_of(isas: Sequence[str]) -> list[str]:
    """The flavours of instruction sets; none: all. Raises LockcrossError for an unknown one."""
    check_known("instruction set", isas, ISAS)
    return [flavour for isa in isas or ISAS for flavour in ISAS[isa].flavours]


def fence_kinds_of(flavour: str) -> list[str]:
    """The fence kinds that an instruction set has; not `membarrier`, since no architecture's model
    has a barrier of all threads, and without it its instructions promise nothing; nor `lock_add`,
    whose place is the stack, which a litmus test does not have."""
    refused = {*ISAS[TARGETS[flavour].isa].refused_fence_kinds, MEMBARRIER, LOCK_ADD}
    return [fence for fence in FENCE_KINDS if fence not in refused]


def _changes(primitive: str, fence: str) -> bool:
    """Whether a primitive depends on the fence kind, for all but the full fence."""
    return fence == "full" or len(primitives()[primitive].fences) > 1


@cache
def questions(flavour: str) -> tuple[Question, ...]:
    """What herd7 is asked of a flavour: of the primitives, then of the locks."""
    return (*_of_primitives(flavour), *_of_locks(flavour))


def _asked(
    flavour: str, fence: str, test: Litmus, kind: str, codes: tuple[Code, ...], change: str = ""
) -> Iterator[Question]:
    """Under every model; what must allow the outcome only under that which shows the promise."""
    weakened = kind == "weakened"
    sequence = "" if weakened else sequence_of(codes)
    models = models_of(flavour, test)
    for model in list(models)[-1:] if weakened or kind == "contrast" else models:
        row = Row(
            test.primitive, flavour, fence, test.promise, test.name, kind, change, model,
            compiler=compiler_of(flavour), instructions=sequence,
        )  # fmt: skip
        yield Question(row, test, codes, models[model])


def _of_primitives(flavour: str) -> Iterator[Question]:
    for fence in fence_kinds_of(flavour):
        ask = partial(_asked, flavour, fence)
        tests = [test for test in litmus_tests(fence) if _changes(test.primitive, fence)]
        contrasts = [test.model_copy(update={"threads": test.contrast}) for test in tests]
        compiled = compile_threads([*tests, *contrasts], flavour, fence)
        every = zip(tests, compiled, contrasts, compiled[len(tests) :], strict=False)
        for test, codes, contrast, of_contrast in every:
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
        tests, define = pair_tests(lock), f"-DLOCKCROSS_LOCK={lock}"
        compiled = compile_threads(tests, flavour, fence, _LOCK_HEAD, define)
        for test, codes in zip(tests, compiled, strict=True):
            yield from _asked(flavour, fence, test, "lock", codes)
            fences_alone = pairs()[lock][test.name].fences
            for i in range(len(codes)):
                for title, weaker in weakenings(codes, [i], flavour):
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
            text = litmus_text(question.test, question.codes, flavour)
            answer = herd.ask(text, question.options)
        except TranslationError as error:
            answer = {"verdict": f"none: {error}".split(";")[0]}
        tell()
        return replace(question.row, tool=f"herd7 {herd.version}", **answer)

    with ThreadPoolExecutor(jobs) as pool:
        return [*codes(flavour), *pool.map(answered, asked)]
