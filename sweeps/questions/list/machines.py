"""What `lockcross machines` prints: the machines by group, and every figure of one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text

from results.text.rows import Rows
from sweeps.model.isa import ISAS
from sweeps.model.machine import GROUPS, Machine

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
    found = f"{kind} {machine.core.width.number}-wide"
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
