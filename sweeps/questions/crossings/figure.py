"""The figure of crossings: the cost of each lock along the axis, and where they change places."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from results.draw.painter import PAGE, panels
from results.store.records import CrossoverRecord
from sweeps.model.axes import AXIS_WORDS, UNIT_WORDS
from sweeps.model.locks import LockLabel
from sweeps.questions.crossings.answer import known_at
from sweeps.report.lines import name_ends
from sweeps.report.style import style_of
from sweeps.study.lines import FIRST_SEED

_HEIGHT = 3.0  # inches


def draw_crossings(crossovers: Sequence[CrossoverRecord]) -> Figure:
    """Draw the costs of the first seed over one another; a line where two locks cost the same, grey
    where the engine cannot tell which is the cheaper one."""
    costs: dict[str, dict[float, float]] = {}
    for one in crossovers:
        for run in one.runs:
            if run.seed == FIRST_SEED:
                costs.setdefault(run.lock, {})[run.x] = run.cost
    of = crossovers[0]
    figure, (ax,) = panels(1, 1, _HEIGHT)
    figure.set_figwidth(PAGE / 1.5)
    ends = []
    for lock, along in costs.items():
        label, (xs, ys) = LockLabel(lock), zip(*sorted(along.items()), strict=True)
        ax.plot(xs, ys, **style_of(label).curve)
        ends.append((label.words(",\n"), style_of(label).colour, (xs[-1], ys[-1])))
    for one in crossovers:
        if one.value is None:
            continue
        ax.axvline(one.value, color="black", linewidth=0.6, linestyle=":")
        if (known := known_at(one)) is not None:
            low, high = known.low or one.low, known.high or one.high
            ax.axvspan(low, high, color="#bbbbbb", alpha=0.3, linewidth=0, zorder=0)
    unit = UNIT_WORDS.get(of.unit, of.unit)
    words = AXIS_WORDS.get(of.axis, of.axis.replace("_", " "))
    ax.set_xlabel(words if unit == words else f"{words} ({unit})")
    ax.set_ylabel("cycles per acquire-release pair")
    ax.grid(True)
    name_ends(ax, ends)
    figure.suptitle(
        f"Simulated: {of.machine}, {of.flavour}, {of.workload}; dotted: two locks cost the same; "
        "grey: not told apart",
        wrap=True,
    )
    return figure
