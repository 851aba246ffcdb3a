"""The figures of a plan: cost along everything that it varies."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from results.analysis.plans.comparison import LOCK, compare, varied
from results.analysis.plans.sweep import PlanRun
from results.figures.painter import write
from results.figures.plans.comparison import MOST_PANELS, draw_comparison


def draw_plan(runs: Sequence[PlanRun], name: str, folder: Path) -> list[tuple[str, Path]]:
    """Draws the costs of a plan's runs along each axis and key of numbers that differs; where none
    does, along another one, or by lock. Returns each figure's title and PNG. Raises
    LockcrossError."""
    numbers, others = varied(runs)
    drawn = []
    for axis in numbers or others[:1] or [LOCK]:
        by = LOCK if axis != LOCK else "machine"
        found = compare(runs, by, axis)
        title = f"Cost along {axis}"
        if len(found.panels) > MOST_PANELS:
            title += f", the first {MOST_PANELS} of {len(found.panels)} settings"
        draw = partial(draw_comparison, found)
        drawn.append((title, write(f"{name}_{axis}".replace("/", "_"), title, draw, folder)))
    return drawn
