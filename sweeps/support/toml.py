"""Reading TOML files into pydantic's models, and messages for mistakes in them."""

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from results.errors import LockcrossError
from results.paths import ROOT
from results.store.former import current_in_document
from sweeps.support.text import quoted, shortened


class Document(BaseModel):
    """A table or document with the keys and types of its schema, and no more."""

    # A schema is built when something is first read by it: most commands read few of them.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Entry(Document):
    """A table of a registry of the tree. Its lists are tuples, so that entries can be keys."""

    model_config = ConfigDict(strict=False)


def head(path: Path, most: int) -> bytes:
    """Return the first bytes of a plain file, at most so many. Raises OSError for anything else: a
    device may have no end, a FIFO no writer."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        return file.read(most)


_MAX_FILE = 1_000_000  # bytes of a document
_MAX_LINES = 10  # mistakes that are listed
_MAX_LINE = 1000  # characters of each
_MAX_MESSAGE = 11_000  # characters of all

Model = TypeVar("Model", bound=BaseModel)
Read = TypeVar("Read")


def parse(
    model: type[Model], text: str, current: Callable[[Any], Any] = lambda document: document
) -> Model:
    """Read a document, in which a lock may have its former name; `current` converts a document of a
    former kind. Raises ValueError."""
    try:
        return model.model_validate(current(current_in_document(tomllib.loads(text))))
    except ValidationError as error:
        raise ValueError(explain(error, model)) from None
    except RecursionError:
        raise ValueError("tables or lists are nested too deeply") from None
    except ValueError as error:
        raise ValueError(shortened(str(error), _MAX_LINE)) from None


def is_path(name: str) -> bool:
    """Return whether a name is that of a file anywhere, not of a document of the tree."""
    return name.endswith(".toml") or "/" in name


@dataclass
class Documents:
    """Documents of a kind: its name for people, and the folder of those of the tree."""

    words: str
    folder: Path

    def names(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.toml"))

    def path(self, name: str) -> Path:
        """Return the file of a name in the folder, or of a path."""
        return Path(name) if is_path(name) else self.folder / f"{name}.toml"

    def load(self, model: type[Model], name: str) -> Model:
        """Read the document of a name in the folder, or of any path.

        Raises LockcrossError (exit code 2) that names file, key, value and the allowed ones.
        """
        return self.read(partial(parse, model), name)

    def read(self, parse: Callable[[str], Read], name: str) -> Read:
        """Read as `load` does, by a function that raises ValueError."""
        path = Path(name)
        if not is_path(name):
            if name in (known := self.names()):
                path = self.path(name)
            elif not path.exists():
                raise LockcrossError(
                    f"{self.words} {name!r} is unknown; known are {', '.join(known)}; a file of "
                    "your own is named by its path, ./FILE.toml"
                )
        place = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        try:
            text = head(path, _MAX_FILE + 1).decode()
            if len(text) > _MAX_FILE:
                raise ValueError(f"larger than a {self.words} may be, {_MAX_FILE} bytes")
            return parse(text)
        except OSError as error:
            raise LockcrossError(f"{self.words} {place}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise LockcrossError(f"{self.words} {place}: no text in UTF-8") from None
        except ValueError as error:
            raise LockcrossError(shortened(f"{place}: {error}", _MAX_MESSAGE)) from None


def read_registry(model: type[Model], file: Path) -> Model:
    """Read a registry of the tree. Raises LockcrossError (2) that names file, key and value."""
    return Documents("registry", file.parent).load(model, file.stem)


def pairs(table: Mapping[str, Any]) -> list[str]:
    """Return keys and values as TOML writes them."""
    keys = (key if re.fullmatch(r"[\w-]+", key, re.ASCII) else written(key) for key in table)
    return [f"{key} = {written(value)}" for key, value in zip(keys, table.values(), strict=True)]


def written(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():  # JSON's escapes are TOML's, but for one character
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            return f"{{ {', '.join(pairs(value))} }}"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case _:
            return str(value)


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one line per mistake: the key, the value, the fault; unknown keys list the allowed
    ones. `model` is the model of the whole document.
    """
    lines = []
    for detail in error.errors(include_url=False)[:_MAX_LINES]:
        key = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        kind = detail["type"]
        if kind == "extra_forbidden":
            message = f"unknown key; allowed are {', '.join(_keys(model, detail['loc'][:-1]))}"
        elif kind == "missing":
            message = "missing"
        elif not isinstance(detail["input"], dict):
            message = f"{quoted(detail['input'])}: {message}"
        lines.append(shortened(f"{key}: {message}" if key else message, _MAX_LINE))
    if error.error_count() > _MAX_LINES:
        lines.append(f"and {error.error_count() - _MAX_LINES} more errors")
    return "\n  ".join(lines)


def _keys(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Return the keys of the table at `place` in a document."""
    kind: Any = model.model_fields["root"].annotation if issubclass(model, RootModel) else model
    for part in place:
        table = isinstance(kind, type) and issubclass(kind, BaseModel)
        which = 0 if get_origin(kind) in (list, tuple) else -1  # of `tuple[X, ...]` too
        kind = kind.model_fields[part].annotation if table else get_args(kind)[which]
        while get_origin(kind) in (Annotated, Union, UnionType):
            kind = next(option for option in get_args(kind) if option is not NoneType)
    return list(kind.model_fields)
