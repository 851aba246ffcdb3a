"""Headers of the locks compile by themselves."""

import re
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.programs import TARGETS, Program
from sweeps.questions.prove.mutants.mutants import users_of
from sweeps.support import tools
from tests.native_build import EACH_ISA

LOCKIMPL = ROOT / "lockimpl"
HEADERS = sorted(str(path.relative_to(LOCKIMPL)) for path in LOCKIMPL.rglob("*.h"))
REFUSAL = re.compile(r'#error "include (arch/\w+\.h)"')
# What a program may be compiled with besides.
MORE = ("-DLOCKCROSS_STORAGE", "-DLOCKCROSS_EVENTS=1", "-DLOCKCROSS_SCHEDULER=1")


def refusal(header: str) -> str:
    """The header that a file of one ISA wants to be included by; else nothing."""
    found = REFUSAL.search((LOCKIMPL / header).read_text())
    return found[1] if found else ""


def compiled_alone(text: str, program: Program, folder: Path, *options: str) -> str:
    """Return the compiler's output for a program that is nothing but a text."""
    source = folder / "alone.c"
    source.write_text(text)
    command = program.command(TARGETS[program.flavour].compiler, "/dev/null")
    flags = [word for word in command if not word.endswith((".c", ".S")) and "-Wl," not in word]
    return tools.run([*flags, *options, "-fsyntax-only", str(source)], cwd=ROOT).stderr


@pytest.mark.parametrize(
    ("flavour", "options"), [*((flavour, ()) for flavour in EACH_ISA), ("lock", MORE), ("llsc", ())]
)
def test_every_header_compiles_by_itself(
    flavour: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    """Files of one ISA refuse, and name the header that chooses among them, which compiles."""
    for header in HEADERS:
        program = Program("alone", next(iter(users_of(header)), "nop"), "full", flavour)
        said = compiled_alone(f'#include "{header}"\n', program, tmp_path, *options)
        if chooser := refusal(header):
            assert f"include {chooser}" in said and not refusal(chooser), header
            assert header.startswith("arch/")
        else:
            assert said == "", header
    for isa in ("x86_64", "ppc64le", "aarch64_lse", "aarch64_llsc"):
        assert refusal(f"arch/{isa}.h") == "arch/arch.h"
