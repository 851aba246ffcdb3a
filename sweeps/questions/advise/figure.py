"""The figure of an answer of `advise`: each lock's cost and its causes, and how far it holds."""

from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from results.draw.painter import EDGED, HALO, PAGE, note
from sweeps.model.axes import LATENCIES
from sweeps.questions.advise.advice import USE_AXES, Advice, AxisAnswer
from sweeps.questions.advise.question import GIVEN
from sweeps.questions.advise.text import value_in_words
from sweeps.report.style import style_of

_COLOURS = ("#E69F00", "#009E73", "#F0E442", "#CC79A7", "#56B4E9", "#D55E00", "#BBBBBB")
_HATCHES = ("///", "\\\\\\", "..", "xx", "--", "++", "")
_ROW, _HEAD = 0.35, 1.0  # inches of an axis, and of what stands above and below all of them
_COLUMNS = 110  # letters of a line of the title


def draw_advice(advice: Advice) -> Figure:
    """Draw costs by cause on the left, and on the right how far the answer holds."""
    rows = max(len(advice.axes), len(advice.locks) + 1)
    figure = Figure(figsize=(PAGE, _HEAD + _ROW * rows), layout="constrained")
    costs, reach = figure.subplots(1, 2, width_ratios=(3, 4))
    _draw_costs(costs, advice)
    _draw_range(reach, advice)
    asked = [
        f"{USE_AXES[one.name]} {one.value}"
        for one in advice.inputs
        if one.kind == GIVEN and one.name in LATENCIES
    ]
    about = ", ".join([str(advice.setting["machine"]), *asked])
    figure.legend(*costs.get_legend_handles_labels(), loc="outside lower left", ncols=7)
    figure.suptitle(fill(f"Simulated: {about}", _COLUMNS))
    return figure


def _draw_costs(ax: Axes, advice: Advice) -> None:
    """Draw a bar for each lock, with the interval in which eight of ten measured costs lay."""
    names = [lock.label.words(",\n") for lock in advice.locks]
    left = [0.0] * len(names)
    for cause, colour, hatch in zip(advice.locks[0].causes, _COLOURS, _HATCHES, strict=True):
        widths = [lock.causes[cause] for lock in advice.locks]
        ax.barh(names, widths, left=left, label=cause, color=colour, hatch=hatch, **EDGED)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for place, lock in enumerate(advice.locks):
        end = left[place]
        if advice.error is not None:
            low, high = (factor * end for factor in (advice.error.low, advice.error.high))
            ax.errorbar((low + high) / 2, place, xerr=(high - low) / 2, color="black", capsize=2)
            end = max(end, high)
        words = f"{lock.cost:.1f}" + ", tie" * (lock.label in advice.win.tied)
        note(ax, words, (end, place), (4, 0), va="center", annotation_clip=False)
        left[place] = end
    ax.invert_yaxis()
    words = "cycles per acquire-release pair"
    if advice.work >= 1:
        words += f"\nbars count the program's own {advice.work:.0f}, too"
    if advice.error is not None:
        words += "\nwhiskers: where 8 of 10 measured costs lay"
    ax.set(xlabel=words, title="Cost by cause", xlim=(0, 1.2 * max(left)))


def _draw_range(ax: Axes, advice: Advice) -> None:
    """Draw each axis from the lowest to the highest value searched, with the locks that are as
    cheap at some value."""
    best = advice.win.lock
    for row, axis in enumerate(advice.axes):
        low, high = (
            _along(axis, change.value) if change else end
            for change, end in ((axis.below, 0.0), (axis.above, 1.0))
        )
        ax.barh(row, 1, color="#EEEEEE", height=0.3, **EDGED)
        ax.barh(row, high - low, left=low, color=style_of(best).colour, height=0.3, **EDGED)
        now = _along(axis, axis.now)
        ax.plot([now, now], [row - 0.2, row + 0.2], color="black", linewidth=2)
        for value, end, beside in ((axis.low, 0.0, "left"), (axis.high, 1.0, "right")):
            shown = value_in_words(axis, value)
            ax.text(end, row + 0.18, shown, ha=beside, va="top", fontsize=6)
        for change, end in ((axis.below, low), (axis.above, high)):
            if change is not None:
                words = f"{change.lock.words()}: {value_in_words(axis, change.value)}"
                x, beside = (0.0, "left") if end < 0.5 else (1.0, "right")
                ax.text(x, row - 0.2, words, ha=beside, va="bottom", fontsize=6, path_effects=HALO)
    ax.set_yticks(
        range(len(advice.axes)),
        [
            f"{USE_AXES.get(along.axis, along.axis)}\n{value_in_words(along, along.now)}"
            for along in advice.axes
        ],
    )
    ax.set(xticks=[], xlim=(-0.02, 1.02), title=f"How far {best.words()} stays the cheapest")
    ax.set_xlabel("below a bar: what was searched; line: now;\nabove: the cheapest lock beyond")
    ax.spines[:].set_visible(False)
    ax.invert_yaxis()


def _along(axis: AxisAnswer, value: float) -> float:
    """Return where a value lies between the ends, from 0 to 1; by its root: ranges are wide."""
    share = (value - axis.low) / (axis.high - axis.low)
    return float(max(share, 0.0) ** 0.5)
