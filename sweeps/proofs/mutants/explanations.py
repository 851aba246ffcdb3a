"""Why a mutant that nothing catches survives: explanations.toml."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from results.errors import LockcrossError

_FILE = Path(__file__).parent / "explanations.toml"


class Explanation(BaseModel):
    """`verdict`: unneeded, an order that nothing relies on; equivalent, a step whose change keeps
    every promise; outside, wrong, but only beyond what the checker can look at, and then `tried`
    says how far it looked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mutants: tuple[str, ...]
    verdict: Literal["unneeded", "equivalent", "outside"]
    reason: str
    tried: str = ""

    @property
    def words(self) -> str:
        """The reason, and how far it was looked."""
        return f"{self.reason} Tried: {self.tried}." if self.tried else self.reason


@cache
def explanations() -> dict[str, Explanation]:
    """By mutant. Raises LockcrossError for a file that cannot be read, or one explained twice."""
    try:
        text = tomllib.loads(_FILE.read_text(encoding="utf-8"))
        known = TypeAdapter(tuple[Explanation, ...]).validate_python(text["explanation"])
    except (OSError, KeyError, ValueError, ValidationError) as error:
        raise LockcrossError(f"{_FILE.name}: {error}", exit_code=1) from None
    found: dict[str, Explanation] = {}
    for one in known:
        for name in one.mutants:
            if name in found:
                raise LockcrossError(f"{_FILE.name}: {name} is explained twice", exit_code=1)
            found[name] = one
    return found
