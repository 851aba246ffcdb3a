"""A thousand drawn cells: whole reports, equal to the kept ones, on every system."""

from pathlib import Path

import pytest

from tests.reference.drawn import COUNT, Drawn, measure, stored

_EACH = 40  # cells of a test


def different(cells: list[Drawn], folder: Path) -> list[str]:
    """Those of which the engine says something else now."""
    options = stored().options
    found = [(cell, measure(cell, options[cell.options], folder)) for cell in cells]
    return [
        f"{old.program} on {old.options}: {old.cycles}, now {new.cycles}"
        for old, new in found
        if (new.cycles, new.report) != (old.cycles, old.report)
    ]


@pytest.mark.parametrize("first", range(0, COUNT, _EACH))
def test_reports_are_those_that_are_kept(first: int, tmp_path: Path) -> None:
    """If the engine is meant to say something else: `python -m tests.reference.drawn --measure`."""
    assert not different(stored().cells[first : first + _EACH], tmp_path)


def test_the_cells_are_of_many_kinds() -> None:
    cells = stored().cells
    assert len(cells) == COUNT
    assert {cell.options.split()[1] for cell in cells} == {"x86_64", "aarch64", "ppc64le"}
    models = [stored().options[cell.options] for cell in cells]
    for model in ("pipeline", "out_of_order", "blocking", "micro_operations"):
        assert any(one.get(model) for one in models), model
    assert len({cell.program.rsplit("-", 3)[1] for cell in cells}) > 20
    assert len({cell.report for cell in cells}) > COUNT * 9 // 10


def test_a_cell_that_is_another_is_found(tmp_path: Path) -> None:
    cell = stored().cells[0]
    assert different([cell.model_copy(update={"report": "0" * 16})], tmp_path)
    assert not different([cell], tmp_path)
