"""Facts: the results that a study keeps beside its runs. Each is a JSON object of one type, which
its question owns: it is written from it and read into it."""

import json
import sqlite3
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from results.errors import NoDataError
from results.store.damage import first_mistake
from results.store.store import MisfitError, Store

T = TypeVar("T")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter of a type, built when the type is first used: most commands use few of
    them."""
    return TypeAdapter(kind)


@dataclass(frozen=True)
class Fact(Generic[T]):
    """The fact of a name; `missing`: the thing that is lacking without it, in words. All that read
    it raise MisfitError for one that is not of the type `kind`."""

    name: str
    kind: Any
    missing: str = (
        "this database holds no finished study; run ./lockcross crossover (with the same --db)"
    )

    def of(self, name: str) -> Self:
        """Return the fact of the same type with a name behind this one's: isa/NAME."""
        return replace(self, name=f"{self.name}/{name}")

    def write(self, store: Store, value: T) -> None:
        """Store it, in place of an earlier one."""
        store.set_fact(self.name, _adapter(self.kind).dump_python(value, mode="json"))

    def optional(self, connection: sqlite3.Connection) -> T | None:
        row = connection.execute("SELECT value FROM facts WHERE name = ?", (self.name,)).fetchone()
        return None if row is None else self._value(self.name, row[0])

    def read(self, connection: sqlite3.Connection) -> T:
        """Return the stored value. Raises NoDataError where nothing is."""
        if (kept := self.optional(connection)) is None:
            raise NoDataError(self.missing)
        return kept

    def every(self, connection: sqlite3.Connection) -> list[T]:
        """Return the values stored under names behind this one's, by name."""
        rows = connection.execute(
            "SELECT name, value FROM facts WHERE name GLOB ? ORDER BY name", (f"{self.name}/*",)
        )
        return [self._value(name, text) for name, text in rows]

    def _value(self, name: str, text: str) -> T:
        try:
            value: T = _adapter(self.kind).validate_python(json.loads(text))
            return value
        except ValidationError as error:
            what = first_mistake(error)
        except ValueError as error:
            what = str(error)
        raise MisfitError(f"the fact {name}: {what}")
