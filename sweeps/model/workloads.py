"""The workloads: what workloads/workloads.def says, and what a run must fulfil."""

import ast
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from results.errors import LockcrossError
from sweeps.model.cell import MAX_THREADS
from sweeps.model.locks import load_locks
from sweeps.support.paths import WORKLOADS_DEF

Value = int | str

_MAX_LENGTH = 2**32 - 1  # acquisitions of a run; as kernels/lock_trace.c
_RUN = r"[0-9]{1,2}x[0-9]{1,10}"
_SEQUENCES = re.compile(f"{_RUN}([,/]{_RUN})*")


class Key(ABC):
    """One argument of a workload. `default`: for plans and commands that leave it out."""

    default: Value

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, in words."""

    @abstractmethod
    def invalid_reason(self, value: Value) -> str:
        """Why `value` is no value of this key, or nothing."""

    def unsupported_reason(self, value: Value, threads: int) -> str:
        """Why a valid `value` does not go with this number of threads, or nothing."""
        del value, threads
        return ""


@dataclass(frozen=True)
class Number(Key):
    """A whole number from `low` to `high`."""

    default: int
    low: int
    high: int

    @property
    def allowed(self) -> str:
        return f"{self.low} to {self.high}"

    def invalid_reason(self, value: Value) -> str:
        if type(value) is int and self.low <= value <= self.high:
            return ""
        return f"allowed is a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Choice(Key):
    """One of some words."""

    default: str
    choices: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return ", ".join(self.choices)

    def invalid_reason(self, value: Value) -> str:
        return "" if value in self.choices else f"allowed are {self.allowed}"


@dataclass(frozen=True)
class Sequences(Key):
    """Run-length text, THREADxACQUISITIONS: commas between runs, slashes between sequences."""

    default: str
    runs: int  # at most so many of them, and so many sequences
    sequences: int

    @property
    def allowed(self) -> str:
        return f"{self.runs} runs and {self.sequences} sequences at most, written like the default"

    def invalid_reason(self, value: Value) -> str:
        if not isinstance(value, str) or not _SEQUENCES.fullmatch(value):
            return f"it is written like {self.default}"
        lengths = [int(run.partition("x")[2]) for run in re.split("[,/]", value)]
        if not all(1 <= length <= _MAX_LENGTH for length in lengths):
            return f"a run has 1 to {_MAX_LENGTH} acquisitions"
        if len(lengths) > self.runs or value.count("/") >= self.sequences:
            return f"allowed are {self.runs} runs and {self.sequences} sequences"
        return ""

    def unsupported_reason(self, value: Value, threads: int) -> str:
        most = max(int(number) for number in re.findall("([0-9]+)x", str(value)))
        return f"thread {most}: the threads are 0 to {threads - 1}" if most >= threads else ""


Expression = ast.expr

_ARITHMETIC: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
}
_COMPARISONS: dict[type[ast.AST], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Let:
    """A name for the value of an expression."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Rule:
    """What must hold, and what is wrong when it does not. `keys`: those that it depends on."""

    condition: Expression
    message: str
    keys: tuple[str, ...]


