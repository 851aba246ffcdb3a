"""The results of a plan: who wins in each setting, the cost of every lock there, and the cost along
everything that it varies; as tables, as figures and as a page.

Only functions that draw import Matplotlib.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.draw.embedded import embedded
from results.errors import LockcrossError
from results.store.queries import OF_A_PLAN, Answer, condition, plan_name
from results.text.rows import Form, print_compact, print_rows
from sweeps.model import engines
from sweeps.model.axes import AXES, AXIS_WORDS, LATENCIES
from sweeps.model.cell import values
from sweeps.model.isa import ISAS
from sweeps.model.locks import labels_words
from sweeps.study.costs import (
    Comparison,
    Group,
    Panel,
    compare,
    groups,
    runs_of_plan,
    varied,
    wins_of,
)
from sweeps.study.leads import TIE_PERCENT, WORDS
from sweeps.study.runs import LOCK, StudyRun, Value
from sweeps.support.text import threads_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 12  # of a figure
_OF_LOCK = ("lock", "variant", "fence", "seed")  # axes that are no part of a setting
_ABOUT = ("machine", "isa", "workload", "threads")  # said above a figure, where all have the same
_ALWAYS = ("winner", "lock", "cycles_per_pair")


def winner_rows(settings: Sequence[Group]) -> Answer:
    """Return the winner in each setting, with full fences and with any kind where there are
    others."""
    names, places = _settings(settings)
    rows: list[tuple[Any, ...]] = []
    for group, place in zip(settings, places, strict=True):
        absent, work = ", ".join(group.absent), None if group.work is None else round(group.work, 2)
        compared = group.beside_work().costs
        for fences, win in group.contests():
            if win is None:
                (label,) = [known for known in compared if fences in ("any", known.fence)]
                alone = (label, round(group.costs[label].median, 2), work, "", None, None, "alone")
                rows.append((*place, fences, *alone, absent))
                continue
            cost = round(group.costs[win.lock].median, 2)
            lead = (win.runner_up, round(win.margin, 2), round(100 * win.lead, 2))
            rows.append((*place, fences, win.lock, cost, work, *lead, win.words, absent))
    columns = (
        "fences winner cycles_per_pair work_cycles next lead_cycles lead_percent verdict absent"
    )
    return Answer([*names, *columns.split()], rows)


def cost_rows(settings: Sequence[Group]) -> Answer:
    """Return the cost of every lock in each setting, cheapest first."""
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
    """Return the names of the axes and keys that are set in some settings, axes first; and each
    setting's values of them."""
    settings = [values(group.setting) for group in compared]
    names = dict.fromkeys(axis.name for axis in AXES)
    names |= dict.fromkeys(name for setting in settings for name in setting)
    known = [name for name in names if name not in _OF_LOCK]
    return known, [[setting.get(name) for name in known] for setting in settings]


def compared_words(settings: Iterable[Group]) -> str:
    """Return which locks and fence kinds some settings compare, and when two costs are a tie."""
    every = list(settings)
    labels = sorted({label for group in every for label in group.costs})
    words = (
        f"{labels_words(labels)}\nCost: cycles per acquire-release pair, the median of the seeds"
    )
    if any(group.work for group in every):
        words += ", of which `work_cycles` are the program's own"
    if any(group.work is None for group in every):
        words += (
            "; where `work_cycles` is empty, leads are of the time with the work around the lock"
        )
    return f"{words}. {WORDS}"


def print_of_plan(connection: sqlite3.Connection, query: str, plan: str, form: Form) -> None:
    """Print a named query of a plan's runs. Raises LockcrossError."""
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
    """Draw the figures of a plan and print their paths, and which locks they compare."""
    runs = runs_of_plan(connection, plan)
    for path in draw_plan(runs, plan_name(plan), folder).values():
        print(path)
    print(compared_words(groups(runs)))


