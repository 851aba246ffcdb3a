"""Mutants that operators make of the code of the locks: common mistakes, one place at a time.
There are too many for a run, so a share is drawn, by a hash of the name."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from sweeps.questions.prove.mutants.mutants import (
    Mutant,
    function_at,
    logic_mutants,
    mutable_headers,
    numbered,
    order_mutants,
    targets_of,
    without_comments,
)

ONE_IN = 10

_TURNED = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}

# By name: what is looked for, and what it becomes; the line it stands in is no directive.
_OPERATORS: dict[str, tuple[str, Callable[[re.Match[str]], str]]] = {
    "comparison-turned": (r" (==|!=|<=|>=|<|>) ", lambda found: f" {_TURNED[found[1]]} "),
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
    """Return `if (...)` with all of its condition."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if code[at] == ")" and depth == 0:
            return code[start : at + 1]
    return code[start:]


def _changes(file: str, source: str) -> Iterator[Mutant]:
    code = without_comments(source)
    seen: Counter[str] = Counter()
    for operator, (pattern, change) in _OPERATORS.items():
        for found in re.finditer(pattern, code):
            start = found.start()
            function = function_at(code, start)
            line = code[code.rfind("\n", 0, start) + 1 :].lstrip()
            if not function or line.startswith(("#", "enum")):
                continue
            changed = _condition(code, start) if operator == "branch-left-out" else found[0]
            yield Mutant(
                numbered(seen, f"{file.removesuffix('.h')}:{function}:{operator}"),
                "operator",
                file,
                operator.replace("-", " "),
                start,
                source[start : start + len(changed)],
                change(found),
                targets_of(file, source, start),
            )


@cache
def every_operator_mutant() -> tuple[Mutant, ...]:
    """Return all that the operators make of code that a program of a model has."""
    made = (mutant for header in mutable_headers() for mutant in _changes(*header))
    return tuple(mutant for mutant in made if mutant.targets)


def is_drawn(name: str) -> bool:
    """Say whether a mutant of this name is among those that are judged."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % ONE_IN == 0


@cache
def operator_mutants() -> tuple[Mutant, ...]:
    """Return those that are drawn, by file, operator and place."""
    return tuple(mutant for mutant in every_operator_mutant() if is_drawn(mutant.name))


def all_mutants() -> tuple[Mutant, ...]:
    """Return order mutants, then logic mutants, then those of the operators."""
    return order_mutants() + logic_mutants() + operator_mutants()
