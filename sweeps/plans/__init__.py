"""Plans: what users write down to be run, one file each, by kind. The models of the kinds stand
here where several questions read them, else with their question."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from results.paths import ROOT
from sweeps.support import toml

_FOLDER = ROOT / "sweeps" / "plans"
Read = TypeVar("Read")
Model = TypeVar("Model", bound=BaseModel)


@dataclass
class Kind:
    """A kind of plan: what people call it, and the folder of those of the tree."""

    words: str
    folder: Path = _FOLDER

    def names(self) -> list[str]:
        """The names of those of the tree, sorted."""
        return toml.names(self.folder)

    def path(self, name: str) -> Path:
        """The file of a name in the tree, or of a path."""
        return Path(name) if toml.is_path(name) else self.folder / f"{name}.toml"

    def load(self, model: type[Model], name: str) -> Model:
        """Reads the one of a name in the tree, or of a path.

        Raises LockcrossError (exit code 2) that names file, key, value and what is allowed.
        """
        return self.read(partial(toml.parse, model), name)

    def read(self, parse: Callable[[str], Read], name: str) -> Read:
        """As `load`, by a function that raises ValueError."""
        return toml.read(parse, self.folder, name, self.words)


SWEEPS = Kind("plan")
STUDIES = Kind("study", _FOLDER / "studies")
EXPLORATIONS = Kind("exploration", _FOLDER / "explorations")
VALIDATIONS = Kind("validation", _FOLDER / "validations")
REPRODUCTIONS = Kind("reproduction", _FOLDER / "reproductions")
