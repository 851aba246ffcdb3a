"""`lockcross cluster`: what the nodes of a cluster are like."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.text.rows import Form, Format, Rows, print_parts, whole

if TYPE_CHECKING:
    from sweeps.run.cluster.check import Answer

_SHOWN: dict[str, Any] = {
    "node": "{node}", "job": "{job}", "processor": "{processor}", "CPUs": "{CPUs}",
    "memory GB": "{memory GB:.0f}", "scratch GB free": "{scratch GB free:.0f}",
    "clock s off": "{clock s off:.1f}",
    "cycles": lambda one: "" if one["cycles"] is None else f"{one['cycles']:.0f}",
    "limits": "{limits}", "fit": "{fit}",
}  # fmt: skip

cluster = typer.Typer(no_args_is_help=True)


@cluster.command()
def check(
    file: Annotated[str, typer.Argument(help="A cluster file; see sweeps/clusters.")],
    nodes: Annotated[
        int, typer.Option(min=0, max=10_000, help="So many nodes, in one job; 0: those of a block.")
    ] = 0,
    form: Format = Form.TABLE,
) -> None:
    """Run one small job on a cluster and say of each node whether it can run cells.

    Compares engine versions, the tree, the clock, limits and a small cell with this machine. Exits
    with 1 when a node cannot.
    """
    from sweeps.run.cluster.check import check as ask
    from sweeps.run.cluster.description import load_cluster

    description = load_cluster(file)
    found, cycles = ask(description, nodes or description.nodes)
    print_parts(form, Rows([_row(one) for one in found], _SHOWN), fold=False)
    print(f"a small cell takes {cycles:.0f} cycles on this machine", file=sys.stderr)
    wrong = [(one.node.place.host, why) for one in found for why in one.wrong]
    for host, why in wrong:
        print(f"{host}: {why}", file=sys.stderr)
    if wrong:
        raise typer.Exit(1)


def _row(answer: "Answer") -> dict[str, object]:
    node = answer.node
    return dict(zip(_SHOWN, (
        node.place.host, node.place.job, node.place.processor, node.cpus, node.memory_gb,
        node.scratch_gb, answer.clock_off_s, None if node.cycles is None else whole(node.cycles),
        node.limits, "no" if answer.wrong else "yes",
    ), strict=True))  # fmt: skip


@cluster.callback(help="Look at a cluster.")
def _nothing() -> None:
    """A group of one command needs a callback to stay a group."""
