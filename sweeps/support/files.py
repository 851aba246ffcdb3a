"""Reading files that others wrote, and that may be anything."""

import errno
import os
import stat
from pathlib import Path


def head(path: Path, most: int) -> bytes:
    """The first bytes of a plain file, at most so many. Raises OSError for anything else: a device
    may have no end, a FIFO no writer."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        return file.read(most)
