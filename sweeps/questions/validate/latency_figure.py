"""Set against measured latency: a row an operation, a column an engine."""

import sqlite3
from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from results.draw.style import FLAVOUR_LOOKS
from results.errors import NoDataError
from sweeps.model import engines
from sweeps.model.isa import isa_words
from sweeps.questions.validate.latency import OPS, Sweep, sweeps
from sweeps.search.found import isa_title

_LINES = ("-", "--", ":", "-.")  # variants of a model on the same flavour


def draw_latency(connection: sqlite3.Connection) -> Figure:
    """Every latency sweep with its mechanism, beside the line of slope 1. Raises NoDataError."""
    found = sweeps(connection)
    if not found:
        raise NoDataError("the database holds no latency sweeps; run ./lockcross validate")
    models = sorted({engines.entry(one.engine).label for one in found}, key=engines.order)
    ops = [op for op in OPS if any(one.op == op for one in found)]
    titles = {one.isa: isa_title(connection, one.isa) for one in found}
    figure = Figure(figsize=(4.3 * len(models), 3.9 * len(ops)), layout="constrained")
    axes = figure.subplots(len(ops), len(models), squeeze=False)
    for row, op in zip(axes, ops, strict=True):
        for ax, model in zip(row, models, strict=True):
            shown = [
                one for one in found if one.op == op and engines.entry(one.engine).label == model
            ]
            if shown:
                ax.set_title(f"{engines.title(model)}: {OPS[op]}")
                _draw_panel(ax, shown, titles)
            else:
                ax.axis("off")
    return figure


def _draw_panel(ax: Axes, shown: Sequence[Sweep], titles: dict[str, str]) -> None:
    ax.set_xlabel("set latency (cycles)")
    ax.set_ylabel("measured latency (cycles)")
    ax.grid(True, color="#eeeeee", linewidth=0.6)
    furthest = max(x for one in shown for x, _ in one.points)
    ax.plot([0, furthest], [0, furthest], color="#888888", linewidth=1, label="slope 1")
    drawn: dict[str, int] = {}
    several = len({one.machine for one in shown}) > 1
    alike = Counter((one.flavour, one.machine, one.mechanism) for one in shown)
    for one in shown:
        colour, marker = FLAVOUR_LOOKS[one.flavour]
        number = drawn[one.flavour] = drawn.get(one.flavour, -1) + 1
        xs, ys = zip(*one.points, strict=True)
        ax.plot(
            xs, ys, _LINES[number % len(_LINES)], color=colour, marker=marker, markersize=4.5,
            markerfacecolor=colour if number == 0 else "white", linewidth=1.4,
            label=f"{isa_words(titles[one.isa], one.flavour)}, "
            f"{f'{one.machine}, ' if several else ''}{_means(one, alike)}: {one.words()}",
        )  # fmt: skip
    highest = max(y for one in shown for _, y in one.points)
    # Each sweep takes a line of the key, which stands above the lines.
    ax.set_ylim(0, max(highest, furthest) * (1.1 + 0.085 * (len(shown) + 1)))
    ax.legend(loc="upper left", frameon=False, fontsize=7.5)


def _means(one: Sweep, alike: Counter[tuple[str, str, str]]) -> str:
    """The mechanism; with the engine label's model and variant where several have the same."""
    if alike[one.flavour, one.machine, one.mechanism] == 1:
        return one.mechanism
    return f"{one.mechanism} ({one.engine.partition('/')[2]})"
