"""What `lockcross machines` prints: the machines by group, and every figure of one."""

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from sweeps.model.isa import ISAS
from sweeps.model.machine import GROUPS, Machine


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
