"""Commands that die with this process."""

import errno
import os
from collections.abc import Iterable, Sequence

from sweeps.engines.base import MAX_OUTPUT
from sweeps.support.paths import STARTER


def tied(command: Sequence[str], cpus: Iterable[int]) -> list[str]:
    """A command as start.c runs it: it dies with this process, however that dies, and stays on the
    CPUs. Raises OSError where there is no such program."""
    if not os.access(command[0], os.X_OK):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    where = ",".join(map(str, sorted(cpus)))
    return [str(STARTER), str(os.getpid()), where, str(MAX_OUTPUT), *command]
