"""The workloads: the entries of workloads/workloads.def, and the rules for a run."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from results.errors import LockcrossError
from sweeps.model import registry
from sweeps.model.axes import MAX_THREADS
from sweeps.model.locks import load_locks
from sweeps.support.paths import WORKLOADS_DEF

Value = int | float | str

_MAX_LENGTH = 2**32 - 1  # acquisitions of a run; as kernels/lock_trace.c
_RUN = r"[0-9]{1,2}x[0-9]{1,10}"
_SEQUENCES = re.compile(f"{_RUN}([,/]{_RUN})*")


@dataclass(frozen=True)
class Number:
    """A whole number from `low` to `high`. `default`, as of every key: for plans and commands that
    leave it out."""

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
class Share:
    """A share from 0 to `high`. A program has it in whole `parts`, so many of which are 1."""

    default: float
    high: float
    parts: int

    @property
    def allowed(self) -> str:
        return f"0 to {self.high:g}"

    def invalid_reason(self, value: Value) -> str:
        if type(value) in (int, float) and 0 <= float(value) <= self.high:
            return "" if self.in_parts(value) / self.parts == value else "six decimals at most"
        return f"allowed is a share from 0 to {self.high:g}"

    def in_parts(self, value: Value) -> int:
        """Return the share as a program has it."""
        return round(float(value) * self.parts)


@dataclass(frozen=True)
class Choice:
    default: str
    choices: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return ", ".join(self.choices)

    def invalid_reason(self, value: Value) -> str:
        return "" if value in self.choices else f"allowed are {self.allowed}"


@dataclass(frozen=True)
class Sequences:
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


Key = Number | Share | Choice | Sequences  # an argument of a workload
Expression = ast.expr

_OPERATIONS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
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
    """A rule, and the message when it does not hold. `keys`: those that it depends on."""

    condition: Expression
    message: str
    keys: tuple[str, ...]


def names(node: ast.AST) -> Iterator[str]:
    """Yield every name of an expression, `KEY(key)` being one."""
    if isinstance(node, ast.Name | ast.Call):
        yield _written(node)
    else:
        yield from chain.from_iterable(map(names, ast.iter_child_nodes(node)))


@cache
def _written(name: Expression) -> str:
    """Return a name as it is written. Every cell asks for those of its workload's rules."""
    return ast.unparse(name)


def keys_of(node: Expression, before: Sequence[Let | Rule]) -> tuple[str, ...]:
    """Return the keys that an expression depends on, also by way of the LETs `before` it."""
    lets = {row.name: row.expression for row in before if isinstance(row, Let)}
    keys: list[str] = []
    for name in names(node):
        if name in lets:
            keys += keys_of(lets[name], before)
        elif name.startswith("KEY("):
            keys.append(name[4:-1])
    return tuple(dict.fromkeys(keys))


def evaluate(node: Expression, values: Mapping[str, int]) -> int:
    """Return the value of an expression, whose names have `values`; of a condition, 0 or 1.

    Raises ValueError for any other text, an unknown name, or a number below 0.
    """
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name() | ast.Call() if _written(node) in values:
            return values[_written(node)]
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if type(op) in _OPERATIONS:
            number = int(_OPERATIONS[type(op)](evaluate(left, values), evaluate(right, values)))
            if number < 0:
                raise ValueError(f"{ast.unparse(node)}: below 0, as no number in C is")
            return number
        case ast.BoolOp(op=ast.And(), values=parts):
            return int(all(evaluate(part, values) for part in parts))
        case ast.BoolOp(op=ast.Or(), values=parts):
            return int(any(evaluate(part, values) for part in parts))
    raise ValueError(f"{ast.unparse(node)!r} is unknown, or not of a rule's language")


def in_words(node: Expression, constants: Mapping[str, int]) -> str:
    """Return an expression as people write it, with keys and words by their names."""
    text = re.sub(r"KEY\((\w+)\)", r"\1", ast.unparse(node)).replace("WORD_", "")
    text = text.replace("THREADS", "threads").replace("LOCK_IS_JAVA", "the lock has wait")
    text = text.replace(f" / {_PARTS}", "").replace(_PARTS, "1")  # shares are from 0 to 1 here
    return re.sub(r"[A-Z]\w+", lambda name: str(constants.get(name[0], name[0])), text)


_SCHEDULER = "SCHEDULER"  # the block of the runtime, where threads share cores
_CORES = ("OWN_CORES", "ANY_CORES", "SHARED_CORES")
_PARTS = "PARTS"  # the name of a whole share
_PRESENCE = ("REQUIRED", "OPTIONAL", "OR_ZERO")
# Names that C has from its headers. Whether a lock is for fewer threads is checked elsewhere.
_CONSTANTS = {"UINT32_MAX": 2**32 - 1, "INT32_MAX": 2**31 - 1}
_CONSTANTS |= dict.fromkeys(("LOCK_MAX_THREADS", "LOCK_MOST_THREADS"), MAX_THREADS)


