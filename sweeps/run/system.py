"""The system that programs and engine were made on: its name, and the versions of its packages that
have a part in them. The Python packages are the tree's (requirements/)."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from results.store.facts import Fact
from results.store.store import Store
from sweeps.support import tools

# Compilers, assembler and linker, the C library, QEMU, what the engine is compiled with, and
# Python, as Debian names them.
_PACKAGES = (
    "gcc gcc-* g++ g++-* cpp-* clang clang-* binutils* libc6 libc6-* libstdc++-* libgcc-* "
    "qemu-user* libglib2.0-0* make doctest-dev nlohmann-json3-dev python3 python3.*"
).split()
_ASK_S = 20.0


@dataclass(frozen=True)
class System:
    """`packages`: their versions by name; none where dpkg does not know."""

    name: str
    packages: Mapping[str, str]


SYSTEM = Fact[System]("system", System)  # by the name that column `system` of the runs has


@cache
def this_system() -> System:
    """Return the system that this process runs on."""
    name, packages = platform.system(), {}
    with suppress(OSError):
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    words = "${db:Status-Abbrev}\t${Package}:${Architecture}\t${Version}\n"
    with suppress(OSError, subprocess.TimeoutExpired):
        listed = tools.run(["dpkg-query", "-W", "-f", words, *_PACKAGES], _ASK_S).stdout
        for line in listed.splitlines():
            state, package, version = line.split("\t")
            if state.startswith("ii"):
                packages[package] = version
    return System(name, packages)


def keep_system(store: Store) -> str:
    """Store it in the database, and return its name there."""
    system = this_system()
    text = json.dumps([system.name, sorted(system.packages.items())])
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    SYSTEM.of(name).write(store, system)
    return name
