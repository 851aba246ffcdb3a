"""Litmus tests in C: shapes of which a primitive plays a part (primitives.toml, shapes.toml), and
two threads of a lock where its order matters, from the lock's own functions (pairs.toml)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
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


class Shape(Entry):
    """One entry of shapes.toml."""

    threads: Threads
    forbidden: str


class Own(Shape):
    """A litmus test of one primitive alone."""

    name: str
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


class Pair(Shape):
    """One entry of pairs.toml."""

    says: str
    first: int = 0
    fences: bool = False


class Litmus(Own):
    """A litmus test in C, of a primitive or a lock. `bits`: of places that are no words; `first`:
    the first values of places, where not 0."""

    primitive: str
    promise: str
    promised: bool = True
    bits: dict[str, int] = {}
    first: dict[str, int] = {}

    @property
    def tested(self) -> list[int]:
        """The threads that hold the primitive."""
        call = f"{self.primitive}("
        return [i for i, thread in enumerate(self.threads) if call in " ".join(thread)]


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
def pairs() -> dict[str, dict[str, Pair]]:
    """Lock -> name -> pair."""
    return registry(RootModel[dict[str, dict[str, Pair]]], FOLDER / "pairs.toml").root


def litmus_tests(fence: str) -> Iterator[Litmus]:
    """All tests of the primitives that a fence kind changes; of all, for the full fence."""
    roles = registry(RootModel[dict[Role, dict[str, Shape]]], FOLDER / "shapes.toml").root
    for name, primitive in primitives().items():
        of_roles = (_of_role(primitive, role, shapes) for role, shapes in roles.items())
        shaped = list(chain.from_iterable(of_roles)) if fence in primitive.fences else []
        for test in (*shaped, *primitive.own, *primitive.beyond):
            bits = dict.fromkeys(test.narrow, primitive.bits)
            if primitive.pair:
                bits[primitive.pair] = 64
            threads, contrast = (_in_c(one, bits) for one in (test.threads, test.contrast))
            yield Litmus(
                **dict(test) | {"threads": threads, "contrast": contrast}, primitive=name,
                promise=primitive.promise, promised=test not in primitive.beyond, bits=bits,
            )  # fmt: skip


def _of_role(primitive: Primitive, role: Role, shapes: Mapping[str, Shape]) -> Iterator[Own]:
    """The shapes of a role, with the primitive in its place."""
    if part := getattr(primitive, role):
        reverse = re.sub(r"\b[xyrs]\b", lambda word: _OTHER[word[0]], part.code)
        words = {role: part.code, "reverse": reverse}
        for title, shape in shapes.items():
            if title not in part.without:
                filled = ([line.format_map(words) for line in one] for one in shape.threads)
                yield Own(
                    name=f"{role}: {title}",
                    threads=tuple(map(tuple, filled)),
                    forbidden=shape.forbidden.format(saw=part.saw, missed=part.missed),
                    narrow=primitive.narrow,
                )


def pair_tests(lock: str) -> list[Litmus]:
    """The tests of a lock."""
    return [
        Litmus(
            primitive=lock, name=name, threads=_in_c(pair.threads, {"x": 64}), promise=pair.says,
            forbidden=pair.forbidden, mixed=True, bits={"x": 64}, first={"x": pair.first},
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
