"""The command line: its commands, found by the folders of the questions, of which only the one that
is called is imported; its options, and how errors become one message and an exit code."""

import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from results import children
from results.errors import FULL, LockcrossError
from results.paths import ROOT, WORK

_QUESTIONS = ROOT / "sweeps" / "questions"
# As they are listed: by what one wants to do.
_GROUPS = ("Get an answer", "Run cells", "Read results", "See what there is", "Work on Lockcross")


class Listed(NamedTuple):
    """A command as the list of all shows it: its module, the first sentence of its own help, an
    example, the next step (sweeps/cli/next_step.py), and its group. `former`: names
    that it or its options had, which go on working and are shown nowhere."""

    module: str
    sentence: str
    example: str
    steps: "str | Mapping[str, str]"
    group: str
    former: Mapping[str, str]


@cache
def commands() -> dict[str, Listed]:
    """Return every command by its name. The `__init__` of a question says which it has: COMMANDS
    has their modules, sentences, examples and next steps by name, GROUP their heading in the list,
    FORMER the names of today by the former ones of commands and `--options`. A module has the
    function of a command's name, or a group as a Typer, and in SETTINGS the settings of some.
    """
    folders = [f"sweeps.questions.{module.name}" for module in iter_modules([str(_QUESTIONS)])]
    commands = {
        name: Listed(f"{folder}.{module}", sentence, example, steps, package.GROUP, former)
        for folder in folders
        if hasattr(package := import_module(folder), "COMMANDS")
        for former in [getattr(package, "FORMER", {})]
        for name, (module, sentence, example, steps) in package.COMMANDS.items()
    }
    return dict(sorted(commands.items(), key=lambda entry: _GROUPS.index(entry[1].group)))


class Commands(TyperGroup):
    """The group of all commands. Listing them takes their sentences alone."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": _Loaded()})

    def list_commands(self, _: Any) -> list[str]:
        return list(commands())

    def get_command(self, _: Any, cmd_name: str) -> TyperCommand | None:
        """Return a command's entry of a list."""
        known = commands().get(cmd_name)
        return known and TyperCommand(cmd_name, help=known.sentence)

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Write the list: the groups, and of each command its first sentence and an example."""
        for group in _GROUPS:
            with formatter.section(group):
                for name, command in commands().items():
                    if command.group == group:
                        formatter.write_dl([(name.ljust(_NAME), command.sentence)])
                        formatter.write(f"      {_PROGRAM} {command.example}\n")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called, whole. Raises UsageError where there is none."""
        former = {old: name for known in commands().values() for old, name in known.former.items()}
        name, _, rest = super().resolve_command(ctx, [former.get(args[0], args[0]), *args[1:]])
        assert name is not None
        return name, self.commands[name], rest


class _Strict(TyperCommand):
    """A command that refuses an option which is given twice, unless it is a list or a switch, and
    one that is empty, as a shell's variable may be: no value wins silently, nor does a default."""

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the beginning of the help, whole: a group's list would cut it."""
        return " ".join((self.help or "").partition("\n\n")[0].split())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise BadParameter for an option that is empty, or given twice."""
        args = self._with_names_of_today(ctx, args)
        if not ctx.resilient_parsing:  # of a line that a shell completes
            values, _, in_order = self.make_parser(ctx).parse_args(list(args))
            options = [option for option in in_order if isinstance(option, TyperOption)]
            for option in options:
                value = values.get(option.name or "")
                if "" in (value if isinstance(value, list) else [value]):
                    from sweeps.model.axes import MAY_BE_EMPTY

                    if option.name not in MAY_BE_EMPTY:
                        raise typer.BadParameter("is empty", ctx, option)
                if options.count(option) > 1 and not (option.multiple or option.is_flag):
                    raise typer.BadParameter("is given more than once", ctx, option)
        return super().parse_args(ctx, args)

    def _with_names_of_today(self, ctx: Any, args: Sequence[str]) -> list[str]:
        """Give options that are called by a former name the one of today. The former name of an
        option that takes several is the singular. Words behind `--` are another program's."""
        options = [option for option in self.get_params(ctx) if isinstance(option, TyperOption)]
        names = {name for option in options for name in option.opts}
        plurals = {o.opts[0] for o in options if o.multiple and o.opts[0].endswith("s")}
        former = {singular: name for name in plurals if (singular := name[:-1]) not in names}
        former |= commands()[_called(ctx)].former
        end = args.index("--") if "--" in args else len(args)
        words = [re.sub(r"^--[\w-]+", lambda m: former.get(m[0], m[0]), w) for w in args[:end]]
        return [*words, *args[end:]]

    def invoke(self, ctx: Any) -> Any:
        """Run it, and name the next step at a terminal, where nothing failed."""
        try:
            result = super().invoke(ctx)
        except typer.Exit as end:
            if end.exit_code == 0:
                _say_next(ctx)
            raise
        _say_next(ctx)
        return result