def parse(text: str) -> Expression:
    """Reads an expression. Raises ValueError for one that is none."""
    try:
        return ast.parse(text.replace("&&", " and ").replace("||", " or "), mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no expression") from None


def names(node: Expression) -> Iterator[str]:
    """Every name of an expression, `KEY(key)` being one."""
    match node:
        case ast.Name() | ast.Call():
            yield _written(node)
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from names(child)


@cache
def _written(name: Expression) -> str:
    """A name as it is written. Every cell asks for those of its workload's rules."""
    return ast.unparse(name)


def keys_of(node: Expression, before: Sequence[Let | Rule]) -> tuple[str, ...]:
    """The keys that an expression depends on, also by way of the LETs `before` it."""
    lets = {row.name: row.expression for row in before if isinstance(row, Let)}
    found: dict[str, None] = {}  # a set, in order
    for name in names(node):
        if name in lets:
            found |= dict.fromkeys(keys_of(lets[name], before))
        elif name.startswith("KEY("):
            found[name[4:-1]] = None
    return tuple(found)


def evaluate(node: Expression, values: Mapping[str, int]) -> int:
    """The value of an expression, whose names have `values`; of a condition, 0 or 1.

    Raises ValueError for what is no such expression, an unknown name, or a number below 0.
    """
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name() | ast.Call() if _written(node) in values:
            return values[_written(node)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            number = _ARITHMETIC[type(op)](evaluate(left, values), evaluate(right, values))
            if number < 0:
                raise ValueError(f"{ast.unparse(node)}: below 0, as no number in C is")
            return number
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return int(_COMPARISONS[type(op)](evaluate(left, values), evaluate(right, values)))
        case ast.BoolOp(op=ast.And(), values=parts):
            return int(all(evaluate(part, values) for part in parts))
        case ast.BoolOp(op=ast.Or(), values=parts):
            return int(any(evaluate(part, values) for part in parts))
    raise ValueError(f"{ast.unparse(node)!r} is unknown, or not of a rule's language")


def broken(rules: Sequence[Let | Rule], values: Mapping[str, int]) -> Rule | None:
    """The first rule that does not hold, or None. `values`: of every name but the LETs'."""
    found = dict(values)
    for row in rules:
        if isinstance(row, Let):
            found[row.name] = evaluate(row.expression, found)
        elif not evaluate(row.condition, found):
            return row
    return None


def in_words(node: Expression, constants: Mapping[str, int]) -> str:
    """An expression as people write it, with keys and words by their names."""
    text = re.sub(r"KEY\((\w+)\)", r"\1", ast.unparse(node)).replace("WORD_", "")
    text = text.replace("THREADS", "threads").replace("LOCK_IS_JAVA", "the lock has wait")
    return re.sub(r"[A-Z]\w+", lambda name: str(constants.get(name[0], name[0])), text)


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
    block.rules += (Rule(parsed, _text(message), keys_of(parsed, block.rules)),)


def _metric(block: Workload, name: str, unit: str, initial: str) -> None:
    del initial  # the kernel's business
    block.metrics[name] = _text(unit)


def _phases(block: Workload, key: str) -> None:
    block.phases = _one_of(tuple(block.keys), key)


def _length(block: Workload, key: str) -> None:
    block.length = _one_of(tuple(block.keys), key)


def _expression(block: Workload, text: str) -> Expression:
    """Of a rule. Raises ValueError for a name that is unknown."""
    parsed = parse(text)
    known = {*block.constants, "THREADS", "LOCK_IS_JAVA"}
    known |= {row.name for row in block.rules if isinstance(row, Let)}
    for name, key in block.keys.items():
        if not isinstance(key, Sequences):
            known.add(f"KEY({name})")
        if isinstance(key, Choice):
            known |= {f"WORD_{word}" for word in key.choices}
    if unknown := [name for name in names(parsed) if name not in known]:
        raise ValueError(f"{unknown[0]} is unknown here")
    return parsed


def _constant(block: Workload, text: str) -> int:
    return evaluate(parse(text), block.constants)


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


def _load() -> dict[str, Workload]:
    try:
        return parse_workloads(WORKLOADS_DEF.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockcrossError(f"{WORKLOADS_DEF.name}: {error.strerror}", exit_code=1) from None


WORKLOADS = _load()  # by name, in the registry's order


def with_defaults(workload: str, given: Mapping[str, Value]) -> dict[str, Value]:
    """The parameters of a run: those that are given, and defaults for the other keys.

    An unknown workload, which is reported elsewhere, has none.
    """
    keys: Mapping[str, Key] = WORKLOADS[workload].keys if workload in WORKLOADS else {}
    return {name: key.default for name, key in keys.items()} | dict(given)


def phases(workload: str, parameters: Mapping[str, Value]) -> int:
    """How many phases a run announces, where a key says so; else 0."""
    key = WORKLOADS[workload].phases
    return int(parameters[key]) if key else 0


def choices(workload: str, key: str) -> tuple[str, ...]:
    """The words of a choice. Raises KeyError for a key that is none."""
    found = WORKLOADS[workload].keys[key]
    if not isinstance(found, Choice):
        raise KeyError(key)
    return found.choices


def unsupported_reason(
    workload: str,
    lock: str,
    threads: int,
    cores: int | None,
    parameters: Mapping[str, Value],
) -> str:
    """Why a workload cannot be run like this ("key: reason"), or nothing.

    All keys are given, with valid values. `cores`: how many the threads share; None: a core each.
    """
    return _unsupported_reason(workload, lock, threads, cores, tuple(parameters.items()))


@lru_cache(maxsize=10_000)  # of a study's cells many differ in latencies and seeds alone
def _unsupported_reason(
    workload: str,
    lock: str,
    threads: int,
    cores: int | None,
    given: tuple[tuple[str, Value], ...],
) -> str:
    kind, parameters = WORKLOADS[workload], dict(given)
    if kind.locks and lock not in kind.locks:
        return f"workload {workload} is built with lock {', '.join(kind.locks)} only"
    if not kind.min_threads <= threads <= kind.max_threads:
        return f"threads: {threads}: workload {workload} runs with {kind.threads} threads"
    if kind.needs_cores and cores is None:
        return f"cores: none: workload {workload} needs threads that share cores; give --cores"
    if kind.cores == "OWN_CORES" and cores is not None:
        return f"cores: {cores}: workload {workload} needs a core for each thread"
    for name, key in kind.keys.items():
        if why := key.unsupported_reason(parameters[name], threads):
            return f"parameters.{name}: {why}"
    return _broken_rule(kind, lock, threads, parameters)


def _broken_rule(kind: Workload, lock: str, threads: int, parameters: Mapping[str, Value]) -> str:
    values = {"THREADS": threads, "LOCK_IS_JAVA": int(load_locks()[lock].java)}
    for name, key in kind.keys.items():
        match key:
            case Number():
                values[f"KEY({name})"] = int(parameters[name])
            case Choice():
                values |= {f"WORD_{word}": number for number, word in enumerate(key.choices)}
                values[f"KEY({name})"] = key.choices.index(str(parameters[name]))
    rule = broken(kind.rules, {**kind.constants, **values})
    if rule is None:
        return ""
    given = ", ".join(f"{name} = {parameters[name]}" for name in rule.keys)
    return f"parameters: {rule.message} ({given}, threads = {threads})"
