"""A Slurm for tests. Where its packages cannot be had, the tests say so in one line."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.daemons import Slurm, missing
from tests.slurm.study import Study


@contextmanager
def _slurm(cpus: int) -> Iterator[Slurm]:
    if why := missing():
        pytest.skip(why)
    site = Slurm(cpus)
    yield site
    site.stop()


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """One for all tests that leave it as it was."""
    with _slurm(cpus=4) as site:
        yield site


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Callable[..., Study]]:
    """Make the study of a test: Study's own arguments after the folder. It may break its Slurm,
    whose nodes have room for one job of two workers."""
    with _slurm(cpus=2) as site, ExitStack() as studies:

        def make(**more: Any) -> Study:
            made = Study(site, tmp_path, **more)
            studies.callback(made.end)
            return made

        yield make
