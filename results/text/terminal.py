"""Text from files and databases for a person at a terminal, shown as it is."""

import sys
import unicodedata
from typing import Any

from rich.console import Console
from rich.protocol import rich_cast
from rich.table import Table
from rich.text import Text

from results.text.fitting import fitting

_UNSEEN = {"Cc", "Cf", "Cs"}  # control, format and surrogate characters
_WIDE = 400  # columns of what goes into a file or another program


def visible(text: str) -> str:
    """Escape characters that a terminal would obey: all control characters but line ends and
    tabs."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _UNSEEN and character not in "\n\t"
        else character
        for character in text
    )


class _PlainConsole(Console):
    """Every text in a table or beside one comes through here."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print as every console does; a table that is too wide goes on below, instead of being
        cut."""
        if len(objects) == 1 and isinstance(table := rich_cast(objects[0]), Table):
            for number, part in enumerate(fitting(table, self)):
                if number:
                    super().print()
                super().print(part, **settings)
        else:
            super().print(*objects, **settings)


def console(fold: bool = True) -> Console:
    """Return a console that reads no markup in its text. Without `fold`, a table on its way
    into a file or another program is not folded to some screen's width."""
    width = None if fold or sys.stdout.isatty() else _WIDE
    return _PlainConsole(width=width, markup=False, emoji=False, highlight=False)


def say(text: str) -> None:
    """Print sentences: at a terminal in lines that end between words, elsewhere as they are."""
    if sys.stdout.isatty():
        console().print(text)
    else:
        print(visible(text))
