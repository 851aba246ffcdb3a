"""The options of all commands: one name, one meaning."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from typer.core import TyperOption

from sweeps.cli.main import commands, loaded
from tests.commands import lockcross

# Of a name the meanings that it has, if not one: what a command writes is one file or many.
_MEANINGS = {"--output": {"The file to write", "The folder to write to"}}
# Options of `advise`, which answers for several values, that `run` has with one.
_SEVERAL_VALUES = {"--cancel-latency", "--membarrier-latency"}
# Names of what may be given more than once that are in the singular: each time is one thing.
_ONE_EACH_TIME = {"--only", "--set", "--with"}


class Declared(NamedTuple):
    """An option of a command. `meaning`: the words of its help before a semicolon; words for this
    command alone, such as its default, stand behind it."""

    command: str
    kind: str
    several: bool
    meaning: str


def options_of(name: str, command: Any) -> Iterator[tuple[str, TyperOption]]:
    """Each with the whole name of its command, those of a group's commands too."""
    for own, one in getattr(command, "commands", {}).items():
        yield from options_of(f"{name} {own}", one)
    for option in command.params:
        if isinstance(option, TyperOption) and "--help" not in option.opts:
            yield name, option


EVERY = [pair for name in commands() for pair in options_of(name, loaded(name))]


def declared() -> dict[str, list[Declared]]:
    """The options by their own names."""
    by_name: dict[str, list[Declared]] = defaultdict(list)
    for command, option in EVERY:
        kind = str(option.type_descriptor.annotation).replace(" | None", "")
        meaning = (option.help or "").partition(";")[0].removesuffix(".")
        by_name[option.opts[0]].append(Declared(command, kind, option.multiple, meaning))
    return by_name


@pytest.mark.parametrize("name", declared())
def test_a_name_means_the_same_in_every_command(name: str) -> None:
    same = declared()[name]
    kinds = {(one.kind, one.several) for one in same}
    assert len(kinds) == 1 + (name in _SEVERAL_VALUES), same
    assert {one.meaning for one in same} in ({same[0].meaning}, _MEANINGS.get(name)), same


def test_what_takes_several_is_named_in_the_plural() -> None:
    singular = {name for name, (one, *_) in declared().items() if one.several and name[-1] != "s"}
    assert singular == _ONE_EACH_TIME


def test_a_former_name_is_none_that_another_command_or_option_has() -> None:
    for command, option in EVERY:
        name = command.split()[0]
        of_command = {word for other, one in EVERY if other == command for word in one.opts}
        former = {*commands()[name].former}
        if option.multiple and option.opts[0].endswith("s"):
            former.add(option.opts[0][:-1])
        assert not former & of_command, (command, option.opts)
        assert not former & {*commands()}


def test_former_names_are_not_shown() -> None:
    """That they go on working: tests/golden/crossovers.txt and advise.txt."""
    done = lockcross("crossovers", "--help")
    assert "lockcross crossings" in done.stdout and "--to " not in done.stdout
    assert "\n  crossovers" not in lockcross("--help").stdout
    assert "--machine " not in lockcross("advise", "--help").stdout
