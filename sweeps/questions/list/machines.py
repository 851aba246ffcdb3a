"""`lockcross machines`: the machines by group, every figure of one, and the keys of a machine
file."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, get_args

import typer
from rich.text import Text

from results.errors import LockcrossError
from results.text.rows import Form, Format, Rows, plain, print_parts
from sweeps.cli import options
from sweeps.engines.base import load_engine
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
    load_machine,
    machine_named,
    machine_names,
)
from sweeps.support.toml import Document

_ASSUMED = "assumed:"


def machines(
    name: Annotated[
        str | None, options.argument("Show every figure of this machine.", options.machines)
    ] = None,
    every_option: Annotated[
        bool, typer.Option("--options", help="Show what a machine file may say, and what it means.")
    ] = False,
    form: Format = Form.TABLE,
) -> None:
    """List the machines, or every figure of one with its source or the reason for assuming it."""
    if every_option and name is not None:
        raise LockcrossError("--options is of every machine file: give no name with it")
    if every_option:
        shown = what_may_be_said(load_machine("generic"))
    elif name is None:
        shown = overview(list(map(load_machine, machine_names())))
    else:
        shown = details(load_machine(machine_named(name)))
    print_parts(form, *shown)


def overview(known: Sequence[Machine]) -> Iterator[Rows | str]:
    def core(machine: Machine) -> str:
        """Return the kind of core and its width, and the number and connection of the cores."""
        kind = "in order" if machine.out_of_order is None else "out of order"
        mesh = f", {machine.sst.topology}: {machine.sst.nodes}" if machine.sst else ""
        return f"{kind} {machine.core.number('width')}-wide{mesh}"

    def cycles(machine: Machine, operations: dict[str, str]) -> int | str:
        """Return cycles of one operation: a line per ISA, or one if they are the same."""
        numbers = [machine.latency[isa][name].number for isa, name in operations.items()]
        return numbers[0] if len(set(numbers)) == 1 else "\n".join(map(str, numbers))

    yield "CAS and fence: set cycles of a CAS that wins and of a full fence, whole operation"
    for group in GROUPS:
        records = [
            {
                "machine": machine.name,
                "ISAs": "\n".join(machine.isas),
                "core": core(machine),
                "CAS": cycles(machine, dict.fromkeys(machine.isas, "cas_success")),
                "fence": cycles(machine, {isa: ISAS[isa].full_fence for isa in machine.isas}),
                "title": machine.title,
            }
            for machine in known
            if machine.group == group
        ]
        if records:
            yield Rows(records, title=group)


def details(machine: Machine) -> Iterator[Rows | str]:
    """Yield every figure with its source or reason, and further measurements."""
    yield f"{machine.name}: {machine.title}"
    figures = {"clock_mhz": machine.clock_mhz}
    for isa in machine.isas:
        of_isa = machine.of_isa(isa)
        figures |= {k: v for k, v in machine.figures(isa).items() if k not in of_isa}
        figures |= {f"{isa} {k}": v for k, v in of_isa.items()}
    units = _units()
    records: list[dict[str, Any]] = []
    if machine.sst is not None:
        figures |= {f"sst.{k}": v for k, v in machine.sst.figures().items()}
        cores = f"for {machine.sst.nodes} cores"
        topology = {"value": machine.sst.topology, "unit": ""}
        records.append({"figure": "sst.topology", **topology, "source": cores})
    records += [
        {
            "figure": key,
            "value": figure.number,
            "unit": units.get(re.split(r"[ .]", key)[-1], ""),
            "source": _origin(figure),
        }
        for key, figure in figures.items()
    ]
    shown: dict[str, Any] = {**plain("figure", "value", "unit"), "source": _source}
    yield Rows(records, shown)
    if machine.measured:
        measured = [
            {"also measured": key, **dict(values)} for key, values in machine.measured.items()
        ]
        numbers = {"value": "{value:g}", "spread": "{spread:g}"}
        yield Rows(measured, plain("also measured") | numbers | plain("unit", "meaning"))


def _origin(figure: Figure) -> str:
    """Return where a figure comes from, and the interval that this leaves open."""
    source = f"{_ASSUMED} {figure.why}" if figure.source is None else figure.source
    source = f"derived: {source}" if figure.derived is not None else source
    low, high = figure.interval
    return source if low == high else f"{source} ({low} to {high})"


def _units() -> dict[str, str]:
    """Return the unit of every figure by its own name; a figure without one chooses a behaviour."""
    tables = [rows for rows in what_may_be_said(load_machine("generic")) if isinstance(rows, Rows)]
    return {
        f"charge_{row['option']}" if rows.title == "[charges]" else row["option"]: row["unit"]
        for rows in tables
        for row in rows.records
    }


def _source(record: Mapping[str, Any]) -> str | Text:
    """Return where a figure comes from; that it is assumed stands out."""
    source = str(record["source"])
    if not source.startswith(_ASSUMED):
        return source
    return Text.assemble((_ASSUMED, "italic"), source.removeprefix(_ASSUMED))


_Option = tuple[str, str, Mapping[str, Any], object]  # name, meaning, bounds, generic's value
_FENCE = "of this fence, behind what it waits for"


def what_may_be_said(generic: Machine) -> Iterator[Rows | str]:
    """Yield the keys of a machine file, a table for each of its tables: meaning, unit and bounds,
    the value of machine generic, and the engines that are given it."""

    def described(model: type[Figures], known: Iterable[tuple[str, Any]]) -> list[_Option]:
        values = dict(known)
        return [
            (name, field.description, about(model, name), values.get(name))
            for name, field in model.model_fields.items()
            if field.description
        ]

    tables = {"": described(Machine, generic)}
    for name, field in Machine.model_fields.items():
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, Figures) and kind is not Ordering:
                tables[name] = described(kind, getattr(generic, name) or ())
    for isa in generic.isas:
        tables[f"ordering.{isa}"] = described(Ordering, generic.ordering[isa])
        tables[f"latency.{isa}"] = [
            (name, ATOMICS.get(name, _FENCE), LATENCY, known)
            for name, known in generic.latency[isa].items()
        ]
    engines = {engine.family: load_engine(engine.label).capabilities() for engine in ENGINES}
    yield (
        "Each value is { value = N, source = '...' }, { derived = N, source = '...' } from another "
        "machine, or { assumption = N, why = '...' }; any may have low = N and high = N"
    )
    for place, rows in tables.items():
        kind = place.partition(".")[0]
        readers = {family: can.unread for family, can in engines.items() if kind in can.tables}
        records = [
            {
                "option": name,
                "unit": bounds.get("unit", ""),
                "allowed": _allowed(bounds),
                generic.name: _known(known),
                "engines": ", ".join(family for family in readers if name not in readers[family]),
                "meaning": meaning,
            }
            for name, meaning, bounds, known in rows
        ]
        yield Rows(records, title=f"[{place}]" if place else "at the head of the file")


def _allowed(bounds: Mapping[str, Any]) -> str:
    if "names" in bounds:
        return "; ".join(
            f"{name} ({how})" if how else name for name, how in bounds["names"].items()
        )
    power = ", a power of two" if bounds.get("power_of_two") else ""
    return f"{bounds['low']} to {bounds['high']}{power}" if bounds else ""


def _known(known: object) -> object:
    """Return a value of a machine file without its source; nothing for a table."""
    match known:
        case Figure():
            return known.number
        case Behaviour():
            return known.stated
        case list():
            return ", ".join(map(str, known))
        case Document() | dict() | None:
            return ""
    return known
