"""The tree that set-up is tried in."""

from pathlib import Path

import pytest

from tests.set_up.launching import make_tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path)
