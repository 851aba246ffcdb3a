"""Mutants that operators make of the code of the locks: what people get wrong, one place at a time.
There are too many for a run, so one in so many is drawn, by a hash of its name."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from proofs.mutants.mutants import (
    Mutant,
    files_of_code,
    function_at,
    logic_mutants,
    order_mutants,
    targets_of,
    without_comments,
)

ONE_IN = 10

_TURNED = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_Change = Callable[[re.Match[str]], str]


def _turned(found: re.Match[str]) -> str:
    return f" {_TURNED[found[1]]} "


# By name: what is looked for, and what it becomes; the line it stands in is no directive.
_OPERATORS: dict[str, tuple[str, _Change]] = {
    "comparison-turned": (r" (==|!=|<=|>=|<|>) ", _turned),
    "field-forgotten": (
        r"(?<=\n)( +)(?:[\w\->.()*&]*(?:->|\.|\])[\w\->.\[\]() ]* [|&+-]?= [^;{}]*|"
        r"(?:store|STORE)_\w+\([^;{}]*\));",
        lambda found: f"{found[1]};",
    ),
    "wake-up-dropped": (r"\b(unpark|monitor_wake|meta_wake)\(", lambda _: "(void)("),
    "one-instead-of-all": (
        r"\bMONITOR_NOTIFY_ALL\b|(?<=limit > 0; )limit--",
        lambda found: "limit = 0" if "limit" in found[0] else "1",
    ),
    "index-off-by-one": (r" [+-] 1\b(?!u)", lambda _: ""),
    "branch-left-out": (r"\bif \(", lambda _: "if (0)"),
}


def _condition(code: str, start: int) -> str:
    """`if (...)` with all of its condition."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if code[at] == ")" and depth == 0:
            return code[start : at + 1]
    return code[start:]


def _changes(file: str, source: str) -> Iterator[Mutant]:
    code = without_comments(source)
    seen: Counter[str] = Counter()
    for name, (pattern, change) in _OPERATORS.items():
        for found in re.finditer(pattern, code):
            function = function_at(code, found.start())
            line = code[code.rfind("\n", 0, found.start()) + 1 :].lstrip()
            if not function or line.startswith(("#", "enum")):
                continue
            place = f"{file.removesuffix('.h')}:{function}:{name}"
            seen[place] += 1
            number = f"#{seen[place]}" if seen[place] > 1 else ""
            whole = _condition(code, found.start()) if name == "branch-left-out" else found[0]
            old = source[found.start() : found.start() + len(whole)]
            targets = targets_of(file, source, found.start())
            yield Mutant(
                place + number, "operator", file, name.replace("-", " "), found.start(), old,
                change(found), targets,
            )  # fmt: skip


@cache
def every_operator_mutant() -> tuple[Mutant, ...]:
    """All that the operators make of code that a program of a model has."""
    made = (mutant for file, source in files_of_code() for mutant in _changes(file, source))
    return tuple(mutant for mutant in made if mutant.targets)


def is_drawn(name: str) -> bool:
    """Whether a mutant of this name is among those that are judged."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % ONE_IN == 0


@cache
def operator_mutants() -> tuple[Mutant, ...]:
    """Those that are drawn, by file, operator and place."""
    return tuple(mutant for mutant in every_operator_mutant() if is_drawn(mutant.name))


def all_mutants() -> tuple[Mutant, ...]:
    """Order mutants, then logic mutants, then those of the operators."""
    return order_mutants() + logic_mutants() + operator_mutants()
