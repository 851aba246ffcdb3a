"""Options that several commands have, declared once, and a shell's completions where an option or
an argument takes a name."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from results.errors import LockcrossError
from results.paths import DATABASE, WORK
from results.store.former import current
from results.store.missing import FIRST_VARIANT
from sweeps.model.axes import AXES, Axis, Name

if TYPE_CHECKING:
    from sweeps.engines.base import Limits
    from sweeps.run.work import Pool

QUERY_TIMEOUT_S = 60.0
DEFAULT_TIME_LIMIT = 0.0  # the engine's
DEFAULT_INSTRUCTION_LIMIT = 4_000_000_000
MAX_INSTRUCTIONS = 10**15  # as cycles in an engine's ticks it still fits into 64 bits
_MAX_TIME_S = 1_000_000  # a week and a half
_MAX_JOBS = 1024
_MAX_SEEDS = 1000
_BUDGET = "Instructions a cell may execute, over all cores; cycles on some engines."
LOCKS = "Locks to compare, as thin,tasuki/rmw"
_LOADED = "Load the program anew for each cell, instead of once for many; the same results."
_SECONDS = "Seconds of CPU time a cell may take; 0: the engine's own limit."

Database = Annotated[
    Path,
    typer.Option(
        "--db",
        help="The database.",
        dir_okay=False,
        show_default=str(DATABASE.relative_to(WORK)),
    ),
]
ClusterFile = Annotated[
    str, typer.Option("--cluster", help="Run on the cluster of this file; see sweeps/clusters.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only print what would be run, and how long.")
]
InstructionLimit = Annotated[int, typer.Option(min=1, max=MAX_INSTRUCTIONS, help=_BUDGET)]
FigureFile = Annotated[
    Path | None,
    typer.Option("--figure", help="Draw the answer into this file, too: .png, .svg or .pdf."),
]
Folder = Annotated[
    Path | None,
    typer.Option("--output", help="The folder to write to; default: the database's."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=0, max=_MAX_JOBS, help="Cells at a time; 0: one per CPU.")
]
Keep = Annotated[
    bool, typer.Option("--keep", help="Keep the folder of every run, not only of failed ones.")
]
List = Annotated[bool, typer.Option("--list", help="List what there is, and end.")]
NoServer = Annotated[bool, typer.Option("--no-server", help=_LOADED)]
Page = Annotated[
    Path | None,
    typer.Option("--page", help="Write the answer into this page of Markdown, too."),
]
QueryTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0,
        max=_MAX_TIME_S,
        help="Seconds that SQL of your own may take; 0: any time.",
    ),
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")]
Seeds = Annotated[
    int,
    typer.Option(min=1, max=_MAX_SEEDS, help="Run so many seeds; on the host these are repeats."),
]
Store = Annotated[bool, typer.Option("--store", help="Keep what was found in results/reference/.")]
TimeLimit = Annotated[float, typer.Option(min=0, max=_MAX_TIME_S, help=_SECONDS)]


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Return those that begin with the typed text."""
    return [name for name in names if name.startswith(incomplete)]


def _of(place: str, several: bool = False) -> Callable[[str], list[str]]:
    """Complete the names at a place, MODULE:OBJECT, or those that a function there returns. Only
    that module is imported. `several`: with commas between them, the last is completed."""

    def complete(incomplete: str) -> list[str]:
        there = resolve_name(place)
        names = there() if callable(there) else there
        before, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        return [before + comma + name for name in beginning(names, last)]

    return complete


def option(words: str, names: Callable[[str], list[str]] | None, *flags: str) -> Any:
    """Declare an option for one of some names, which a shell completes. `words`: its help."""
    return typer.Option(*flags, help=words, autocompletion=names, callback=_of_today(names))


def argument(words: str, names: Callable[[str], list[str]], metavar: str | None = None) -> Any:
    """Declare an argument for one of some names. `words`: its help."""
    return typer.Argument(
        help=words, autocompletion=names, metavar=metavar, callback=_of_today(names)
    )


def _of_today(names: Callable[[str], list[str]] | None) -> Callable[[Any], Any] | None:
    """Return the function that gives locks in a value their names of today; None for other
    names."""
    return _with_current_names if names in (locks, several_locks) else None


def _with_current_names(value: Any) -> Any:
    if isinstance(value, str):
        return ",".join(current(word) for word in value.split(","))
    return value and [_with_current_names(word) for word in value]


def _variant(value: str | None) -> str | None:
    """Return a variant as cells have it, by the name that tables have."""
    return "" if value == FIRST_VARIANT else value


def of_plan(default: str = "") -> Any:
    """Declare an option that takes a plan. `default`: a command's subject without one."""
    text = "A plan's name (see `plans`) or file" + f"; default: {default}" * bool(default)
    return typer.Option("--plan", help=f"{text}.", autocompletion=plans)


def isa(default: str = "the flavour's or machine's") -> Any:
    text = f"Instruction set: x86_64, ppc64le or aarch64; default: {default}."
    return typer.Option("--isa", help=text, autocompletion=isas)


