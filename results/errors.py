"""The one base of errors that are meant for people, and the wording that many share."""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_ALIKE = 4  # letters at the beginning of names that may be taken for one another
_NEAR = 4  # names at most
FULL = (errno.ENOSPC, errno.EDQUOT)  # of a system call's error: nothing can be written any more


class LockcrossError(Exception):
    """Say the mistake, its place and the remedy; the command line prints it and exits.

    `exit_code` is 2 for the user's mistake and 1 for a failed run.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class NoDataError(LockcrossError):
    """The database holds no study."""


@contextmanager
def writing(place: object, advice: str = "name another file") -> Iterator[None]:
    """Raise LockcrossError, with the advice, where a file cannot be written: a place that can never
    be is the user's mistake, a full disk is not."""
    try:
        yield
    except OSError as error:
        message = f"{place}: cannot be written ({error.strerror or error}); {advice}"
        raise LockcrossError(message, 1 if error.errno in FULL else 2) from None


@contextmanager
def writing_whole(path: Path, advice: str = "name another file") -> Iterator[Path]:
    """Yield the file to write in the place of another, which is then there whole, or as before.
    Raises as `writing` does."""
    part = path.with_name(f".{os.getpid()}.{path.name}")
    with writing(path, advice):
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def check_known(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise LockcrossError for the first of some names that is none of those known. `what`: the
    things that they name, or the option that gives them."""
    every = list(known)
    if unknown := [name for name in given if name not in every]:
        raise LockcrossError(f"{what} {unknown[0]!r} is unknown; {known_words(unknown[0], every)}")


def known_words(name: str, known: Sequence[str]) -> str:
    """Say in words which names may be meant by one that is not known, and which are."""
    from difflib import get_close_matches

    begin = [one for one in known if one[:_ALIKE] == name[:_ALIKE] and len(name) >= _ALIKE]
    near = [*dict.fromkeys([*begin, *get_close_matches(name, known)])][:_NEAR]
    listed = f"nown are {', '.join(known)}"
    return f"did you mean {' or '.join(near)}? K{listed}" if near else f"k{listed}"
