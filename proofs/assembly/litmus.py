"""Litmus tests in C: shapes of which a primitive plays a part (primitives.toml, shapes.toml), and
two threads of a lock where its order matters, from the lock's own functions (pairs.toml)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from pydantic import RootModel

from proofs.files import Entry, registry
from results.paths import ROOT

FOLDER = ROOT / "proofs" / "assembly"
Role = Literal["acquire", "release", "behind", "order", "before", "fence"]
_AT = {8: "0, ", 16: "0, "}  # which byte or half-word `_then_load_next` stores
_OTHER = {"x": "y", "y": "x", "r": "s", "s": "r"}
Threads = tuple[tuple[str, ...], ...]


class Part(Entry):
    """How a primitive plays a part of the shapes."""

    code: str
    saw: str = ""
    missed: str = "r=0"
    without: tuple[str, ...] = ()


class Own(Entry):
    """A litmus test of one primitive alone."""

    name: str
    threads: Threads
    forbidden: str
    mixed: bool = False
    orders: bool = True
    narrow: str = ""
    contrast: Threads = ()


class Primitive(Entry):
    """One entry of primitives.toml."""

    promise: str
    probe: str
    widths: tuple[int, ...] = ()
    bits: int = 32
    narrow: str = ""  # the places that are of the primitive's width
    pair: str = ""  # the place that is two words
    fences: tuple[str, ...] = ("full",)
    acquire: Part | None = None
    release: Part | None = None
    behind: Part | None = None
    order: Part | None = None
    before: Part | None = None
    fence: Part | None = None
    own: tuple[Own, ...] = ()
    beyond: tuple[Own, ...] = ()


class Shape(Entry):
    """One entry of shapes.toml."""

    threads: Threads
    forbidden: str


class Pair(Entry):
    """One entry of pairs.toml."""

    says: str
    threads: Threads
    forbidden: str
    first: int = 0
    fences: bool = False


@dataclass(frozen=True)
class Litmus:
    """A litmus test in C, of a primitive or a lock. `tested`: the threads that hold it."""

    primitive: str
    name: str
    threads: Threads
    tested: frozenset[int]
    forbidden: str
    promise: str
    promised: bool = True
    mixed: bool = False
    orders: bool = True
    bits: Mapping[str, int] = field(default_factory=dict, hash=False)  # of what is no word
    contrast: Threads = ()
    first: Mapping[str, int] = field(default_factory=dict, hash=False)  # values, where not 0


@cache
def primitives() -> dict[str, Primitive]:
    """The primitives, one for each width, which stands in its strings."""
    known = registry(RootModel[dict[str, Primitive]], FOLDER / "primitives.toml").root
    of_widths = {}
    for name, one in known.items():
        for bits in one.widths or (one.bits,):
            text = one.model_copy(update={"bits": bits}).model_dump_json()
            text = text.replace("{bits}", str(bits)).replace("{at}", _AT.get(bits, ""))
            of_widths[name.replace("{bits}", str(bits))] = Primitive.model_validate_json(text)
    return of_widths


@cache
def _shapes() -> dict[Role, dict[str, Shape]]:
    return registry(RootModel[dict[Role, dict[str, Shape]]], FOLDER / "shapes.toml").root


@cache
def pairs() -> dict[str, dict[str, Pair]]:
    """Lock -> name -> pair."""
    return registry(RootModel[dict[str, dict[str, Pair]]], FOLDER / "pairs.toml").root


def litmus_tests(fence: str) -> Iterator[Litmus]:
    """All tests of the primitives that a fence kind changes; of all, for the full fence."""
    for name, primitive in primitives().items():
        if fence in primitive.fences:
            for role, shapes in _shapes().items():
                if part := getattr(primitive, role):
                    yield from _of_role(name, primitive, role, part, shapes)
            for own in primitive.own + primitive.beyond:
                yield _of_own(name, primitive, own, own not in primitive.beyond)


def _of_role(
    name: str, primitive: Primitive, role: str, part: Part, shapes: Mapping[str, Shape]
) -> Iterator[Litmus]:
    reverse = re.sub(r"\b[xyrs]\b", lambda word: _OTHER[word[0]], part.code)
    words = {role: part.code, "reverse": reverse}
    bits = dict.fromkeys(primitive.narrow, primitive.bits)
    for title, shape in shapes.items():
        if title not in part.without:
            filled = [[line.format_map(words) for line in thread] for thread in shape.threads]
            tested = (i for i, thread in enumerate(shape.threads) if "{" in "".join(thread))
            forbidden = shape.forbidden.format(saw=part.saw, missed=part.missed)
            yield Litmus(
                name, f"{role}: {title}", _in_c(filled, bits), frozenset(tested), forbidden,
                primitive.promise, bits=bits,
            )  # fmt: skip


def _of_own(name: str, primitive: Primitive, own: Own, promised: bool) -> Litmus:
    bits = dict.fromkeys(own.narrow, primitive.bits)
    if primitive.pair:
        bits[primitive.pair] = 64
    threads = _in_c(own.threads, bits)
    tested = (i for i, thread in enumerate(threads) if f"{name}(" in " ".join(thread))
    return Litmus(
        name, own.name, threads, frozenset(tested), own.forbidden, primitive.promise, promised,
        own.mixed, own.orders, bits, _in_c(own.contrast, bits),
    )  # fmt: skip


def pair_tests(lock: str) -> list[Litmus]:
    """The tests of a lock."""
    bits = {"x": 64}
    return [
        Litmus(
            lock, name, _in_c(pair.threads, bits), frozenset(range(len(pair.threads))),
            pair.forbidden, pair.says, mixed=True, bits=bits, first={"x": pair.first},
        )
        for name, pair in pairs()[lock].items()
    ]  # fmt: skip


def _in_c(threads: Sequence[Sequence[str]], bits: Mapping[str, int]) -> Threads:
    """Threads in which `x = 1`, `r = x` and `fence` are written out."""

    def written(line: str) -> str:
        if line == "fence":
            return "arch_fence_full()"
        if not (short := re.fullmatch(r"([a-z]) = (\w+)", line)):
            return line
        to, what = short.groups()
        if what.isdecimal():
            return f"store_rlx_u{bits.get(to, 32)}({to}, {what})"
        return f"*{to} = load_rlx_u{bits.get(what, 32)}({what})"

    return tuple(tuple(written(line) for line in thread) for thread in threads)