def flavour(default: str = "the ISA's first") -> Any:
    text = f"Atomic flavour; default: {default}."
    return typer.Option("--flavour", help=text, autocompletion=flavours)


def machine(default: str) -> Any:
    """Declare an option that takes one machine. `default`: nothing where its value is shown."""
    text = "A machine's name (see `machines`) or file" + f"; default: {default}" * bool(default)
    return typer.Option("--machine", help=f"{text}.", autocompletion=machines)


def several(
    flag: str,
    words: str,
    names: Callable[[str], list[str]] | None = None,
    default: str = "all",
) -> Any:
    """Declare an option that takes several names; its own is in the plural. `words`: its help."""
    text = f"{words}, with commas between; default: {default}."
    return typer.Option(flag, help=text, autocompletion=names)


def several_of_machines(default: str) -> Any:
    words = "Machines' names (see `machines`) or files"
    return several("--machines", words, several_machines, default)


def several_of_isas() -> Any:
    return several("--isas", "Instruction sets", several_isas)


def names_of(values: Iterable[str] | None, option: str) -> list[str]:
    """Return the names in the value of an option that takes several. Raises LockcrossError for
    a text in which one is missing."""
    named: list[str] = []
    for text in values or ():
        names = [name.strip() for name in text.split(",")] if text else []
        if "" in names:
            raise LockcrossError(
                f"{option}: {text!r}: names are expected, with commas between them"
            )
        named += names
    return named


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
several_isas = _of("sweeps.model.isa:ISAS", several=True)
flavours = _of("sweeps.model.isa:FLAVOURS")
fences = _of("sweeps.model.locks:FENCE_KINDS")
engines = _of("sweeps.model.engines:labels")  # without options of their own
_NAMES = {
    "engines": engines,
    "machines": machines,
    "isas": isas,
    "flavours": flavours,
    "locks": locks,
    "fences": fences,
    "workloads": workloads,
}


Command = TypeVar("Command", bound=Callable[..., None])
_REQUIRED, _BY_NAME = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY


def with_axes(
    left_out: Mapping[str, Any], only: Collection[str] = (), filters: bool = False
) -> Callable[[Command], Command]:
    """Make a command whose last argument is `**axes` have an option for each axis. `left_out`: the
    value of an axis that is left out, where that is not its default. `only`: the axes that it has,
    if not all. `filters`: no option has a default."""

    def made(command: Command) -> Command:
        signature = inspect.signature(command)
        *declared, _ = signature.parameters.values()
        axes = [
            _axis_option(
                axis, left_out.get(axis.name, axis.default), axis.name in left_out, filters
            )
            for axis in AXES
            if not only or axis.name in only
        ]
        axes.sort(key=lambda parameter: parameter.default is not _REQUIRED)
        parameters = [*axes, *(parameter.replace(kind=_BY_NAME) for parameter in declared)]
        # Typer reads the one and the other.
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {option.name: option.annotation for option in parameters}
        return command

    return made


def _axis_option(axis: Axis, default: Any, may_lack: bool, filters: bool) -> inspect.Parameter:
    """Return the argument of a command for an axis; it must be given where there is no default."""
    values, kind, text = axis.values, cast(Any, int), axis.values.help
    if filters and (sentence := text.partition("; default")[0]) != text:
        text = f"{sentence}."
    if axis.name == "variant":
        kind, declared = str, typer.Option(help=text, callback=_variant)
    elif isinstance(values, Name):
        kind, declared = str, option(text, _NAMES.get(values.known))
    else:
        declared = typer.Option(min=values.low, max=values.high, help=text)
    if default is None:
        kind, default = (kind | None, None) if may_lack or axis.optional else (kind, _REQUIRED)
    annotation: Any = Annotated[kind, declared]
    return inspect.Parameter(axis.name, _BY_NAME, default=default, annotation=annotation)


@contextmanager
def pool_of(cluster: str) -> "Iterator[Pool | None]":
    """Yield the pool of a cluster file; none without a file. Raises LockcrossError."""
    if not cluster:
        yield None
        return
    from sweeps.run.cluster.description import load_cluster
    from sweeps.run.cluster.pool import ParslPool
    from sweeps.run.cluster.session import Session

    with Session(load_cluster(cluster)) as session:
        yield ParslPool(session)


def at_a_time(cluster: str, jobs: int) -> int:
    """Return how many cells run at a time, for estimates; 0: one per CPU of this machine."""
    if not cluster:
        return jobs
    from sweeps.run.cluster.description import load_cluster

    return load_cluster(cluster).slots


def limits(time_limit: float, instruction_limit: int, no_server: bool) -> "Limits":
    from sweeps.engines.base import Limits

    return Limits(time_limit, instruction_limit, not no_server)


def served(no_server: bool) -> "Limits":
    """Return limits for commands that have no options for them."""
    from sweeps.engines.base import Limits

    return Limits(serve=not no_server)