@dataclass
class Workload:
    """One block. `locks`: those that it is built with (none: any). `cores`: OWN_CORES, ANY_CORES or
    SHARED_CORES. `metrics`: its report beside its pairs, name -> unit. `phases`: the key that
    says how many phases it announces, if one does. `length`: the key that says only how long it
    goes on, if one does. `sleeps`: the key that says how long threads sleep, if they do.
    `constants`: names that its expressions use."""

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
    sleeps: str = ""

    def values(self, threads: int, java: bool, parameters: Mapping[str, Value]) -> dict[str, int]:
        """Return the values of the names in its rules, except those of LETs."""
        values = {**self.constants, "THREADS": threads, "LOCK_IS_JAVA": int(java)}
        for name, key in self.keys.items():
            if isinstance(key, Number):
                values[f"KEY({name})"] = int(parameters[name])
            elif isinstance(key, Share):
                values[f"KEY({name})"] = key.in_parts(parameters[name])
            elif isinstance(key, Choice):
                values |= {f"WORD_{word}": number for number, word in enumerate(key.choices)}
                values[f"KEY({name})"] = key.choices.index(str(parameters[name]))
        return values

    def check(self, expression: Expression) -> None:
        """Raise ValueError for a name that is unknown in a rule of it, as it is until now."""
        known = self.values(1, False, {name: key.default for name, key in self.keys.items()})
        allowed = {*known, *(row.name for row in self.rules if isinstance(row, Let))}
        if unknown := [name for name in names(expression) if name not in allowed]:
            raise ValueError(f"{unknown[0]} is unknown here")

    @property
    def threads(self) -> str:
        """Return the numbers of threads that it runs with, in words."""
        low, high = self.min_threads, self.max_threads
        return str(low) if low == high else f"{low} to {high}"

    @property
    def needs_cores(self) -> bool:
        return self.cores == "SHARED_CORES"

    @property
    def has_text(self) -> bool:
        return any(isinstance(key, Sequences) for key in self.keys.values())


def parse_workloads(text: str) -> dict[str, Workload]:
    """Read the text of a registry, in its order. Raises LockcrossError that names a faulty row."""
    defined = re.findall(r"^#define (\w+) (\d+)\b", text, flags=re.MULTILINE)
    constants = _CONSTANTS | {name: int(value) for name, value in defined}
    blocks: dict[str, Workload] = {}
    try:
        rows = list(registry.parse(text))
    except ValueError as error:
        raise LockcrossError(f"workloads.def: not a row: {error}", exit_code=1) from None
    for row in rows:
        if not row.block:
            raise LockcrossError(f"workloads.def: {row.name}(...) stands in no block", exit_code=1)
        block = blocks.setdefault(row.block, Workload(row.block, constants))
        try:
            _add(block, row)
        except ValueError as error:
            why = f"workloads.def: {row.block}: {row}: {error}"
            raise LockcrossError(why, exit_code=1) from None
    scheduling = blocks.pop(_SCHEDULER).keys if _SCHEDULER in blocks else {}
    for block in blocks.values():
        if block.needs_cores:
            block.keys |= scheduling
    return blocks


# How many arguments a row has; a CHOICE has one more for each of its words.
_ROWS = {
    "WORKLOAD": 5,
    "NUMBER": 5,
    "SHARE": 4,
    "CHOICE": 3,
    "SEQUENCES": 5,
    "LET": 2,
    "RULE": 2,
    "METRIC": 3,
    "PHASES": 1,
    "LENGTH": 1,
    "SLEEPS": 1,
}


def _add(block: Workload, row: registry.MacroCall) -> None:
    """Add a row to its block. Raises ValueError."""
    if row.name not in _ROWS:
        raise ValueError(f"no row of a workload; those are {', '.join(_ROWS)}")
    count = len(row.arguments)
    if count != _ROWS[row.name] and (row.name != "CHOICE" or count < _ROWS["CHOICE"]):
        raise ValueError(f"has {count} arguments, not {_ROWS[row.name]}")
    first, *rest = row.arguments
    match row.name, rest:
        case "WORKLOAD", [fewest, most, locks, cores]:
            if registry.word(first) != block.name:
                raise ValueError(f"stands in the block WORKLOAD_{block.name}")
            block.min_threads = evaluate(fewest, block.constants)
            block.max_threads = evaluate(most, block.constants)
            block.locks = tuple(registry.string(locks).split())
            block.cores = _one_of(_CORES, cores)
        case "LET", [expression]:
            block.check(expression)
            block.rules += (Let(registry.word(first), expression),)
        case "RULE", [message]:
            block.check(first)
            depends = keys_of(first, block.rules)
            words = registry.string(message).replace(str(block.constants.get(_PARTS)), "1")
            block.rules += (Rule(first, words, depends),)
        case "METRIC", [unit, _]:  # its value at the start is the kernel's business
            block.metrics[registry.word(first)] = registry.string(unit)
        case (("PHASES" | "LENGTH" | "SLEEPS"), _):
            setattr(block, row.name.lower(), _one_of(block.keys, first))
        case kind, [presence, default, *more]:
            _one_of(_PRESENCE, presence)
            if (name := registry.word(first)) in block.keys:
                raise ValueError("this key stands twice")
            block.keys[name] = key = _key(kind, default, more, block.constants)
            if why := key.invalid_reason(key.default):
                raise ValueError(f"the default: {why}")


