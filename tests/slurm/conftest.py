"""A Slurm for tests. Where its packages cannot be had, the tests say so in one line."""

from collections.abc import Iterator

import pytest

from tests.slurm.daemons import Slurm, missing


def _slurm() -> Iterator[Slurm]:
    if why := missing():
        pytest.skip(why)
    site = Slurm()
    yield site
    site.stop()


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """One for all tests that leave it as it was."""
    yield from _slurm()


@pytest.fixture
def own_slurm() -> Iterator[Slurm]:
    """One for a test that breaks it."""
    yield from _slurm()
