"""Headers of the locks compile by themselves."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.model.locks import load_locks
from sweeps.programs import TARGETS, Program
from tests.native_build import EACH_ISA

LOCKIMPL = ROOT / "lockimpl"
HEADERS = sorted(str(path.relative_to(LOCKIMPL)) for path in LOCKIMPL.rglob("*.h"))
REFUSAL = re.compile(r'#error "include (arch/\w+\.h)"')
# What a program may be compiled with besides.
MORE = ("-DLOCKCROSS_STORAGE", "-DLOCKCROSS_EVENTS=1", "-DLOCKCROSS_SCHEDULER=1")


def refusal(text: str) -> str:
    """The header that a file of one ISA wants to be included by; else nothing."""
    found = REFUSAL.search(text)
    return found[1] if found else ""


@cache
def reached(header: str) -> frozenset[str]:
    """A header and all that it includes, directly or not."""
    named = re.findall(r'^#include "(.+)"', (LOCKIMPL / header).read_text(), re.MULTILINE)
    here = {one for one in named if (LOCKIMPL / one).exists()}
    return frozenset({header}.union(*(reached(one) for one in here if one != "lock.h")))


def lock_for(header: str) -> str:
    """The first lock whose header is made with this one."""
    return next((lock for lock in load_locks() if header in reached(f"locks/{lock}.h")), "nop")


def compile_alone(folder: Path, flavour: str, *options: str) -> dict[str, str]:
    """Header -> the compiler's output for a program that is nothing but this header."""
    said = {}
    for header in HEADERS:
        source = folder / "alone.c"
        source.write_text(f'#include "{header}"\n')
        program = Program("alone", lock_for(header), "full", flavour)
        command = program.command(TARGETS[flavour].compiler, "/dev/null")
        flags = [word for word in command if not word.endswith((".c", ".S")) and "-Wl," not in word]
        done = subprocess.run(
            [*flags, *options, "-fsyntax-only", str(source)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        said[header] = done.stderr
    return said


@pytest.mark.parametrize(
    ("flavour", "options"), [*((flavour, ()) for flavour in EACH_ISA), ("lock", MORE), ("llsc", ())]
)
def test_every_header_compiles_by_itself(
    flavour: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    """Files of one ISA refuse, and name the header that chooses among them, which compiles."""
    said = compile_alone(tmp_path, flavour, *options)
    wanted = {header: refusal((LOCKIMPL / header).read_text()) for header in HEADERS}
    for header, chooser in wanted.items():
        if chooser:
            assert f"include {chooser}" in said[header] and not wanted[chooser], header
            assert header.startswith("arch/")
        else:
            assert said[header] == "", header
