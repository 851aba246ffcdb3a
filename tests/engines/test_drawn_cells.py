"""A thousand drawn cells: whole reports, equal to the kept ones, on every system."""

import pytest

from tests.reference.drawn import COUNT, measure, stored

_EACH = 40  # cells of a test


@pytest.mark.parametrize("first", range(0, COUNT, _EACH))
def test_reports_are_those_that_are_kept(first: int) -> None:
    """If the engine is meant to say something else: `python -m tests.reference.drawn --measure`."""
    kept = stored()
    cells = kept.cells[first : first + _EACH]
    unknown = [cell.model_copy(update={"cycles": [], "report": ""}) for cell in cells]
    assert [measure(cell, kept.options[cell.options]) for cell in unknown] == cells


def test_the_cells_are_of_many_kinds() -> None:
    cells = stored().cells
    assert len(cells) == COUNT
    assert {cell.options.split()[1] for cell in cells} == {"x86_64", "aarch64", "ppc64le"}
    models = [stored().options[cell.options] for cell in cells]
    for model in ("pipeline", "out_of_order", "blocking", "micro_operations"):
        assert any(one.get(model) for one in models), model
    assert len({cell.program.rsplit("-", 3)[1] for cell in cells}) > 20
    assert len({cell.report for cell in cells}) > COUNT * 9 // 10
