"""Arithmetic over named numbers, for definitions that are data: `(reserved - floor) * ns`.

Names stand for numbers; `name.part` for a part of something measured; functions are min, max, sum,
mean, abs, sqrt. Nothing else can be written, so a definition cannot run code.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from statistics import fmean

_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[[Iterable[float]], float]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "mean": fmean,
    "abs": lambda values: abs(next(iter(values))),
    "sqrt": lambda values: math.sqrt(next(iter(values))),
}
Look = Callable[[str, str], float]  # (name, part; "" for none) -> its number


def names(text: str) -> list[tuple[str, str]]:
    """Every (name, part) of an expression, in order. Raises ValueError for one that is none."""
    return list(_names(_parsed(text)))


def _names(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Name(id=name):
            yield name, ""
        case ast.Attribute(value=ast.Name(id=name), attr=part):
            yield name, part
        case ast.Call(args=arguments):
            for argument in arguments:
                yield from _names(argument)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _names(child)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no expression") from None


def evaluate(text: str, look: Look) -> float:
    """The value. Raises ValueError for what is no expression, and what `look` raises."""
    return _value(_parsed(text), text, look)


def _value(node: ast.expr, text: str, look: Look) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return look(name, "")
        case ast.Attribute(value=ast.Name(id=name), attr=part):
            return look(name, part)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, text, look), _value(right, text, look))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, text, look)
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if (
            function in _FUNCTIONS and arguments
        ):
            return _FUNCTIONS[function]([_value(one, text, look) for one in arguments])
    raise ValueError(f"{ast.unparse(node)!r} in {text!r} is not arithmetic over names")
