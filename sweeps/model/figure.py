"""Figures of machine descriptions: numbers with a source or marked as assumed, within bounds."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from results.model.cell import MAX_LATENCY
from results.model.schema import Document
from sweeps.support.text import shown


class Figure(Document):
    """One number: measured or documented (`value`, `source`), or assumed (`assumption`, `why`)."""

    value: int | None = Field(None, ge=0)
    source: str | None = Field(None, min_length=1)
    assumption: int | None = Field(None, ge=0)
    why: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        known = (self.value is not None, self.source is not None)
        assumed = (self.assumption is not None, self.why is not None)
        if sorted((known, assumed)) != [(False, False), (True, True)]:
            raise ValueError(
                "either { value = N, source = '...' } or "
                "{ assumption = N, why = '...' } is expected"
            )
        return self

    @property
    def number(self) -> int:
        """The figure itself, measured or assumed."""
        number = self.value if self.value is not None else self.assumption
        assert number is not None  # _one_of_two saw to it
        return number


def _power_of_two(figure: Figure) -> Figure:
    if figure.number.bit_count() != 1:
        raise ValueError(f"{shown(figure.number)} is not a power of two")
    return figure


def _power_of_two_or_none(figure: Figure) -> Figure:
    return figure if figure.number == 0 else _power_of_two(figure)


def within(low: int, high: int) -> AfterValidator:
    """Bounds of a figure, both allowed."""

    def check(figure: Figure) -> Figure:
        if not low <= figure.number <= high:
            raise ValueError(f"{shown(figure.number)} is not from {low} to {high}")
        return figure

    return AfterValidator(check)


PowerOfTwo = Annotated[Figure, AfterValidator(_power_of_two)]
PowerOfTwoOrNone = Annotated[Figure, AfterValidator(_power_of_two_or_none)]
Switch = Annotated[Figure, within(0, 1)]
Latency = Annotated[Figure, within(0, MAX_LATENCY)]
Short = Annotated[Figure, within(0, 1000)]  # a latency within the core
