"""Keeps folders of runs for people to look at: shortened, and complete or not at all."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from sweeps.support.toml import head

_MAX_FILE = 1_000_000  # bytes that are kept of a file: its head and tail
_MAX_ENTRIES = 1000  # that are kept of a folder
_MAX_PACKED = 20_000_000  # bytes that a worker sends of it
_PROBE = 1_000_000  # bytes that a disk must have room for
FULL = (errno.ENOSPC, errno.EDQUOT)


Entry = tuple[str, bytes | Path | None]  # a name, and a file's content, a link's target or a folder


def pack(folder: Path) -> list[Entry]:
    """Return the entries of a folder, to be sent elsewhere: the first of them, as far as there is
    room."""
    packed, room = [], _MAX_PACKED
    for entry in entries(folder):
        room -= len(entry[1]) if isinstance(entry[1], bytes) else 0
        if room < 0:
            break
        packed.append(entry)
    return packed


def unpack(entries: Iterable[Entry], place: Path) -> None:
    """Write a folder, whole or not at all, over the files of another run or driver there.
    Raises OSError when it cannot."""
    with at(place.parent):
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one driver at a time
            new = place.parent / ".new"
            shutil.rmtree(new, ignore_errors=True)  # of a driver that was killed
            new.mkdir()
            try:
                for name, content in entries:
                    if content is None:
                        (new / name).mkdir()
                    elif isinstance(content, bytes):
                        (new / name).write_bytes(content)
                    else:
                        (new / name).symlink_to(content)
                shutil.rmtree(place, ignore_errors=True)
                new.rename(place)
            finally:
                shutil.rmtree(new, ignore_errors=True)


def entries(folder: Path) -> Iterator[Entry]:
    """Return the kept entries of a run's folder, each folder before its contents: links stay links;
    of the rest only plain files that can be read and folders."""
    below = (
        Path(here, name)
        for here, folders, files in os.walk(folder)
        for name in sorted([*folders, *files])
    )
    for path in islice(below, _MAX_ENTRIES):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            yield name, path.readlink()
        elif path.is_dir():
            yield name, None
        elif path.is_file():
            try:
                content = _shortened(path)
            except OSError:  # a run may leave what nobody may read
                continue
            yield name, content


def _shortened(path: Path) -> bytes:
    """Return a file's bytes, the middle left out when it is long."""
    size = path.stat().st_size
    if size <= _MAX_FILE:
        return head(path, _MAX_FILE)
    half = _MAX_FILE // 2
    with path.open("rb") as file:
        first = file.read(half)
        file.seek(size - half)
        last = file.read(half)
    return first + f"\n... {size - 2 * half} bytes left out ...\n".encode() + last


def check_room(folder: Path) -> None:
    """Raise OSError when the disk of a folder is full: a failure there is not the run's fault."""
    probe = folder / ".probe"
    with at(folder):
        try:
            probe.write_bytes(b"\0" * _PROBE)
        finally:
            probe.unlink(missing_ok=True)


@contextmanager
def at(place: Path) -> Iterator[None]:
    """Add the place to a full-disk error; the system names none when a file is written."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            error.filename = str(place)
        raise
