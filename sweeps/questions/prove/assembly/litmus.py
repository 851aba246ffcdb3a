"""Litmus tests in C: shapes of which a primitive plays a part (primitives.toml, shapes.toml), and
two threads of a lock where its order matters, from the lock's own functions (pairs.toml)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

from pydantic import RootModel

from results.paths import ROOT
from sweeps.model.locks import FULL
from sweeps.support.toml import Entry, read_registry

DATA = ROOT / "proofs" / "assembly"
Role = Literal["acquire", "release", "behind", "order", "before", "fence"]
Threads = tuple[tuple[str, ...], ...]
_AT = {8: "0, ", 16: "0, "}  # which byte or half-word `_then_load_next` stores
_OTHER = {"x": "y", "y": "x", "r": "s", "s": "r"}
PLACES = "xyz"
_SEEN = "rstuv"


class Part(Entry):
    """How a primitive plays a part of the shapes; primitives.toml explains the fields."""

    code: str
    saw: str = ""
    missed: str = "r=0"
    without: tuple[str, ...] = ()


class Shape(Entry):
    threads: Threads
    forbidden: str


class Litmus(Shape):
    """A litmus test in C, of a primitive or a lock. `bits`: of places that are no words; `first`:
    the first values of places, where not 0."""

    name: str
    mixed: bool = False
    orders: bool = True
    narrow: str = ""
    contrast: Threads = ()
    primitive: str = ""
    promise: str = ""
    promised: bool = True
    bits: dict[str, int] = {}
    first: dict[str, int] = {}

    @property
    def tested(self) -> list[int]:
        call = f"{self.primitive}("
        return [i for i, thread in enumerate(self.threads) if call in " ".join(thread)]


class Primitive(Entry):
    """One entry of primitives.toml."""

    promise: str
    probe: str
    widths: tuple[int, ...] = ()
    bits: int = 32
    narrow: str = ""  # the places that are of the primitive's width
    pair: str = ""  # the place that is two words
    fences: tuple[str, ...] = (FULL,)
    unasked: dict[str, str] = {}  # by flavour
    parts: dict[Role, Part] = {}
    own: tuple[Litmus, ...] = ()
    beyond: tuple[Litmus, ...] = ()


class Pair(Shape):
    says: str
    first: int = 0
    fences: bool = False


@cache
def primitives() -> dict[str, Primitive]:
    """Return the primitives, one per width, which stands in its strings."""
    known = read_registry(RootModel[dict[str, Primitive]], DATA / "primitives.toml").root
    of_widths = {}
    for name, primitive in known.items():
        for bits in primitive.widths or (primitive.bits,):
            text = primitive.model_copy(update={"bits": bits}).model_dump_json()
            text = text.replace("{bits}", str(bits)).replace("{at}", _AT.get(bits, ""))
            of_widths[name.replace("{bits}", str(bits))] = Primitive.model_validate_json(text)
    return of_widths


@cache
def pairs() -> dict[str, dict[str, Pair]]:
    return read_registry(RootModel[dict[str, dict[str, Pair]]], DATA / "pairs.toml").root


def litmus_tests(fence: str) -> Iterator[Litmus]:
    """Yield the tests of all primitives for the full fence, else of those that the kind changes."""
    kind = RootModel[dict[Role, dict[str, Shape]]]
    roles = read_registry(kind, DATA / "shapes.toml").root
    for name, primitive in primitives().items():
        shaped = [
            test
            for role, shapes in roles.items()
            if role in primitive.parts and fence in primitive.fences
            for test in _of_role(primitive, role, shapes)
        ]
        for test in (*shaped, *primitive.own, *primitive.beyond):
            bits = dict.fromkeys(test.narrow, primitive.bits)
            if primitive.pair:
                bits[primitive.pair] = 64
            filled = {
                "threads": _in_c(test.threads, bits),
                "contrast": _in_c(test.contrast, bits),
                "primitive": name,
                "promise": primitive.promise,
                "promised": test not in primitive.beyond,
                "bits": bits,
            }
            yield test.model_copy(update=filled)


def _of_role(primitive: Primitive, role: Role, shapes: Mapping[str, Shape]) -> Iterator[Litmus]:
    """Yield the shapes of a role, with the primitive in its place."""
    part = primitive.parts[role]
    reverse = re.sub(r"\b[xyrs]\b", lambda word: _OTHER[word[0]], part.code)
    words = {role: part.code, "reverse": reverse}
    for title, shape in shapes.items():
        if title not in part.without:
            filled = ([line.format_map(words) for line in thread] for thread in shape.threads)
            yield Litmus(
                name=f"{role}: {title}", threads=tuple(map(tuple, filled)), narrow=primitive.narrow,
                forbidden=shape.forbidden.format(saw=part.saw, missed=part.missed),
            )  # fmt: skip


def pair_tests(lock: str) -> list[Litmus]:
    return [
        Litmus(
            primitive=lock, name=name, threads=_in_c(pair.threads, {"x": 64}), promise=pair.says,
            forbidden=pair.forbidden, mixed=True, bits={"x": 64}, first={"x": pair.first},
        )
        for name, pair in pairs()[lock].items()
    ]  # fmt: skip


def _in_c(threads: Sequence[Sequence[str]], bits: Mapping[str, int]) -> Threads:
    """Write out `x = 1`, `r = x` and `fence` in threads."""

    def written(line: str) -> str:
        if line == "fence":
            return "arch_fence_full()"
        if not (short := re.fullmatch(r"([a-z]) = (\w+)", line)):
            return line
        to, value = short.groups()
        if value.isdecimal():
            return f"store_rlx_u{bits.get(to, 32)}({to}, {value})"
        return f"*{to} = load_rlx_u{bits.get(value, 32)}({value})"

    return tuple(tuple(written(line) for line in thread) for thread in threads)


def arguments_of(thread: Sequence[str]) -> tuple[str, ...]:
    """Return the places that a thread uses, then where it puts the values it saw."""
    words = set(re.findall(r"\b[a-z]\b", " ".join(thread)))
    return tuple(name for name in PLACES + _SEEN if name in words)


def function_in_c(name: str, thread: Sequence[str], bits: Mapping[str, int]) -> str:
    """Write a thread as a C function. It reports the values it saw at its end, where that orders
    nothing: a store that depends on a load would let a barrier between stores order the load. A
    pair of words is reached as words."""

    def width(argument: str) -> int:
        pair = bits.get(argument) == 64 and not any(f"u64({argument}" in line for line in thread)
        return 32 if pair else bits.get(argument, 32)

    arguments = arguments_of(thread)
    parameters = ", ".join(f"volatile uint{width(name)}_t *{name}" for name in arguments)
    steps = "; ".join(thread).split("; ")
    lines = [re.sub(rf"^\*([{_SEEN}]) =", r"uint32_t seen_\1 =", step) for step in steps]
    lines += [f"*{argument} = seen_{argument}" for argument in arguments if argument in _SEEN]
    body = "".join(f"    {line};\n" for line in lines)
    return f"void {name}({parameters}) {{\n{body}}}\n"
