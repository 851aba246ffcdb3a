"""Reads workloads/workloads.def, the registry of workloads, which C reads, too."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from results.errors import LockcrossError
from results.model.cell import MAX_THREADS
from sweeps.model.workloads import rules
from sweeps.model.workloads.keys import Choice, Key, Number, Sequences
from sweeps.model.workloads.rules import Let, Rule

_SCHEDULER = "SCHEDULER"  # the block of the runtime, where threads share cores
_CORES = ("OWN_CORES", "ANY_CORES", "SHARED_CORES")
_PRESENCE = ("REQUIRED", "OPTIONAL", "OR_ZERO")
# Names that C has from its headers. Whether a lock is for fewer threads is checked elsewhere.
_CONSTANTS = {
    "UINT32_MAX": 2**32 - 1,
    "INT32_MAX": 2**31 - 1,
    "LOCK_MAX_THREADS": MAX_THREADS,
    "LOCK_MOST_THREADS": MAX_THREADS,
}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BLOCK = re.compile(r"^#ifdef WORKLOAD_(\w+)\n(.*?)^#endif\n", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(r'"[^"]*"|[(),]|[^"(),]+')


@dataclass
class Workload:
    """One block. `locks`: those that it is built with (none: any). `cores`: OWN_CORES, ANY_CORES or
    SHARED_CORES. `metrics`: what it reports beside its pairs, name -> unit. `phases`: the key that
    says how many phases it announces, if one does. `length`: the key that says only how long it
    goes on, if one does. `constants`: names that its expressions use."""

    name: str
    constants: Mapping[str, int]
    min_threads: int = 1
    max_threads: int = MAX_THREADS
    locks: tuple[str, ...] = ()
    cores: str = "ANY_CORES"
    keys: dict[str, Key] = field(default_factory=dict)
    rules: tuple[Let | Rule, ...] = ()
    metrics: dict[str, str] = field(default_factory=dict)
    phases: str = ""
    length: str = ""

    @property
    def threads(self) -> str:
        """The numbers of threads that it runs with, in words."""
        low, high = self.min_threads, self.max_threads
        return str(low) if low == high else f"{low} to {high}"

    @property
    def needs_cores(self) -> bool:
        """Whether it runs only where threads share cores."""
        return self.cores == "SHARED_CORES"

    @property
    def has_text(self) -> bool:
        """Whether the value of a key is text."""
        return any(isinstance(key, Sequences) for key in self.keys.values())


def parse_workloads(text: str) -> dict[str, Workload]:
    """Reads the text of a registry, in its order. Raises LockcrossError that names a faulty row."""
    text = _COMMENT.sub("", text)
    found = re.findall(r"^#define (\w+) (\d+)\s*$", text, flags=re.MULTILINE)
    constants = _CONSTANTS | {name: int(value) for name, value in found}
    blocks: dict[str, Workload] = {}
    for name, body in _BLOCK.findall(text):
        blocks[name] = Workload(name, constants)
        for row, arguments in _rows(body):
            try:
                _read(blocks[name], row, arguments)
            except ValueError as error:
                where = f"workloads.def: {name}: {row}({', '.join(arguments)})"
                raise LockcrossError(f"{where}: {error}", exit_code=1) from None
    for row, _ in _rows(re.sub(r"^#.*$", "", _BLOCK.sub("", text), flags=re.MULTILINE)):
        raise LockcrossError(f"workloads.def: {row}(...) stands in no block", exit_code=1)
    scheduling = blocks.pop(_SCHEDULER).keys if _SCHEDULER in blocks else {}
    for block in blocks.values():
        if block.needs_cores:
            block.keys |= scheduling
    return blocks


def _rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every ROW(argument, ...), with quotes as they stand. Raises LockcrossError."""
    row, arguments, depth = "", [""], 0
    for token in _TOKEN.findall(text):
        depth += (token == "(") - (token == ")")
        if token == ")" and depth == 0:
            yield row.strip(), [" ".join(argument.split()) for argument in arguments]
            row, arguments = "", [""]
        elif depth == 0:
            row += token
        elif depth == 1 and token == ",":
            arguments.append("")
        elif depth > 1 or token != "(":
            arguments[-1] += token
    if row.strip():
        first = row.strip().splitlines()[0]
        raise LockcrossError(f"workloads.def: not a row: {first}", exit_code=1)