def _say_next(ctx: Any) -> None:
    from sweeps.cli.next_step import say_next

    if steps := commands()[_called(ctx)].steps:
        say_next(_PROGRAM, steps, ctx.params)


def _called(ctx: Any) -> str:
    """Return the name of the command in the list of all."""
    words: list[str] = ctx.command_path.split()
    return next(word for word in words if word in commands())


def _take_options_strictly(app: typer.Typer) -> None:
    """Do so for every command of a module, those of its groups too."""
    for command in app.registered_commands:
        command.cls = _Strict
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _take_options_strictly(group.typer_instance)


@cache
def loaded(name: str) -> Any:
    """Import a command now, and return it."""
    # With a callback it stays a group.
    app = typer.Typer(callback=lambda: None, rich_markup_mode=None)
    module = import_module(commands()[name].module)
    command = getattr(module, name)
    epilog = f"\b\nExample:\n{_PROGRAM} {commands()[name].example}"  # \b: lines stay as they are
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, epilog=epilog)
    else:
        settings = getattr(module, "SETTINGS", {}).get(name)
        app.command(name, context_settings=settings, epilog=epilog)(command)
    _take_options_strictly(app)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    found = group.commands[name]
    if {flag for parameter in found.params for flag in parameter.opts} >= _DRIVER:
        found.params.append(_wait())
    return found


_DRIVER = {"--db", "--no-server"}  # options of commands that write a database for a while


def _set_wait(wanted: bool) -> None:
    from results.store.database import Drivers

    Drivers.wait = wanted


Wait = Annotated[
    bool,
    typer.Option(
        "--wait",
        help="Wait where another driver is writing the database.",
        callback=_set_wait,
        expose_value=False,
    ),
]


def _wait() -> Any:
    """Return the option of every driver by which it waits for another one."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def driver(_wait: Wait = False) -> None:
        """Has the option."""

    return typer.main.get_command(app).params[0]


class _Loaded(Mapping[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(commands())

    def __len__(self) -> int:
        return len(commands())


VERSION = "1.0.0"  # as in CHANGELOG.md
_HELP = "Which lock is cheapest for a runtime's objects, and when does the answer change?"
_PROGRAM = "./lockcross"
_NAME = 10  # columns of a command's name in the list
INTERRUPTED = 130  # Typer's exit code for Ctrl-C
_BY_SIGNAL = 128  # and the number of the signal: the exit code of what a signal ended


def make_app() -> typer.Typer:
    app = typer.Typer(
        name="lockcross",
        cls=Commands,
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode=None,  # its help has narrow columns, and cuts names
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP)(_every)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from results.paths import ROOT
        from sweeps.support.tools import source_revision

        print(f"lockcross {VERSION}, {source_revision(ROOT)}")
        raise typer.Exit


def _every(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Take the options before a command."""


def main() -> int:
    """Run the command line and return its exit code: 2 a user's mistake, 1 a failed run, 130 and
    143 ended by Ctrl-C or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    for name in ("stdout", "stderr"):
        # Nobody reads closed output (`>&-`). Python has None for it, and the next file opened
        # would get its descriptor number.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        code = _run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader went away (`| head`)
        _write_nowhere()
    except OSError as error:
        _write_nowhere()
        _say(_os_error(error))
    return 1


def _interrupt(number: int, frame: Any) -> None:
    """Pass Ctrl-C on: children lead groups of their own, which a terminal does not interrupt."""
    children.signals.append(number)
    children.end_all()
    signal.default_int_handler(number, frame)


def _write_nowhere() -> None:
    """Discard any further output of Python to standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> int:
    try:
        make_app()(prog_name="lockcross")
    except SystemExit as end:  # Typer ends this way, also after a message on an option
        code = end.code if isinstance(end.code, int) else 0
        if code == INTERRUPTED:
            code = _BY_SIGNAL + (children.signals or [signal.SIGINT])[-1]
            _say("interrupted; finished work is kept, and the same command continues from there")
        return code
    except LockcrossError as error:
        _say(error.message)
        return error.exit_code
    except OSError as error:
        _say(_os_error(error))
        with suppress(OSError):
            sys.stdout.flush()
            return 1
        _write_nowhere()  # standard output itself cannot be written: one message
        return 1
    except Exception as error:
        if "LOCKCROSS_DEBUG" in os.environ:
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        _say(
            f"internal error: {type(error).__name__}: {error} "
            f"({Path(frame.filename).name}:{frame.lineno}); run it again with "
            "LOCKCROSS_DEBUG=1 in the environment to see the traceback"
        )
        return 1
    return 0


def _os_error(error: OSError) -> str:
    place = str(error.filename or "").removeprefix(f"{WORK}/")
    if error.errno in FULL:
        return (
            f"the disk is full{f' ({place})' if place else ''}; free some space and start again: "
            "finished work is kept"
        )
    return f"{place}: {error.strerror}" if place else str(error)


def _say(message: str) -> None:
    print(f"lockcross: {message}", file=sys.stderr)
