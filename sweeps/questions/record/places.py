"""The lines of source of a C or C++ program's places, by the system's `addr2line`."""

import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

from sweeps.lock_logs.log import add_line, facts_with
from sweeps.support.tools import run

_SECONDS = 60  # that it takes at most for a module


def add_lines(*logs: Path) -> None:
    """Add to logs the function, file and line of each place whose module says them, as one that is
    compiled with -g does. Without `addr2line` the places keep their addresses."""
    for log in logs:
        _add(log)


def _add(log: Path) -> None:
    modules = defaultdict[str, list[dict[str, Any]]](list)
    for place in facts_with(log, "site"):
        if place.get("path"):
            modules[place["path"]].append(place)
    for module, places in modules.items():
        # A place is where its call returns to: the byte before belongs to the call.
        addresses = [f"{place['at'] - 1:#x}" for place in places]
        try:
            done = run(["addr2line", "-fCe", module, *addresses], _SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return
        told = done.stdout.splitlines()
        for place, function, where in zip(places, told[::2], told[1::2], strict=False):
            file, _, line = where.partition(" ")[0].rpartition(":")
            if line.isdecimal() and int(line):
                found = {"method": function, "file": Path(file).name, "line": int(line)}
                add_line(log, place | found)
