"""What `lockcross machines` prints: the machines by group, every figure of one, and what a machine
file may say."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

from rich.text import Text

from results.text.rows import Rows
from sweeps.engines import load_engine
from sweeps.model.engines import ENGINES
from sweeps.model.isa import ISAS
from sweeps.model.machine import (
    ATOMICS,
    GROUPS,
    LATENCY,
    Behaviour,
    Figure,
    Figures,
    Machine,
    Ordering,
    about,
)
from sweeps.support.toml import Document

_ASSUMED = "assumed:"


def overview(machines: Iterable[Machine]) -> Iterator[Rows | str]:
    """A table a group, a row a machine."""
    known = list(machines)
    yield "CAS and fence: set cycles of a CAS that wins and of a full fence, whole operation"
    for group in GROUPS:
        records = [
            {
                "machine": machine.name, "ISAs": "\n".join(machine.isas), "core": core(machine),
                "CAS": cycles(machine, dict.fromkeys(machine.isas, "cas_success")),
                "fence": cycles(machine, {isa: ISAS[isa].full_fence for isa in machine.isas}),
                "title": machine.title,
            }
            for machine in known
            if machine.group == group
        ]  # fmt: skip
        if records:
            yield Rows(records, title=group)


def core(machine: Machine) -> str:
    """The kind of core and its width, and what connects how many of them, where that is said."""
    kind = "in order" if machine.out_of_order is None else "out of order"
    found = f"{kind} {machine.core.number('width')}-wide"
    return found if machine.sst is None else f"{found}, {machine.sst.topology}: {machine.sst.nodes}"


def cycles(machine: Machine, operations: dict[str, str]) -> int | str:
    """The cycles of one operation an ISA: a line each, or one for all if they are the same."""
    every = [machine.latency[isa][name].number for isa, name in operations.items()]
    return every[0] if len(set(every)) == 1 else "\n".join(map(str, every))


def details(machine: Machine) -> Iterator[Rows | str]:
    """Every figure with its source or the reason for assuming it, and what else was measured."""
    yield f"{machine.name}: {machine.title}"
    figures = {"clock_mhz": machine.clock_mhz}
    for isa in machine.isas:
        own = machine.of_isa(isa)
        figures |= {k: v for k, v in machine.figures(isa).items() if k not in own}
        figures |= {f"{isa} {k}": v for k, v in own.items()}
    records: list[dict[str, Any]] = []
    if machine.sst is not None:
        figures |= {f"sst.{k}": v for k, v in machine.sst.figures().items()}
        cores = f"for {machine.sst.nodes} cores"
        records.append({"figure": "sst.topology", "value": machine.sst.topology, "source": cores})
    records += [
        {"figure": key, "value": figure.number,
         "source": figure.source or f"{_ASSUMED} {figure.why}"}
        for key, figure in figures.items()
    ]  # fmt: skip
    shown: dict[str, Any] = {"figure": "{figure}", "value": "{value}", "source": _source}
    yield Rows(records, shown)
    if machine.measured:
        measured = [{"also measured": key, **dict(one)} for key, one in machine.measured.items()]
        heads = {"also measured": "{also measured}", "value": "{value:g}", "spread": "{spread:g}"}
        yield Rows(measured, heads | {"unit": "{unit}", "meaning": "{meaning}"})


def _source(record: Mapping[str, Any]) -> str | Text:
    """Where a figure comes from; that it is assumed stands out."""
    source = str(record["source"])
    if not source.startswith(_ASSUMED):
        return source
    return Text.assemble((_ASSUMED, "italic"), source.removeprefix(_ASSUMED))


_FENCE = "of this fence, behind what it waits for"


def options(generic: Machine) -> Iterator[Rows | str]:
    """What a machine file may say, in a table each of its tables: what it means, its unit and
    bounds, what machine generic has, and the engines that are given it."""

    def described(model: type[Figures], known: Iterable[tuple[str, Any]]) -> Iterator[_Option]:
        values = dict(known)
        for name, field in model.model_fields.items():
            if field.description:
                yield _Option(name, field.description, about(model, name), values.get(name))

    parts = {"": described(Machine, generic)}
    for name, field in Machine.model_fields.items():
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, Figures) and kind is not Ordering:
                parts[name] = described(kind, getattr(generic, name) or ())
    for isa in generic.isas:
        latencies = generic.latency[isa].items()
        parts[f"ordering.{isa}"] = described(Ordering, generic.ordering[isa])
        parts[f"latency.{isa}"] = (
            _Option(name, ATOMICS.get(name, _FENCE), LATENCY, known) for name, known in latencies
        )
    engines = {one.family: load_engine(one.label).capabilities() for one in ENGINES}
    yield "Each value is { value = N, source = '...' } or { assumption = N, why = '...' }"
    for place, rows in parts.items():
        kind = place.partition(".")[0]
        readers = {family: can.unread for family, can in engines.items() if kind in can.tables}
        records = [
            {
                "option": row.name, "unit": row.about.get("unit", ""),
                "allowed": _allowed(row.about), generic.name: _known(row.known),
                "engines": ", ".join(one for one, no in readers.items() if row.name not in no),
                "meaning": row.meaning,
            }
            for row in rows
        ]  # fmt: skip
        yield Rows(records, title=f"[{place}]" if place else "at the head of the file")


class _Option(NamedTuple):
    """One of a machine file, what the model says about it, and its value."""

    name: str
    meaning: str
    about: Mapping[str, Any]
    known: object


def _allowed(said: Mapping[str, Any]) -> str:
    if "names" in said:
        return "; ".join(f"{name} ({how})" if how else name for name, how in said["names"].items())
    power = ", a power of two" if said.get("power_of_two") else ""
    return f"{said['low']} to {said['high']}{power}" if said else ""


def _known(known: object) -> object:
    """A value of a machine file, without its source; nothing for a table, which has its own."""
    match known:
        case Figure():
            return known.number
        case Behaviour():
            return known.value or known.assumption
        case list():
            return ", ".join(map(str, known))
        case Document() | dict() | None:
            return ""
    return known
