"""Every command, and the module that it is in: only the one that is called is imported."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption


class Listed(NamedTuple):
    """A command as the list of all shows it: its module below this package, and the first sentence
    of its own help."""

    module: str
    sentence: str


COMMANDS = {  # in the order of the list
    "crossover": Listed(
        "crossover",
        "The main job: measure, find the crossovers, draw the figures, write the report.",
    ),
    "reproduce": Listed(
        "reproduce",
        "Run the experiments of the sources and print published and simulated numbers side by "
        "side.",
    ),
    "sweep": Listed(
        "sweeping.sweep",
        "Run the cells of a plan that are not in the database yet, and say which locks win.",
    ),
    "build": Listed("sweeping.sweep", "Build the programs that a plan runs."),
    "run": Listed("run", "Run one cell and print its cost and what it assumed."),
    "calibrate": Listed(
        "run", "Measure what atomics, fences and charges cost on a machine, and store it."
    ),
    "plans": Listed(
        "lists.commands",
        "List the plans with their number of cells, and how many of them are refused.",
    ),
    "machines": Listed(
        "lists.commands",
        "List the machines, or every figure of one with its source or the reason for assuming it.",
    ),
    "locks": Listed(
        "lists.commands",
        "List the locks and how each can be built, or one with its source and variants.",
    ),
    "workloads": Listed(
        "lists.commands",
        "List the workloads, or one with its keys, defaults, bounds and rules.",
    ),
    "doctor": Listed(
        "lists.commands",
        "Show which engines and compilers are installed, their versions, and what is missing.",
    ),
    "footprint": Listed(
        "footprint",
        "Count what each uncontended path through a lock consists of, and the bytes of its state.",
    ),
    "measure": Listed(
        "measure", "Measure this host and write it as a machine that every engine accepts."
    ),
    "prove": Listed(
        "prove",
        "Prove the locks under memory models: exclusion, no race, no lost update, no lost wake-up.",
    ),
    "validate": Listed(
        "validate", "Compare an engine with a reference engine, side by side; needs both."
    ),
    "query": Listed(
        "reading.results",
        "Query the database with SQL or a named query. Nothing can be changed.",
    ),
    "export": Listed(
        "reading.results", "Write runs with their metrics, or a table, as CSV, JSON or Parquet."
    ),
    "show": Listed(
        "reading.results", "Show everything about a run, and the command that repeats it."
    ),
    "figures": Listed("reading.results", "Draw the figures from the database (PNG and SVG)."),
    "report": Listed(
        "reading.results",
        "Draw the figures and write the report from the database: one HTML page.",
    ),
    "locality": Listed(
        "reading.results", "Measure contention and thread locality in logs of lock events."
    ),
    "runs": Listed(
        "reading.runs", "List runs, the latest first: their costs, and what they differ in."
    ),
    "compare": Listed(
        "reading.compare",
        "Compare the costs of a plan's runs along an axis: the median, and the band over the "
        "seeds.",
    ),
    "serve": Listed(
        "reading.serve",
        "Show the database in a web browser, on this machine alone. Ctrl-C ends it.",
    ),
    "test": Listed("dev", "Run all tests: the engine's unit tests in C++, then pytest."),
    "check": Listed("dev", "Run all linters: ruff, mypy, clang-format."),
    "python": Listed(
        "dev", "Run Python with the packages, the tree and the QEMU that Lockcross uses."
    ),
    "explore": Listed(
        "sweeping.explore",
        "Run the grid over CAS, fence, cancellation and owner's share that the report's map shows.",
    ),
    "advise": Listed(
        "questions.advise",
        "Say which lock is cheapest on a processor for a program, why, and what would change it.",
    ),
    "crossovers": Listed(
        "questions.crossovers",
        "Find where one lock starts to beat another along any numeric axis of any workload.",
    ),
    "new": Listed(
        "sweeping.new", "Write a file to start from: a machine, a plan or a study of your own."
    ),
    "bench": Listed("bench", "Measure speed on this machine."),
    "cluster": Listed("cluster", "Look at a cluster."),
}


class Commands(TyperGroup):
    """The group of all commands. Listing them takes their sentences alone."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": _Loaded()})

    def list_commands(self, _: Any) -> list[str]:
        """Their names, in order."""
        return list(COMMANDS)

    def get_command(self, _: Any, cmd_name: str) -> TyperCommand | None:
        """What stands for a command in a list."""
        known = COMMANDS.get(cmd_name)
        return known and TyperCommand(cmd_name, help=known.sentence)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, whole. Raises UsageError where there is none."""
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None
        return name, self.commands[name], rest


class _Once(TyperCommand):
    """A command that refuses an option given twice, unless it is a list or a switch: otherwise the
    last value would silently win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises BadParameter."""
        if not ctx.resilient_parsing:  # of a line that a shell completes
            _, _, given = self.make_parser(ctx).parse_args(list(args))
            values = [
                one
                for one in given
                if isinstance(one, TyperOption) and not (one.multiple or one.is_flag)
            ]
            for one in values:
                if values.count(one) > 1:
                    raise typer.BadParameter("is given more than once", ctx, one)
        return super().parse_args(ctx, args)


def _take_options_once(app: typer.Typer) -> None:
    """For every command of a module, those of its groups too."""
    for command in app.registered_commands:
        command.cls = _Once
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _take_options_once(group.typer_instance)


class _Loaded(MutableMapping[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            app = typer.Typer(callback=_nothing)  # with a callback it stays a group
            import_module(f"{__package__}.{COMMANDS[name].module}").register(app)
            _take_options_once(app)
            group = typer.main.get_command(app)
            assert isinstance(group, TyperGroup)
            self._loaded |= group.commands
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _nothing() -> None:
    """What stands before a command does nothing of its own."""
