"""Regression of simulated cycles against stored references, of programs that are kept: the same
under every QEMU and compiler; the tolerance is zero."""

import json
from pathlib import Path

import pytest

from sweeps.programs import Program, compiler_version, find_compiler, loaded_digest
from tests.reference import programs as reference_programs
from tests.reference.cycles import CASES, REFERENCE, key, measure, programs

KNOWN: dict[str, dict[str, list[int]]] = json.loads(REFERENCE.read_text(encoding="utf-8"))
# What is kept: locks that came later join when the programs are compiled anew.
RUNS = [(case, one) for case in CASES for one in programs(case) if key(one) in KNOWN[case]]


@pytest.mark.parametrize(
    ("case", "program"), RUNS, ids=lambda part: part if isinstance(part, str) else key(part)
)
def test_cycles_are_those_of_the_reference(case: str, program: Program) -> None:
    assert measure(case, program) == KNOWN[case][key(program)], (
        "cycles moved; if that is meant: ./lockcross python -m tests.reference.cycles"
    )


@pytest.mark.parametrize("case", CASES)
def test_every_reference_is_measured(case: str) -> None:
    assert {key(program) for name, program in RUNS if name == case} == set(KNOWN[case])


MANIFEST = json.loads(reference_programs.MANIFEST.read_text(encoding="utf-8"))


def test_the_kept_programs_are_those_of_the_manifest() -> None:
    folder = reference_programs.unpacked()
    assert {reference_programs.name(program) for _, program in RUNS} == set(MANIFEST["digests"])
    found = {path.name: loaded_digest(path.read_bytes()) for path in folder.iterdir()}
    assert found == MANIFEST["digests"]


@pytest.mark.parametrize("flavour", list(MANIFEST["compilers"]))
def test_the_kept_programs_can_be_made_again(flavour: str, tmp_path: Path) -> None:
    """By the compiler that is named there, from the sources that are named there."""
    compiler = compiler_version(find_compiler(flavour))
    if compiler != MANIFEST["compilers"][flavour]:
        pytest.skip(f"made by {MANIFEST['compilers'][flavour]}; here is {compiler}")
    sources = reference_programs.sources_of(MANIFEST["source_revision"], tmp_path)
    if sources is None:
        pytest.skip(f"this clone lacks revision {MANIFEST['source_revision']}")
    for lock in ("thin", "reservation"):
        program = Program("sync", lock, "full", flavour)
        made = loaded_digest(reference_programs.build(program, sources))
        assert made == MANIFEST["digests"][reference_programs.name(program)]
