"""Command lines and files drawn at random."""

import pytest

from tests.tree.command_lines import complaints


@pytest.mark.parametrize("seed", range(3))
def test_no_command_line_ends_in_an_internal_error(seed: int) -> None:
    """Nor in an answer to another question. A wider search: `./lockcross python -m
    tests.tree.command_lines 10000`."""
    assert list(complaints(60, seed)) == []
