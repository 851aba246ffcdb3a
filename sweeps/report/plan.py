"""What a plan has to show: who wins in each setting, what every lock costs there, and the cost
along everything that it varies; as tables, as figures and as a page.

Only what draws imports Matplotlib.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.draw.embedded import embedded
from results.errors import LockcrossError
from results.store.queries import OF_A_PLAN, Answer, condition, plan_name
from results.text.rows import Form, print_compact, print_rows
from sweeps.model.axes import AXES, LATENCIES
from sweeps.model.cell import values
from sweeps.model.locks import LockLabel, labels_words
from sweeps.search import plan_costs
from sweeps.search.plan_costs import TIE_PERCENT, Comparison, Group, PlanRun, groups, runs_of_plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 12  # of a figure
_OF_LOCK = ("lock", "variant", "fence", "seed")  # axes that are no part of a setting
_ALWAYS = ("winner", "lock", "cycles_per_pair")
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_LINES = ("-", "--", "-.", ":")
_MARKERS = "osD^vXPd"
_STEEP = 30  # times the least value of an axis: from here on the scale is logarithmic


def winner_rows(settings: Sequence[Group]) -> Answer:
    """The winner in each setting, with full fences and with any kind where there are others."""
    names, places = _settings(settings)
    rows: list[tuple[Any, ...]] = []
    for group, place in zip(settings, places, strict=True):
        absent = ", ".join(group.absent)
        for fences, win in group.contests(TIE_PERCENT / 100):
            if win is None:
                (label,) = [known for known in group.costs if fences in ("any", known.fence)]
                alone = (label, round(group.costs[label].median, 2), "", None, None, "alone")
                rows.append((*place, fences, *alone, absent))
                continue
            lead = (win.runner_up, round(win.margin, 2), round(100 * win.lead, 2))
            verdict = "tie" if win.tied else ""
            rows.append((*place, fences, win.lock, round(win.cost, 2), *lead, verdict, absent))
    columns = "fences winner cycles_per_pair next lead_cycles lead_percent verdict absent"
    return Answer([*names, *columns.split()], rows)


def cost_rows(settings: Sequence[Group]) -> Answer:
    """What every lock costs in each setting, cheapest first."""
    names, places = _settings(settings)
    rows = [
        (
            *place,
            label,
            label.fence,
            round(band.median, 2),
            round(band.least, 2),
            round(band.most, 2),
            band.seeds,
        )
        for group, place in zip(settings, places, strict=True)
        for label, band in group.costs.items()
    ]
    return Answer([*names, "lock", "fences", "cycles_per_pair", "least", "most", "seeds"], rows)


def _settings(compared: Iterable[Group]) -> tuple[list[str], list[list[Any]]]:
    """The names of what is set in some settings, axes first; and each setting's values of them."""
    settings = [values(group.setting) for group in compared]
    names = dict.fromkeys(axis.name for axis in AXES)
    names |= dict.fromkeys(name for setting in settings for name in setting)
    known = [name for name in names if name not in _OF_LOCK]
    return known, [[setting.get(name) for name in known] for setting in settings]


def compared_words(settings: Iterable[Group]) -> str:
    """Which locks and fence kinds some settings compare, and what is a tie."""
    labels = sorted({label for group in settings for label in group.costs})
    return (
        f"{labels_words(labels)}\nCost: cycles per acquire-release pair, the median of the seeds. "
        f"A lead below {TIE_PERCENT:g} % is a tie."
    )


def print_of_plan(connection: sqlite3.Connection, query: str, plan: str, form: Form) -> None:
    """Prints a named query of a plan's runs. Raises LockcrossError."""
    from results.text.terminal import console

    if query not in OF_A_PLAN:
        raise LockcrossError(
            f"--plan: goes with the queries {' and '.join(OF_A_PLAN)} alone; SQL has the runs of a "
            "sweep in the table series, by the name plan/NAME"
        )
    settings = groups(runs_of_plan(connection, plan))
    if not settings:
        raise LockcrossError(
            f"--plan: no run of plan {plan!r} has a cost per acquire-release pair; `lockcross "
            f"runs --plan {plan}` lists them"
        )
    answer = winner_rows(settings) if query == "winners" else cost_rows(settings)
    if form != Form.TABLE:
        print_rows(answer, form)
        return
    out = console(fold=False)
    print_compact(answer, out, _ALWAYS)
    out.print(compared_words(settings))


def print_figures_of_plan(connection: sqlite3.Connection, plan: str, folder: Path) -> None:
    """Draws the figures of a plan and prints their paths, and what they compare."""
    runs = runs_of_plan(connection, plan)
    for path in draw_plan(runs, plan_name(plan), folder).values():
        print(path)
    print(compared_words(groups(runs)))


