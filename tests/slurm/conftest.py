"""A Slurm for tests. Where its packages cannot be had, the tests say so in one line."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.daemons import Slurm, missing
from tests.slurm.study import Study


def _slurm(cpus: int) -> Iterator[Slurm]:
    if why := missing():
        pytest.skip(why)
    site = Slurm(cpus=cpus)
    yield site
    site.stop()


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """One for all tests that leave it as it was."""
    yield from _slurm(cpus=4)


@pytest.fixture
def own_slurm() -> Iterator[Slurm]:
    """One for a test that breaks it; a node has room for one job of two workers."""
    yield from _slurm(cpus=2)


@pytest.fixture
def study(own_slurm: Slurm, tmp_path: Path) -> Iterator[Callable[..., Study]]:
    """Make the study of a test: Study's own arguments after the folder."""
    made: list[Study] = []

    def make(**more: Any) -> Study:
        made.append(Study(own_slurm, tmp_path, **more))
        return made[-1]

    yield make
    for one in made:
        one.end()
