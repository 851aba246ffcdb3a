"""What a proof assumes of the hardware beyond a model: proofs/assumptions.toml."""

import tomllib
from functools import cache

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from proofs.models import MODELS, Model, models_for
from proofs.programs import Program
from results.errors import LockcrossError
from results.paths import ROOT

_FILE = ROOT / "proofs" / "assumptions.toml"


class Assumption(BaseModel):
    """Locks that fail under a model and are proved under one that promises more; assumptions.toml
    says what the fields are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    instead: str
    fence: str
    locks: tuple[str, ...]
    witness: str
    says: str

    def is_of(self, program: Program) -> bool:
        """Whether a program is one of them."""
        return program.lock in self.locks and program.fence == self.fence


@cache
def assumptions() -> tuple[Assumption, ...]:
    """All of them. Raises LockcrossError if the file cannot be read."""
    try:
        text = tomllib.loads(_FILE.read_text(encoding="utf-8"))
        return TypeAdapter(tuple[Assumption, ...]).validate_python(text["assumption"])
    except (OSError, KeyError, ValueError, ValidationError) as error:
        raise LockcrossError(f"proofs/assumptions.toml: {error}", exit_code=1) from None


def assumed(program: Program, model: str) -> Assumption | None:
    """The assumption that a program's proof under a model would need, if there is one."""
    for one in assumptions():
        if one.model == model and one.is_of(program):
            return one
    return None


def models_of(program: Program) -> list[Model]:
    """Those that a program is checked under. That which it needs an assumption for is tried with
    one client alone, which has to fail: else the assumption would not be needed."""
    first = models_for(program.flavour, program.fence)[0]
    if (needed := assumed(program, first.name)) is None:
        return [first]
    tried = [first] if program.client.label == needed.witness else []
    return [*tried, MODELS[needed.instead]]