def write_plan_page(connection: sqlite3.Connection, plan: str, output: Path) -> Path:
    """Draws the figures of a plan and writes its page into `output`; returns the page's path.
    Raises LockcrossError."""
    from sweeps.report import report

    runs, name = runs_of_plan(connection, plan), plan_name(plan)
    settings = groups(runs)
    if not settings:
        raise LockcrossError(f"no run of plan {name!r} has a cost per acquire-release pair")
    drawn = draw_plan(runs, name, output / "figures")
    failed = [(run.status, run.cause) for run in runs if run.status != "ok"]
    last = {(run.status, run.cause): run.id for run in runs}
    sources = report.sources(connection, *condition(connection, plan))
    page = (
        report.environment()
        .get_template("plan.html")
        .render(
            name=name,
            compared=compared_words(settings).splitlines(),
            tables=[
                ("winners", "The cheapest lock", *_apart(winner_rows(settings))),
                ("costs", "What every lock costs", *_apart(cost_rows(settings))),
            ],
            figures=[(title, embedded(path)) for title, path in drawn.items()],
            # By cause: how many, status, cause, the last one's id.
            failures=[(count, *why, last[why]) for why, count in Counter(failed).most_common()],
            provenance=[("Runs", [f"{len(runs):,}"]), *sources],
        )
    )
    return report.save(page, output / f"report_{name}.html")


def _apart(answer: Answer) -> tuple[str, list[str], list[list[str]]]:
    """What rows have in common, in words; the columns in which they differ; the rows of those."""
    kept, same = {}, []
    for name, column in zip(answer.columns, zip(*answer.rows, strict=True), strict=True):
        if set(column) <= {None, ""}:
            continue
        if name in _ALWAYS or len(set(column)) > 1:
            kept[name] = ["" if value is None else str(value) for value in column]
        else:
            same.append(f"{name}={column[0]}")
    return ", ".join(same), list(kept), [list(row) for row in zip(*kept.values(), strict=True)]


def draw_plan(runs: Sequence[PlanRun], name: str, folder: Path) -> dict[str, Path]:
    """Draws the costs of a plan's runs along each axis and key of numbers that differs; where none
    does, along another one, or by lock. Returns each figure's PNG by its title. Raises
    LockcrossError."""
    from results.draw.painter import write

    numbers, others = plan_costs.varied(runs)
    drawn = {}
    for axis in numbers or others[:1] or [plan_costs.LOCK]:
        by = plan_costs.LOCK if axis != plan_costs.LOCK else "machine"
        comparison = plan_costs.compare(runs, by, axis)
        title = f"Cost along {axis}"
        if len(comparison.panels) > MOST_PANELS:
            title += f", the first {MOST_PANELS} of {len(comparison.panels)} settings"
        file = f"{name}_{axis}".replace("/", "_")
        drawn[title] = write(file, title, lambda: draw_comparison(comparison), folder)  # noqa: B023
    return drawn


def draw_comparison(comparison: Comparison) -> "Figure":
    """The first panels of a comparison, MOST_PANELS at most. Locks look as in every figure, other
    things by their place."""
    from results.draw.painter import panels, sign
    from sweeps.report.style import Style, style_of

    shown, along = comparison.panels[:MOST_PANELS], comparison.along
    by_lock = comparison.by == plan_costs.LOCK
    looks: dict[Any, Style] = {}
    for place, name in enumerate(dict.fromkeys(name for panel in shown for name in panel.curves)):
        colour, line = _COLOURS[place % len(_COLOURS)], _LINES[place % len(_LINES)]
        marker = _MARKERS[place % len(_MARKERS)]
        other = Style(colour, "", line, marker)  # type: ignore[arg-type]
        looks[name] = style_of(LockLabel(str(name))) if by_lock else other
    figure, axes = panels(len(shown), 3, (4.6, 3.3), (0.6, 0.8))
    for ax, panel in zip(axes, shown, strict=False):
        ax.set_title(panel.title, fontsize=8)
        ax.set_xlabel(f"{along}, cycles" if along in LATENCIES else along)
        ax.set_ylabel("core cycles per acquire-release pair", fontsize=8)
        ax.grid(True)
        points = panel.points
        numbers = [x for x in points if isinstance(x, int)]
        scaled = len(numbers) == len(points)
        if scaled and numbers[0] > 0 and numbers[-1] > _STEEP * numbers[0]:
            ax.set_xscale("log")
        if not scaled:  # names, or the machine's own latency: each has a place
            ax.set_xticks(range(len(points)), [_own(x) for x in points], rotation=20, ha="right")
        for name, curve in panel.curves.items():
            own, bands = looks[name], list(curve.values())
            x = [
                point if scaled and isinstance(point, int) else points.index(point)
                for point in curve
            ]
            ax.plot(x, [band.median for band in bands], linewidth=1.5, **own.curve)
            low, high = [band.least for band in bands], [band.most for band in bands]
            ax.fill_between(x, low, high, color=own.colour, alpha=0.2, linewidth=0)
    handles = [
        sign(LockLabel(name).words() if by_lock else f"{comparison.by} {_own(name)}", **own.curve)
        for name, own in looks.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _own(value: object) -> str:
    return "the machine's own" if value is None else str(value)
