"""`lockcross cluster`: a check of the nodes of a cluster."""

import sys
from typing import Annotated

import typer

from results.text.rows import Form, Format, print_parts

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
    rows, complaints, cycles = ask(description, nodes or description.nodes)
    print_parts(form, rows, fold=False)
    here = f"a small cell takes {cycles:.0f} cycles on this machine"
    print("\n".join([here, *complaints]), file=sys.stderr)
    if complaints:
        raise typer.Exit(1)


@cluster.callback(help="Look at a cluster.")
def _nothing() -> None:
    """Keep a group of one command a group, by a callback."""
