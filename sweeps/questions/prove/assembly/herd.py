"""herd7: litmus tests of compiled threads in its own language, and its verdicts. Nothing is added
to the compiled instructions. Left out are computations in registers and instructions that herd7
does not know, listed in instructions.toml."""

import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from results.errors import LockcrossError
from sweeps.programs import TARGETS
from sweeps.questions.prove.assembly.instructions import Code, Instruction, instruction_set
from sweeps.questions.prove.assembly.litmus import DATA, PLACES, Litmus, arguments_of
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
    """Return the lines that stand for an instruction. Raises TranslationError."""
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
    """Write a thread as herd7 reads it, a label or an instruction per line."""
    leave = f"{instruction_set(flavour).jump} {_END}"
    labels = {instruction.target for instruction in code}
    lines: list[str] = []
    for instruction in code:
        if instruction.address in labels:
            lines.append(f"{_label(instruction.address)}:")
        returns = instruction.mnemonic in ("ret", "blr")
        lines += [leave] if returns else _translated(instruction, flavour)
    for n, line in enumerate(lines):
        if line.startswith(_UPPER):
            narrow, wide = f"movl %e{line[-2:]},(", f"movq %r{line[-2:]},("
            lines[n:] = [other.replace(narrow, wide) for other in lines[n:]]
    if lines and lines[-1] == leave:
        lines.pop()
    return [*lines, f"{_END}:"] if any(_END in line for line in lines) else lines


def litmus_text(test: Litmus, codes: Sequence[Code], flavour: str) -> str:
    """Write a litmus test of compiled threads; the value that a thread saw in `r` is in the place
    `saw_r`. Raises TranslationError."""
    known = instruction_set(flavour)
    # herd7 knows POWER's pair only where all accesses have one size; power_apart.cat and
    # power_together.cat keep the plain pair atomic.
    plain = {"lwarx": "lwzx", "stwcx.": "stwx"} if test.mixed else {}
    bits, head, columns = dict(test.bits), [], []
    arguments = [arguments_of(thread) for thread in test.threads]
    for i, (names, code) in enumerate(zip(arguments, codes, strict=True)):
        plainly = (replace(one, mnemonic=plain.get(one.mnemonic, one.mnemonic)) for one in code)
        lines = column(tuple(plainly), flavour)
        if any(line.startswith(_UPPER) for line in lines):
            bits |= {name: 64 for name in names if name not in PLACES}
        # herd7 wants the labels of threads to differ.
        lines = [re.sub(r"\bL([0-9a-f]+|END)\b", rf"T{i}L\1", line) for line in lines]
        columns.append([f"P{i}", *lines])
        registers = zip(known.arguments, names, strict=False)
        head += [f"{i}:{register}={_location(name)};" for register, name in registers]
    places = sorted({name for names in arguments for name in names})
    first = [
        f"uint{bits.get(place, 32)}_t {_location(place)}={test.first.get(place, 0)};"
        for place in places
    ]
    body = [" | ".join(row) + " ;" for row in zip_longest(*columns, fillvalue="")]
    terms = test.forbidden.split(" & ")
    terms = [re.sub(r"^[a-z](?==)", lambda place: _location(place[0]), term) for term in terms]
    exists = f"exists ({' & '.join(terms)})".replace("&", "/\\")
    return "\n".join(
        [f"{known.title} {test.primitive}", "{", *first, *head, "}", *body, exists, ""]
    )


def _location(name: str) -> str:
    return name if name in PLACES else f"saw_{name}"


_VARIABLE = "HERD7"
_DOCUMENTATION = "https://diy.inria.fr/doc/herd.html"
_LIMIT_S = 600.0
_OBSERVATION = re.compile(r"^Observation \S+ (Never|Sometimes|Always) (\d+) (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Herd:
    path: str
    version: str

    def ask(self, text: str, options: Sequence[str]) -> dict[str, Any]:
        """Ask whether the outcome of a litmus test can be. Returns `verdict` (allowed, forbidden,
        or undecided within the limit of time), `executions`, `seconds`, and `bound`, where some
        loop has more turns than were looked at. Raises LockcrossError when herd7 refuses it."""
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
            message = " ".join((done.stderr or done.stdout).split())[-300:]
            raise LockcrossError(f"herd7 refuses a test: {message}\n{text}", exit_code=1)
        return {
            "verdict": "forbidden" if observed[1] == "Never" else "allowed",
            "bound": "2 turns of each loop" if "unrolling limit" in done.stderr else "",
            "executions": executions,
            "seconds": f"{seconds:.2f}",
        }


def find_herd() -> Herd:
    """Find the herd7 in HERD7 or on PATH. Raises LockcrossError (1) where none runs."""
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
    """Return the memory models for a test with herd7's options: its own, and those of
    proofs/assembly/. The last one is that under which the promise is to be shown."""
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
    own = {name: DATA / name for name in names if (DATA / name).exists()}
    chosen = {name: ["-I", str(DATA), "-model", str(path)] for name, path in own.items()}
    return {name: [*chosen.get(name, ()), *options] for name in names}
