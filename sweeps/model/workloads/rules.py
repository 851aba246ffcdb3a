"""The rules of workloads.def between the values of a workload's keys.

They are C expressions in whole numbers that are never below 0, of a kind that Python can read:
+ - * / (rounded down), comparisons, && and ||. Nothing else can be written.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

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