def write_plan_page(connection: sqlite3.Connection, plan: str, output: Path) -> Path:
    """Draw the figures of a plan and write its page into `output`; return the page's path.
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


def _apart(answer: Answer) -> tuple[str, list[tuple[str, bool]], list[list[str]]]:
    """Return the values that rows have in common, in words; the columns in which they differ, and
    whether those have numbers; their rows."""
    kept, same = dict[tuple[str, bool], list[str]](), []
    for name, column in zip(answer.columns, zip(*answer.rows, strict=True), strict=True):
        if set(column) <= {None, ""}:
            continue
        if name in _ALWAYS or len(set(column)) > 1:
            kept[name, any(isinstance(value, int | float) for value in column)] = _texts(column)
        else:
            same.append(f"{name}={column[0]}")
    return ", ".join(same), list(kept), [list(row) for row in zip(*kept.values(), strict=True)]


def _texts(column: Sequence[object]) -> list[str]:
    """Return a column's values as they stand below each other: all with two digits behind the
    point, if one has any."""
    form = "{:.2f}" if any(isinstance(value, float) for value in column) else "{}"
    return [
        form.format(value) if isinstance(value, int | float) else str(value or "")
        for value in column
    ]


def draw_plan(runs: Sequence[StudyRun], name: str, folder: Path) -> dict[str, Path]:
    """Draw the costs of a plan's runs along each axis and key of numbers that differs; where none
    does, along another one, or by lock. Returns each figure's PNG by its title. Raises
    LockcrossError."""
    from results.draw.painter import write

    numbers, others = varied(runs)
    drawn = {}
    for axis in numbers or others[:1] or [LOCK]:
        by = LOCK if axis != LOCK else "machine"
        comparison = compare(runs, by, axis)
        title = f"Cost along {axis}"
        if len(comparison.panels) > MOST_PANELS:
            title += f", the first {MOST_PANELS} of {len(comparison.panels)} settings"
        file = f"{name}_{axis}".replace("/", "_")
        drawn[title] = write(file, title, lambda: draw_comparison(comparison), folder)  # noqa: B023
    return _draw_map(runs, numbers, name, folder) | drawn


def _draw_map(
    runs: Sequence[StudyRun], numbers: Sequence[str], name: str, folder: Path
) -> dict[str, Path]:
    """Draw the winner map over the first two things that differ, where the runs have one. Return
    its PNG by its title."""
    if len(numbers) < 2:
        return {}
    from results.draw.painter import write
    from sweeps.report.plan_map import draw_maps, maps

    across, up = numbers[:2]
    shown = maps(groups(runs), (across, up))[:MOST_PANELS]
    title, file = f"The cheapest lock, by {across} and {up}", f"{name}_map".replace("/", "_")
    return {title: write(file, title, lambda: draw_maps(shown), folder)} if shown else {}


def draw_comparison(comparison: Comparison) -> "Figure":
    """Draw the first panels of a comparison, MOST_PANELS at most. Locks look as in every figure,
    other things by their place."""
    from sweeps.report import lines
    from sweeps.report.style import style_at

    along, of_locks = comparison.along, comparison.by == LOCK
    words = AXIS_WORDS.get(along, along.replace("_", " ")) + " (cycles)" * (along in LATENCIES)
    unit = "cycles per acquire-release pair"
    shown = [
        lines.Lines(_words(panel.place), words, unit, panel, _ties(comparison, panel))
        for panel in comparison.panels[:MOST_PANELS]
    ]
    how = "Measured" if engines.entry(str(comparison.same.get("engine"))).silicon else "Simulated"
    about = f"{how}: {_words({name: x for name, x in comparison.same.items() if name in _ABOUT})}"
    if of_locks:
        about += "; grey: not told from the cheapest"
        return lines.draw(shown, lines.of_locks(shown), about)
    names = dict.fromkeys(name for one in shown for name in one.panel.curves)
    looks = {
        name: (_words({comparison.by: name}), style_at(place)) for place, name in enumerate(names)
    }
    return lines.draw(shown, looks, about)


def _words(setting: Mapping[str, Any]) -> str:
    """Return values by axis or key in words: numbers with their names, names by themselves."""
    words = []
    for name, value in setting.items():
        known = AXIS_WORDS.get(name, name.replace("_", " "))
        if name == "isa":
            words.append(ISAS[value].title if value in ISAS else str(value))
        elif isinstance(value, str):
            words.append(value)
        elif name == "threads":
            words.append(threads_words(value))
        elif value is not None:
            words.append(f"{known} {value}")
        elif name in LATENCIES:
            words.append(f"the machine's {known}")
    return ", ".join(words)


def _ties(comparison: Comparison, panel: Panel) -> dict[Value, tuple[float, float]]:
    """Return the least cost of a lock and the greatest that is not told from it, at each value of
    the axis."""
    ties = {}
    for x, win in wins_of(comparison, panel).items():
        work = panel.work.get(x) or 0.0
        tied = (panel.curves[label][x].median for label in win.tied)
        least = win.cost + work
        ties[x] = least, max(win.cost / (1 - TIE_PERCENT / 100) + work, *tied, least)
    return ties
