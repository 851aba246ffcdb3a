"""`lockcross bench`: how fast the engine is on this machine."""

from importlib import import_module
from typing import Annotated

import typer

from results.errors import LockcrossError
from results.model import engines
from sweeps.model.isa import ISAS


def bench_engine(
    isas: Annotated[
        list[str] | None, typer.Argument(help="Instruction sets; all when none is given.")
    ] = None,
) -> None:
    """Measure the embedded engine: instructions and hand-overs per second, memory."""
    from rich.console import Console

    unknown = [isa for isa in isas or [] if isa not in ISAS]
    if unknown:
        raise LockcrossError(f"ISA {unknown[0]!r} is unknown; known are {', '.join(ISAS)}")
    console = Console()
    embedded = import_module(f"sweeps.engines.{engines.entry(engines.DEFAULT).family}.bench")
    console.print(embedded.bench(isas or list(ISAS)))
    console.print(embedded.NOTE)


def register(app: typer.Typer) -> None:
    """Adds the `bench` commands."""
    group = typer.Typer(help="Measure speed on this machine.", no_args_is_help=True)
    group.command("engine")(bench_engine)
    app.add_typer(group, name="bench")
