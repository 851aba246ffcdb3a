"""`lockcross cluster`: what the nodes of a cluster are like."""

import sys
from typing import Annotated

import typer

from results.text.rows import Form, Format, print_rows

_COLUMNS = ["node", "job", "processor", "CPUs", "memory GB", "scratch GB free", "clock s off",
            "cycles", "limits", "fit"]  # fmt: skip


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
    from results.store.queries import Answer
    from sweeps.run.cluster.check import check as ask
    from sweeps.run.cluster.description import load_cluster

    cluster = load_cluster(file)
    found, cycles = ask(cluster, nodes or cluster.nodes)
    rows: list[tuple[object, ...]] = []
    for one in found:
        node, fit = one.node, "no" if one.wrong else "yes"
        off, there = f"{one.clock_off_s:.1f}", "" if node.cycles is None else f"{node.cycles:.0f}"
        space = (f"{node.memory_gb:.0f}", f"{node.scratch_gb:.0f}")
        place = (node.place.host, node.place.job, node.place.processor)
        rows.append((*place, node.cpus, *space, off, there, node.limits, fit))
    print_rows(Answer(_COLUMNS, rows), form)
    print(f"a small cell takes {cycles:.0f} cycles on this machine", file=sys.stderr)
    wrong = [(one.node.place.host, why) for one in found for why in one.wrong]
    for host, why in wrong:
        print(f"{host}: {why}", file=sys.stderr)
    if wrong:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Adds the `cluster` commands."""
    group = typer.Typer(help="Look at a cluster.", no_args_is_help=True)
    group.command("check")(check)
    group.callback(help="Look at a cluster.")(_nothing)
    app.add_typer(group, name="cluster")


def _nothing() -> None:
    """A group of one command needs a callback to stay a group."""
