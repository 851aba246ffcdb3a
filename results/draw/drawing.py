"""Figures that may be drawn of a database, without the library that draws them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Drawing:
    """A figure: its name (also its files'), its title, and its content in words (`text`).

    `section`: the part of the report that it stands in. `draw`: the function that draws it, by its
    module and name. `given`: the argument of that function: a database (its path), several by a
    name for messages (a mapping), or a result that is whole itself; and `machine`, where one is
    named. `said`: where there is nothing to draw, that is said on standard error. `beside`: it is
    only drawn where others of its section are, and then it is an error if it cannot be. `paged`:
    the page shows it; else it names the file.
    """

    name: str
    section: str
    title: str
    draw: str
    given: object
    text: str = ""
    machine: str = ""
    said: bool = False
    beside: bool = False
    paged: bool = True