def _key(
    kind: str, default: Expression, more: Sequence[Expression], constants: Mapping[str, int]
) -> Key:
    if kind == "CHOICE":
        words = (re.fullmatch(r"WORD\((\w+)\)", ast.unparse(word)) for word in more)
        return Choice(
            registry.word(default), tuple(registry.name(word[1]) for word in words if word)
        )
    if kind == "SHARE":
        parts = constants[_PARTS]
        value, high = (evaluate(number, constants) / parts for number in (default, *more))
        return Share(value, high, parts)
    first, second = (evaluate(bound, constants) for bound in more)
    if kind == "SEQUENCES":
        return Sequences(registry.string(default), first, second)
    return Number(evaluate(default, constants), first, second)


def _one_of(words: Iterable[str], node: Expression) -> str:
    if (word := registry.word(node)) not in (known := list(words)):
        raise ValueError(f"{word}: allowed are {', '.join(known)}")
    return word


WORKLOADS = parse_workloads(registry.read(WORKLOADS_DEF))  # by name, in the registry's order


def with_defaults(workload: str, given: Mapping[str, Value]) -> dict[str, Value]:
    """Return the parameters of a run: those that are given, and defaults for the other keys.

    An unknown workload, which is reported elsewhere, has none.
    """
    keys: Mapping[str, Key] = WORKLOADS[workload].keys if workload in WORKLOADS else {}
    values = {name: key.default for name, key in keys.items()} | dict(given)
    for name, value in values.items():
        if isinstance(keys.get(name), Share) and isinstance(value, int):
            values[name] = float(value)  # a cell has it in one way
    return values


def read_value(word: str) -> Value:
    """Return the value of a key as people write it: a number, or text."""
    if not re.fullmatch(r"[0-9]{1,30}(\.[0-9]{1,30})?(e-?[0-9]{1,2})?", word):
        return word  # longer numbers are out of bounds, and Python may not convert them
    return int(word) if word.isdigit() else float(word)


def in_program(workload: str, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """Return the parameters of a run as its program takes them: shares in parts."""
    keys = WORKLOADS[workload].keys
    in_parts = dict(parameters)
    for name, value in parameters.items():
        if isinstance(key := keys[name], Share):
            in_parts[name] = key.in_parts(value)
    return in_parts


def phases(workload: str, parameters: Mapping[str, Value]) -> int:
    """Return how many phases a run announces, where a key says so; else 0."""
    key = WORKLOADS[workload].phases
    return int(parameters[key]) if key else 0


def choices(workload: str, key: str) -> tuple[str, ...]:
    choice = WORKLOADS[workload].keys[key]
    assert isinstance(choice, Choice)
    return choice.choices


def unsupported_reason(
    workload: str, lock: str, threads: int, cores: int | None, parameters: Mapping[str, Value]
) -> str:
    """Return why a workload cannot be run like this ("key: reason"), or nothing.

    All keys are given, with valid values. `cores`: how many the threads share; None: a core each.
    """
    kind = WORKLOADS[workload]
    if kind.locks and lock not in kind.locks:
        return f"workload {workload} is built with lock {', '.join(kind.locks)} only"
    if not kind.min_threads <= threads <= kind.max_threads:
        return f"threads: {threads}: workload {workload} runs with {kind.threads} threads"
    if kind.needs_cores and cores is None:
        return f"cores: none: workload {workload} needs threads that share cores; give --cores"
    if kind.cores == "OWN_CORES" and cores is not None:
        return f"cores: {cores}: workload {workload} needs a core for each thread"
    for name, key in kind.keys.items():
        if isinstance(key, Sequences):
            most = max(map(int, re.findall("([0-9]+)x", str(parameters[name]))))
            if most >= threads:
                return f"parameters.{name}: thread {most}: the threads are 0 to {threads - 1}"
    values = kind.values(threads, load_locks()[lock].java, parameters)
    for row in kind.rules:
        if isinstance(row, Let):
            values[row.name] = evaluate(row.expression, values)
        elif not evaluate(row.condition, values):
            shown = ", ".join(f"{name} = {parameters[name]}" for name in row.keys)
            return f"parameters: {row.message} ({shown}, threads = {threads})"
    return ""
