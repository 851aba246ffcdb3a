"""Reads lockimpl/locks.def and workloads/workloads.def: rows of C macros whose arguments are names,
texts, whole numbers and expressions of them, which Python reads, too."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from results.errors import LockcrossError
from results.paths import ROOT
from results.store.missing import why_no_name

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_OPERATORS = {"&&": " and ", "||": " or "}


@dataclass(frozen=True)
class MacroCall:
    """One NAME(argument, ...). `block`: the X of the `#ifdef WORKLOAD_X` that it stands in."""

    name: str
    arguments: tuple[ast.expr, ...]
    block: str = ""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(ast.unparse, self.arguments))})"


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        place = path.relative_to(ROOT)
        raise LockcrossError(f"{place}: {error.strerror}", exit_code=1) from None


def parse(text: str) -> Iterator[MacroCall]:
    """Yield the rows of a text, in order. Words after one another, WORD(a) WORD(b), are arguments
    each. Raises ValueError with the line of other text."""
    text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    lines = [line.strip() for line in text.splitlines()]  # an indent means something to Python
    code = re.sub(r'"[^"]*"|&&|\|\|', lambda t: _OPERATORS.get(t[0], t[0]), "\n".join(lines))
    code = re.sub(r"\)(?=\s+WORD\()", "),", code)
    blocks = [""]
    for line in lines:
        begun = re.match(r"#ifdef WORKLOAD_(\w+)", line)
        blocks.append(begun[1] if begun else "" if line.startswith("#endif") else blocks[-1])
    try:
        for statement in ast.parse(code).body:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=arguments, keywords=[])):
                    yield MacroCall(name, tuple(arguments), blocks[statement.lineno])
                case _:
                    raise ValueError(lines[statement.lineno - 1])
    except SyntaxError as error:
        raise ValueError(lines[(error.lineno or 1) - 1]) from None


def words(node: ast.expr) -> list[str]:
    """Return the names of `a | b`. Raises ValueError."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return words(left) + words(right)
    raise ValueError(f"{ast.unparse(node)}: a name is expected")


def word(node: ast.expr) -> str:
    (written,) = words(node)
    return name(written)


def name(written: str) -> str:
    """Return a name. Raises ValueError for one that is lost where a table is read."""
    if why := why_no_name(written):
        raise ValueError(why)
    return written


def string(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError(f"{ast.unparse(node)}: text is expected, in quotes")
