"""The instructions of the study's programs, as other people's decoders read them. That the engine's
decoders agree with the table is a unit test of the engine (qemu-timing/tests/isa)."""

import io

import pytest
from elftools.elf.elffile import ELFFile

from results.errors import LockcrossError
from sweeps.programs import FAMILY, TARGETS
from sweeps.support.paths import ENGINE_PLUGIN
from tests.engines.decoders import DECODERS, decode
from tests.engines.instruction_table import (
    codes_of,
    compiled_programs,
    forms,
    kept_programs,
    row,
    rows,
    table,
)


@pytest.fixture(scope="module", autouse=True)
def decoders() -> None:
    """Skip in one line where they cannot be had."""
    try:
        DECODERS.install()
    except LockcrossError as error:
        pytest.skip(error.message)


def test_the_table_is_what_the_decoders_say() -> None:
    decoded = [decode(isa, code) for isa, code in table()]
    assert rows() == [row(one) for one in decoded if one]
    assert {isa for isa, _ in table()} == {target.isa for target in TARGETS.values()}


@pytest.mark.long  # it compiles the programs, where no other test has
def test_every_form_of_the_programs_is_in_the_table() -> None:
    """Of those that are kept; and those of this compiler, if it is the distributions' gcc. A new
    one: `./lockcross python -m tests.engines.instruction_table`."""
    programs = kept_programs() + (compiled_programs() if FAMILY == "gcc" else [])
    found, listed = forms(codes_of(programs)), forms(table())
    assert not [one.text for key, one in found.items() if key not in listed]


def test_nothing_but_the_engines_sources_decides_about_cycles() -> None:
    """Its identity is a digest of them, so it must not lean on a library that may differ."""
    plugin = ELFFile(io.BytesIO(ENGINE_PLUGIN.read_bytes()))
    needed = {tag.needed for tag in plugin.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    base = {"libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert {name.partition(".so")[0] for name in needed} <= base
