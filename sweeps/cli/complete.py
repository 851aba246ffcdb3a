"""What a shell completes where an option or argument takes a name."""

from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Any

import typer


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Those that go on as what is typed."""
    return [name for name in names if name.startswith(incomplete)]


def _of(place: str, several: bool = False) -> Callable[[str], list[str]]:
    """Completes the names at a place, MODULE:OBJECT, or those that a function there returns. Only
    what is asked for is imported. `several`: with commas between them, the last is completed."""

    def complete(incomplete: str) -> list[str]:
        there = resolve_name(place)
        names = there() if callable(there) else there
        before, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        return [before + comma + name for name in beginning(names, last)]

    return complete


def option(words: str, names: Callable[[str], list[str]], *flags: str) -> Any:
    """An option that takes one of some names. `words`: its help."""
    return typer.Option(*flags, help=words, autocompletion=names)


def argument(words: str, names: Callable[[str], list[str]], metavar: str | None = None) -> Any:
    """An argument that takes one of some names. `words`: its help."""
    return typer.Argument(help=words, autocompletion=names, metavar=metavar)


# Machines and plans are those of the tree; a shell completes files by itself.
machines = _of("sweeps.model.machine:machine_names")
several_machines = _of("sweeps.model.machine:machine_names", several=True)
locks = _of("sweeps.model.locks:load_locks")
several_locks = _of("sweeps.model.locks:load_locks", several=True)
workloads = _of("sweeps.model.workloads:WORKLOADS")
plans = _of("sweeps.plans:SWEEPS.names")
studies = _of("sweeps.plans:STUDIES.names")
validations = _of("sweeps.plans:VALIDATIONS.names")
queries = _of("results.store.queries:named_queries")
isas = _of("sweeps.model.isa:ISAS")
flavours = _of("sweeps.model.isa:FLAVOURS")
fences = _of("sweeps.model.locks:FENCE_KINDS")
engines = _of("sweeps.model.engines:labels")  # without options of their own
