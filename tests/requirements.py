"""Pins the Python packages: for each NAME.in of requirements/, which names the packages and why,
NAME.txt with a version and the hashes of all files for every package and its dependencies; for
users' packages that is requirements.txt in the root.

    ./lockcross python -m tests.requirements               # the newest versions of everything
    ./lockcross python -m tests.requirements PACKAGE...    # of these; all others stay
    ./lockcross python -m tests.requirements --keep        # of none: only new ones of an .in

Asks the package index, or the one in the resolver's variable UV_DEFAULT_INDEX. Then
sees that every supported Python has wheels on both processors, and ends with 1 where it has not.
"""

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from results.extras import REQUIREMENTS, Extra
from results.paths import ROOT, WORK

RENEW = Extra("the resolver", REQUIREMENTS / "renew.txt", megabytes=25)
# In this order: all are installed into one environment, so each goes by those before it.
NAMES = ("users", "cli", "tests", "browser", "cluster", "decoders", "renew")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROCESSORS = ("x86_64", "aarch64")
X86_ALONE = ("decoders",)
_SYSTEM = "manylinux_2_36"  # Debian 12's
_HEAD = "# Made from {wanted} by `./lockcross python -m tests.requirements`. Not to be edited.\n"


def main(words: list[str]) -> int:
    """Return the exit code."""
    RENEW.install()
    newer = [f"--upgrade-package={word}" for word in words if word != "--keep"]
    if not words:
        newer = ["--upgrade"]
    for number, name in enumerate(NAMES):
        others = [f"--constraint={pins(before)}" for before in NAMES[:number]]
        settings = "--universal --generate-hashes --no-build --no-header --quiet".split()
        settings += [f"--python-version={PYTHONS[0]}", f"--output-file={pins(name)}"]
        wanted = f"{REQUIREMENTS.name}/{name}.in"
        _uv("compile", *settings, *newer, *others, wanted)
        pinned = ROOT / pins(name)
        pinned.write_text(_HEAD.format(wanted=wanted) + pinned.read_text(encoding="utf-8"))
    lacking = list(_lacking())
    print("\n".join(lacking) or "every Python has wheels of all packages on both processors")
    return 1 if lacking else 0


def pins(name: str) -> str:
    """Return the file of the tree that pins the packages of NAME.in."""
    return "requirements.txt" if name == "users" else f"{REQUIREMENTS.name}/{name}.txt"


def _uv(*words: str) -> None:
    program = Path(sysconfig.get_path("scripts"), "uv")
    subprocess.run([program, "pip", *words], cwd=ROOT, check=True)


def _lacking() -> Iterator[str]:
    for name in NAMES:
        for processor in PROCESSORS[:1] if name in X86_ALONE else PROCESSORS:
            for python in PYTHONS:
                place = f"--python-version={python} --python-platform={processor}-{_SYSTEM}"
                settings = "--dry-run --quiet --require-hashes --no-build".split()
                nowhere = f"--target={WORK / 'build' / 'nowhere'}"
                try:
                    _uv("install", *settings, *place.split(), nowhere, "-r", pins(name))
                except subprocess.CalledProcessError:
                    yield f"{pins(name)} has no wheels for Python {python} on {processor}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
