"""Fixtures of several questions' tests."""

from pathlib import Path

import pytest

from tests.java_agent import agent, classes
from tests.jdks import USUAL, jvm

__all__ = ["agent", "classes"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.locks"


@pytest.fixture
def java(request: pytest.FixtureRequest) -> str:
    """The JVM of a release, `@pytest.mark.parametrize("java", [21], indirect=True)`. Skips where it
    is not and cannot be had."""
    release: int = getattr(request, "param", USUAL)
    found = jvm(release)
    if found is None:
        pytest.skip(f"a JVM of release {release} is not here and cannot be loaded")
    return found
