"""Two threads of a lock where its order matters, as litmus tests from the lock's own functions."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from pydantic import BaseModel, ConfigDict

from results.paths import ROOT
from sweeps.support.toml import parse

FOLDER = ROOT / "proofs" / "assembly"
ROLES = ("acquire", "release", "behind", "order", "before", "fence")
_AT = {8: "0, ", 16: "0, ", 32: ""}  # which byte or half-word `_then_load_next` stores
_SHORT = re.compile(r"([a-z]) = (\w+)")
_WORDS = re.compile(r"\b[xyrs]\b")
_OTHER = {"x": "y", "y": "x", "r": "s", "s": "r"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Part(_Strict):
    """How a primitive plays a part of the shapes."""

    code: str
    saw: str = ""
    missed: str = "r=0"
    without: tuple[str, ...] = ()


class Own(_Strict):
    """A litmus test of one primitive alone."""

    name: str
    threads: tuple[tuple[str, ...], ...]
    forbidden: str
    mixed: bool = False
    orders: bool = True
    narrow: str = ""
    contrast: tuple[tuple[str, ...], ...] = ()


class Primitive(_Strict):
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


class Shape(_Strict):
    """One entry of shapes.toml."""

    threads: tuple[tuple[str, ...], ...]
    forbidden: str


@dataclass(frozen=True)
class Litmus:
    """A litmus test in C. `tested`: the threads that hold the primitive."""

    primitive: str
    name: str
    threads: tuple[tuple[str, ...], ...]
    tested: frozenset[int]
    forbidden: str
    promise: str
    promised: bool = True
    mixed: bool = False
    orders: bool = True
    bits: Mapping[str, int] = field(default_factory=dict, hash=False)  # of what is no word
    contrast: tuple[tuple[str, ...], ...] = ()
    first: Mapping[str, int] = field(default_factory=dict, hash=False)  # values, where not 0


@cache
def primitives() -> dict[str, Primitive]:
    """The primitives, one for each width."""
    text = (FOLDER / "primitives.toml").read_text(encoding="utf-8")
    found = {}
    for name, table in tomllib.loads(text).items():
        widths = table.get("widths", [])
        for bits in widths or [table.get("bits", 32)]:
            filled = _filled(table, bits) | {"bits": bits}
            found[name.replace("{bits}", str(bits))] = Primitive.model_validate(filled)
    return found


def _filled(value: object, bits: int) -> dict[str, object]:
    """A table with the width put into its strings."""

    def fill(one: object) -> object:
        if isinstance(one, str):
            return one.replace("{bits}", str(bits)).replace("{at}", _AT.get(bits, ""))
        if isinstance(one, list):
            return [fill(each) for each in one]
        return {key: fill(each) for key, each in one.items()} if isinstance(one, dict) else one

    filled = fill(value)
    assert isinstance(filled, dict)
    return filled


class _Shapes(_Strict):
    acquire: dict[str, Shape]
    release: dict[str, Shape]
    behind: dict[str, Shape]
    order: dict[str, Shape]
    before: dict[str, Shape]
    fence: dict[str, Shape]


@cache
def _shapes() -> dict[str, dict[str, Shape]]:
    read = parse(_Shapes, (FOLDER / "shapes.toml").read_text(encoding="utf-8"))
    return {role: getattr(read, role) for role in ROLES}


def litmus_tests(fence: str) -> Iterator[Litmus]:
    """All tests of the primitives that a fence kind changes; of all, for the full fence."""
    for name, primitive in primitives().items():
        if fence in primitive.fences:
            for role in ROLES:
                if part := getattr(primitive, role):
                    yield from _of_role(name, primitive, role, part)
            for own in primitive.own + primitive.beyond:
                yield _of_own(name, primitive, own, own not in primitive.beyond)


def _of_role(name: str, primitive: Primitive, role: str, part: Part) -> Iterator[Litmus]:
    words = {role: part.code, "reverse": _WORDS.sub(lambda found: _OTHER[found[0]], part.code)}
    bits = dict.fromkeys(primitive.narrow, primitive.bits)
    for title, shape in _shapes()[role].items():
        if title in part.without:
            continue
        yield Litmus(
            name,
            f"{role}: {title}",
            in_c([[line.format_map(words) for line in thread] for thread in shape.threads], bits),
            frozenset(i for i, thread in enumerate(shape.threads) if "{" in "".join(thread)),
            shape.forbidden.format(saw=part.saw, missed=part.missed),
            primitive.promise,
            bits=bits,
        )


def _of_own(name: str, primitive: Primitive, own: Own, promised: bool) -> Litmus:
    bits = dict.fromkeys(own.narrow, primitive.bits)
    if primitive.pair:
        bits[primitive.pair] = 64
    threads = in_c(own.threads, bits)
    return Litmus(
        name,
        own.name,
        threads,
        frozenset(i for i, thread in enumerate(threads) if f"{name}(" in " ".join(thread)),
        own.forbidden,
        primitive.promise,
        promised,
        own.mixed,
        own.orders,
        bits,
        in_c(own.contrast, bits),
    )


def in_c(threads: Sequence[Sequence[str]], bits: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Threads in which `x = 1`, `r = x` and `fence` are written out."""

    def written(line: str) -> str:
        if line == "fence":
            return "arch_fence_full()"
        if not (found := _SHORT.fullmatch(line)):
            return line
        to, what = found.groups()
        if what.isdecimal():
            return f"store_rlx_u{bits.get(to, 32)}({to}, {what})"
        return f"*{to} = load_rlx_u{bits.get(what, 32)}({what})"

    return tuple(tuple(written(line) for line in thread) for thread in threads)
