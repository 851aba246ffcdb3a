"""The instructions of the study's programs, as other people's decoders read them. That the engine's
decoders agree with the table is a unit test of the engine (qemu-timing/tests/isa)."""

import io
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from results.errors import LockcrossError
from sweeps.programs import FAMILY, TARGETS
from sweeps.support.paths import ENGINE_PLUGIN
from tests.engines.decoders import DECODERS, decode
from tests.engines.instruction_table import (
    TABLE,
    codes_of,
    compiled_programs,
    forms,
    kept_programs,
    row,
    table,
)


@pytest.fixture(scope="module", autouse=True)
def decoders() -> None:
    """Skip in one line where they cannot be had."""
    try:
        DECODERS.install()
    except LockcrossError as error:
        pytest.skip(error.message)


def unlisted(programs: list[Path]) -> list[str]:
    """Instructions of programs whose form is not in the table."""
    listed = set(forms(table()))
    return [one.text for key, one in forms(codes_of(programs)).items() if key not in listed]


def test_the_table_is_what_the_decoders_say() -> None:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith(("SAME(", "OTHER("))]
    decoded = [decode(isa, code) for isa, code in table()]
    assert rows == [row(one) for one in decoded if one]
    assert {isa for isa, _ in table()} == {target.isa for target in TARGETS.values()}


def test_every_form_of_the_kept_programs_is_in_the_table() -> None:
    """A new one: `./lockcross python -m tests.engines.instruction_table`."""
    assert not unlisted(kept_programs())


@pytest.mark.long  # it compiles the programs, where no other test has
@pytest.mark.skipif(FAMILY != "gcc", reason="the table has the forms of the distributions' gcc")
def test_every_form_of_the_programs_of_this_compiler_is_in_the_table() -> None:
    """A new one: `./lockcross python -m tests.engines.instruction_table`."""
    assert not unlisted(compiled_programs())


def test_nothing_but_the_engines_sources_decides_about_cycles() -> None:
    """Its identity is a digest of them, so it must not lean on a library that may differ."""
    plugin = ELFFile(io.BytesIO(ENGINE_PLUGIN.read_bytes()))
    needed = {tag.needed for tag in plugin.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    base = {"libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert {name.partition(".so")[0] for name in needed} <= base
