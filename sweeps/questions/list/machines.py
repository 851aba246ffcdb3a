"""What `lockcross machines` prints: the machines by group, every figure of one, and what a machine
file may say."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

from rich.table import Table
from rich.text import Text

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


def overview(machines: Iterable[Machine]) -> Iterator[Table | str]:
    """A table a group, a row a machine."""
    known = list(machines)
    yield "CAS and fence: set cycles of a CAS that wins and of a full fence, whole operation"
    for group in GROUPS:
        table = Table("machine", "ISAs", "core", "CAS", "fence", "title", box=None, title=group)
        table.title_justify = "left"
        for machine in known:
            if machine.group == group:
                fences = {isa: ISAS[isa].full_fence for isa in machine.isas}
                table.add_row(
                    machine.name, "\n".join(machine.isas), core(machine),
                    cycles(machine, dict.fromkeys(machine.isas, "cas_success")),
                    cycles(machine, fences), machine.title,
                )  # fmt: skip
        if table.rows:
            yield table


def core(machine: Machine) -> str:
    """The kind of core and its width, and what connects how many of them, where that is said."""
    kind = "in order" if machine.out_of_order is None else "out of order"
    found = f"{kind} {machine.core.width.number}-wide"
    return found if machine.sst is None else f"{found}, {machine.sst.topology}: {machine.sst.nodes}"


def cycles(machine: Machine, operations: dict[str, str]) -> str:
    """The cycles of one operation an ISA: a line each, or one for all if they are the same."""
    found = [str(machine.latency[isa][name].number) for isa, name in operations.items()]
    return found[0] if len(set(found)) == 1 else "\n".join(found)


def details(machine: Machine) -> Iterator[Table | str]:
    """Every figure with its source or the reason for assuming it, and what else was measured."""
    yield f"{machine.name}: {machine.title}"
    figures = {"clock_mhz": machine.clock_mhz}
    for isa in machine.isas:
        own = machine.of_isa(isa)
        figures |= {k: v for k, v in machine.figures(isa).items() if k not in own}
        figures |= {f"{isa} {k}": v for k, v in own.items()}
    table = Table("figure", "value", "source", box=None)
    if machine.sst is not None:
        figures |= {f"sst.{k}": v for k, v in machine.sst.figures().items()}
        table.add_row("sst.topology", machine.sst.topology, f"for {machine.sst.nodes} cores")
    for key, figure in figures.items():
        assumed = Text.assemble(("assumed:", "italic"), f" {figure.why}")
        table.add_row(key, str(figure.number), figure.source or assumed)
    yield table
    if machine.measured:
        more = Table("also measured", "value", "spread", "unit", "meaning", box=None)
        for key, found in machine.measured.items():
            more.add_row(key, f"{found.value:g}", f"{found.spread:g}", found.unit, found.meaning)
        yield more


_FENCE = "of this fence, behind what it waits for"


def options(generic: Machine) -> Iterator[Table | str]:
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
        title = Text(f"[{place}]" if place else "at the head of the file")
        table = Table(
            "option", "unit", "allowed", generic.name, "engines", "meaning", box=None, title=title,
            title_justify="left",
        )  # fmt: skip
        kind = place.partition(".")[0]
        readers = {family: can.unread for family, can in engines.items() if kind in can.tables}
        for row in rows:
            given = ", ".join(
                family for family, unread in readers.items() if row.name not in unread
            )
            unit = row.about.get("unit", "")
            table.add_row(
                row.name, unit, _allowed(row.about), _known(row.known), given, row.meaning
            )
        yield table


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


def _known(known: object) -> str:
    """A value of a machine file, without its source."""
    match known:
        case Figure():
            return str(known.number)
        case Behaviour():
            return str(known.value or known.assumption)
        case list():
            return ", ".join(map(str, known))
    return "" if known is None or known == {} else str(known)
