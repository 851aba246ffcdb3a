"""Regression of simulated cycles against stored references; the tolerance is zero."""

import json
from pathlib import Path

import pytest

from sweeps.build import Program
from tests.reference_cycles import CASES, REFERENCE, key, measure, programs

KNOWN: dict[str, dict[str, list[int]]] = json.loads(REFERENCE.read_text(encoding="utf-8"))
RUNS = [(case, program) for case in CASES for program in programs(case)]


@pytest.mark.parametrize(
    ("case", "program"), RUNS, ids=lambda part: part if isinstance(part, str) else key(part)
)
def test_cycles_are_those_of_the_reference(case: str, program: Program, tmp_path: Path) -> None:
    assert measure(case, program, tmp_path) == KNOWN[case][key(program)], (
        "simulated cycles moved; if that is meant, run: .venv/bin/python -m tests.reference_cycles"
    )
