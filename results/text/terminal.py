"""What a person at a terminal reads: text from files and databases, shown as it is."""

import sys
import unicodedata
from typing import Any

from rich.console import Console
from rich.text import Text

_UNSEEN = {"Cc", "Cf", "Cs"}  # control, format and surrogate characters
_WIDE = 400  # columns of what goes into a file or another program


def visible(text: str) -> str:
    """Escapes what a terminal would obey instead of showing: all but line ends and tabs."""
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


def console(fold: bool = True) -> Console:
    """A console that reads no markup in what it prints. Without `fold`, a table on its way into a
    file or another program is not folded to some screen's width."""
    width = None if fold or sys.stdout.isatty() else _WIDE
    return _PlainConsole(width=width, markup=False, emoji=False, highlight=False)
