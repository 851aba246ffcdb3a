"""A figure that is to be drawn."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """A figure to be drawn. `given`: what it is drawn from: a database (its path), several by a
    name for messages (a mapping), or a result that is whole itself. `said`: where there is nothing
    to draw, that is said on standard error. `draw`, `section` and `machine` are a Drawing's."""

    name: str
    title: str
    draw: str
    given: object
    section: str = ""
    machine: str = ""
    said: bool = False
