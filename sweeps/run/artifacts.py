"""Keeps folders of runs for people to look at, and tells a full disk from a run's own fault."""

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

_MAX_FILE = 1_000_000  # bytes that are kept of a file
_PROBE = 1_000_000  # bytes that a disk must have room for
FULL = (errno.ENOSPC, errno.EDQUOT)


def keep(folder: Path, place: Path) -> None:
    """Move a run's folder, its files cut short, to the place of an earlier one there."""
    for here, _, names in os.walk(folder):
        for path in (Path(here, name) for name in names):
            with suppress(OSError):
                if not path.is_symlink() and path.is_file() and path.stat().st_size > _MAX_FILE:
                    os.truncate(path, _MAX_FILE)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):  # another driver has just kept the same run
        folder.rename(place)


def check_room(folder: Path) -> None:
    """Raise OSError when the disk of a folder is full: a failure there is not the run's fault."""
    probe = folder / ".probe"
    try:
        probe.write_bytes(b"\0" * _PROBE)
    except OSError as error:
        if error.errno in FULL:  # the system names no file when one is written
            error.filename = str(folder)
        raise
    finally:
        probe.unlink(missing_ok=True)
