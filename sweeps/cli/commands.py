"""The commands, found by the folders of the questions; only the one that is called is imported."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from results.paths import ROOT

_QUESTIONS = ROOT / "sweeps" / "questions"
_GROUPS = ("Answers", "Runs", "Results", "What there is", "For developers")  # as they are listed


class Listed(NamedTuple):
    """A command as the list of all shows it: its module, the first sentence of its own help, and
    what it is among."""

    module: str
    sentence: str
    group: str


@cache
def commands() -> dict[str, Listed]:
    """Every command by its name. The `__init__` of a question says which it has: COMMANDS has
    their modules and sentences by name, GROUP what they are listed among. A module has the function
    of a command's name, or a group as a Typer, and in SETTINGS the settings of some."""
    folders = [f"sweeps.questions.{one.name}" for one in iter_modules([str(_QUESTIONS)])]
    found = {
        name: Listed(f"{folder}.{module}", sentence, package.GROUP)
        for folder in [*folders, "proofs"]
        if hasattr(package := import_module(folder), "COMMANDS")
        for name, (module, sentence) in package.COMMANDS.items()
    }
    return dict(sorted(found.items(), key=lambda one: _GROUPS.index(one[1].group)))


class Commands(TyperGroup):
    """The group of all commands. Listing them takes their sentences alone."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": _Loaded()})

    def list_commands(self, _: Any) -> list[str]:
        """Their names, in order."""
        return list(commands())

    def get_command(self, _: Any, cmd_name: str) -> TyperCommand | None:
        """What stands for a command in a list."""
        known = commands().get(cmd_name)
        return known and TyperCommand(cmd_name, help=known.sentence, rich_help_panel=known.group)

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
            singles = [one for one in given if isinstance(one, TyperOption) and not one.multiple]
            for one in singles:
                if singles.count(one) > 1 and not one.is_flag:
                    raise typer.BadParameter("is given more than once", ctx, one)
        return super().parse_args(ctx, args)


def _take_options_once(app: typer.Typer) -> None:
    """For every command of a module, those of its groups too."""
    for command in app.registered_commands:
        command.cls = _Once
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _take_options_once(group.typer_instance)


@cache
def _loaded(name: str) -> Any:
    """A command, imported now."""
    app = typer.Typer(callback=lambda: None)  # with a callback it stays a group
    module = import_module(commands()[name].module)
    command = getattr(module, name)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        settings = getattr(module, "SETTINGS", {}).get(name)
        app.command(name, context_settings=settings)(command)
    _take_options_once(app)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group.commands[name]


class _Loaded(Mapping[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(commands())

    def __len__(self) -> int:
        return len(commands())
