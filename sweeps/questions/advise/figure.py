"""The figure of an answer of `advise`: what each lock costs and why, and how far it holds."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sweeps.questions.advise.answer import USE_AXES, Advice, AxisAnswer
from sweeps.report.style import style_of

_COLOURS = ("#E69F00", "#009E73", "#F0E442", "#CC79A7", "#56B4E9", "#D55E00", "#BBBBBB")
_ROW = 0.55  # inches of an axis
_HATCHES = ("///", "\\\\\\", "..", "xx", "--", "++", "")


def draw_advice(advice: Advice) -> Figure:
    """Costs by cause on the left, the reach of the answer on the right."""
    figure = Figure(figsize=(11, max(3.8, _ROW * len(advice.axes))), layout="constrained")
    costs, reach = figure.subplots(1, 2)
    _draw_costs(costs, advice)
    _draw_reach(reach, advice)
    return figure


def _draw_costs(ax: Axes, advice: Advice) -> None:
    names = [lock.label.words() for lock in advice.locks]
    left = [0.0] * len(names)
    for cause, colour, hatch in zip(advice.locks[0].causes, _COLOURS, _HATCHES, strict=True):
        widths = [lock.causes[cause] for lock in advice.locks]
        ax.barh(names, widths, left=left, label=cause, color=colour, hatch=hatch)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for place, lock in enumerate(advice.locks):
        ax.annotate(
            f" {lock.cost:.1f}" + ", tie" * (lock.label in advice.win.tied),
            (left[place], place),
            va="center",
            annotation_clip=False,
        )
    ax.invert_yaxis()
    words = "cycles per acquire-release pair"
    if advice.work >= 1:
        words += f"; bars count the program's own {advice.work:.0f}, too"
    ax.set(xlabel=words, title=f"On {advice.setting['machine']}")
    ax.set_xlim(0, 1.2 * max(left))
    ax.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.18))


def _draw_reach(ax: Axes, advice: Advice) -> None:
    """Each axis from the lowest to the highest value searched, with what changes where."""
    best = advice.win.lock
    for row, axis in enumerate(advice.axes):
        low, high = (
            _place(axis, change.value) if change else end
            for change, end in ((axis.below, 0.0), (axis.above, 1.0))
        )
        ax.barh(row, 1, color="#EEEEEE", height=0.5)
        ax.barh(row, high - low, left=low, color=style_of(best).colour, height=0.5)
        now = _place(axis, axis.now)
        ax.plot([now, now], [row - 0.35, row + 0.35], color="black")
        for change, end in ((axis.below, low), (axis.above, high)):
            if change is not None:
                words = f"{change.lock.words()}: {_words(axis, change.value)}"
                ax.annotate(
                    words,
                    (end, row - 0.3),
                    fontsize=7,
                    va="bottom",
                    ha="left" if end < 0.5 else "right",
                )
    ax.set_yticks(
        range(len(advice.axes)),
        [
            f"{USE_AXES.get(along.axis, along.axis)}\n{_words(along, along.now)}"
            for along in advice.axes
        ],
    )
    ax.set_xticks([0, 1], ["least searched", "most"])
    ax.invert_yaxis()
    ax.set_title(f"How far {best.words()} stays the cheapest (line: now)")


def _place(axis: AxisAnswer, value: float) -> float:
    """Where a value lies between the ends, from 0 to 1; by its root, since ranges are wide."""
    share = (value - axis.low) / (axis.high - axis.low)
    return float(max(share, 0.0) ** 0.5)


def _words(axis: AxisAnswer, value: float) -> str:
    if axis.unit == "share":
        return f"{100 * value:.3g} %"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
