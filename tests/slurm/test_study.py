"""A small study on Slurm's nodes: the same results as here, and nothing is left of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.daemons import Slurm
from tests.slurm.study import Study

METRICS = """SELECT identity, status, cause, name, value, unit
             FROM runs JOIN metrics ON run_id = runs.id ORDER BY identity, name"""


@pytest.fixture
def study(slurm: Slurm, tmp_path: Path) -> Iterator[Study]:
    made = Study(slurm, tmp_path, cells=32, blocks=2)
    yield made
    made.end()


def test_results_are_those_of_this_machine(study: Study) -> None:
    study.start()
    assert study.wait() == 0, study.said()
    study.check(twice_at_most=0)
    assert study.nodes() <= {"n1", "n2", "n3", "n4"} and study.nodes()
    there = study.rows(METRICS)
    study.db = study.folder / "here.db"
    study.start_here()
    assert study.wait() == 0, study.said()
    assert len(there) > 32 and study.rows(METRICS) == there