def _read(block: Workload, row: str, arguments: list[str]) -> None:
    """Adds a row to its block. Raises ValueError."""
    if row not in _READERS:
        raise ValueError(f"no row of a workload; those are {', '.join(_READERS)}")
    count, reader = _READERS[row]
    if len(arguments) != count:
        raise ValueError(f"has {len(arguments)} arguments, not {count}")
    reader(block, *arguments)


def _head(block: Workload, name: str, fewest: str, most: str, locks: str, cores: str) -> None:
    if name != block.name:
        raise ValueError(f"stands in the block WORKLOAD_{block.name}")
    block.min_threads, block.max_threads = _constant(block, fewest), _constant(block, most)
    block.locks = tuple(_text(locks).split())
    block.cores = _one_of(_CORES, cores)


def _number(block: Workload, key: str, presence: str, default: str, low: str, high: str) -> None:
    bounds = (_constant(block, text) for text in (default, low, high))
    _add_key(block, key, presence, Number(*bounds))


def _choice(block: Workload, key: str, presence: str, default: str, words: str) -> None:
    _add_key(block, key, presence, Choice(default, tuple(re.findall(r"WORD\((\w+)\)", words))))


def _sequences(
    block: Workload, key: str, presence: str, default: str, runs: str, sequences: str
) -> None:
    most = _constant(block, runs), _constant(block, sequences)
    _add_key(block, key, presence, Sequences(_text(default), *most))


def _add_key(block: Workload, name: str, presence: str, key: Key) -> None:
    _one_of(_PRESENCE, presence)
    if name in block.keys:
        raise ValueError("this key stands twice")
    if why := key.invalid_reason(key.default):
        raise ValueError(f"the default: {why}")
    block.keys[name] = key


def _let(block: Workload, name: str, expression: str) -> None:
    block.rules += (Let(name, _expression(block, expression)),)


def _rule(block: Workload, condition: str, message: str) -> None:
    parsed = _expression(block, condition)
    block.rules += (Rule(parsed, _text(message), rules.keys_of(parsed, block.rules)),)


def _metric(block: Workload, name: str, unit: str, initial: str) -> None:
    del initial  # the kernel's business
    block.metrics[name] = _text(unit)


def _phases(block: Workload, key: str) -> None:
    block.phases = _one_of(tuple(block.keys), key)


def _length(block: Workload, key: str) -> None:
    block.length = _one_of(tuple(block.keys), key)


def _expression(block: Workload, text: str) -> rules.Expression:
    """Of a rule. Raises ValueError for a name that is unknown."""
    parsed = rules.parse(text)
    known = {*block.constants, "THREADS", "LOCK_IS_JAVA"}
    known |= {row.name for row in block.rules if isinstance(row, Let)}
    for name, key in block.keys.items():
        if not isinstance(key, Sequences):
            known.add(f"KEY({name})")
        if isinstance(key, Choice):
            known |= {f"WORD_{word}" for word in key.choices}
    if unknown := [name for name in rules.names(parsed) if name not in known]:
        raise ValueError(f"{unknown[0]} is unknown here")
    return parsed


def _constant(block: Workload, text: str) -> int:
    return rules.evaluate(rules.parse(text), block.constants)


def _text(quoted: str) -> str:
    if not re.fullmatch('"[^"]*"', quoted):
        raise ValueError(f"{quoted}: text is expected, in quotes")
    return quoted[1:-1]


def _one_of(words: tuple[str, ...], word: str) -> str:
    if word not in words:
        raise ValueError(f"{word}: allowed are {', '.join(words)}")
    return word


_READERS: dict[str, tuple[int, Callable[..., None]]] = {  # row -> number of arguments, reader
    "WORKLOAD": (5, _head),
    "NUMBER": (5, _number),
    "CHOICE": (4, _choice),
    "SEQUENCES": (5, _sequences),
    "LET": (2, _let),
    "RULE": (2, _rule),
    "METRIC": (3, _metric),
    "PHASES": (1, _phases),
    "LENGTH": (1, _length),
}
