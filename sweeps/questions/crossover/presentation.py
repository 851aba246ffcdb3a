"""The main job on the page, among the figures and in the terminal."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from rich.table import Table

from results.draw.drawing import Drawing
from results.store.database import file_of
from results.text.terminal import console, say
from sweeps.model import engines
from sweeps.model.axes import AXIS_WORDS
from sweeps.model.isa import isa_words
from sweeps.model.locks import LockLabel
from sweeps.questions.crossover import sentences, winners
from sweeps.questions.crossover.processors import (
    WORK_WORDS,
    Processor,
    names,
    of_plan,
    processors,
    summary,
    work_summary,
)
from sweeps.report.grids import map_marks
from sweeps.report.presentation import OF_STUDIES, Part, Presentation, References, Section
from sweeps.study.leads import WORDS
from sweeps.study.plan import MAP
from sweeps.study.results import PLAN, StudyResults

STUDY = "study"  # the figures' section
MORE = f"{STUDY}/more"  # of those that the page folds
_KINDS = {  # of series with crossovers, as the page calls them
    "axis": "By axis",
    "run_length": "Run length that pays for a cancellation",
    "map": "Borders of the winner map",
}
_SHOWN_AXES = ("cas_latency", "fence_latency", "cancel_latency")  # in the terminal


def figures(connection: sqlite3.Connection, others: References) -> Iterator[Drawing]:
    """Yield real processors side by side, the winner map and the rounds; then the folded figures:
    run lengths, and those of machines beside the study's, named after the machine. Beside them the
    borders of several studies."""
    plan, own = PLAN.optional(connection), file_of(connection)
    machines = plan.machines if plan else []
    if plan and of_plan(plan):
        yield Drawing(
            "processors",
            STUDY,
            "What a lock costs on real processors",
            f"{__package__}.processors_figure.draw_processors",
            own,
            "Simulated cycles of an acquire-release pair, a bar for each lock, a column for each "
            "processor as it is, with the fences that runtimes use there: above one thread in a "
            "loop that does nothing but lock, below several that contend for one lock. Between "
            "them, curves over the work that one thread does between two sections: what some of "
            "the locks cost beside it, and from where on an atomic is free. Whiskers: where eight "
            "of ten costs lay that were measured on silicon (Zen 4, Redwood Cove) for such "
            "predictions. Locks with bold names are those of runtimes, the others of papers. Bold "
            "numbers: the cheapest lock, and those that the engine cannot tell from it.",
            said=True,
        )
    decided = plan is not None and bool(StudyResults(connection).series_names("cancel_map"))
    if decided:
        yield Drawing(
            "decision_map",
            STUDY,
            "Who wins, by the two latencies that decide",
            "sweeps.report.winner_map.draw_decisions",
            own,
            "The lock with the fewest cycles per acquire-release pair, for each instruction set. "
            "Where production's fence is a locked operation, as on x86-64, CAS and fence are one "
            "latency: the map is over that and the cost of a cancellation, and the processors of "
            "the table stand where theirs are (a star: partly assumed). Elsewhere it is over CAS "
            "and full fence, a map for each cost of a cancellation of a processor, as follows "
            "from the runs of the winner map: a cycle more for stopping an owner is one more for "
            "each stop. Where the map is lighter, the lead over the next lock is a tie. On the "
            "toothed side of the pink line the thin lock would be cheaper still.",
            said=True,
        )
    for name, title, draw, text in (
        (
            "winner_map",
            "Who wins, by the latency of a CAS and of a full fence",
            "sweeps.report.winner_map.draw_map",
            "Winner map for each instruction set over observed CAS latency (horizontal) and "
            "observed full-fence latency (vertical): the lock with the fewest cycles per "
            "acquire-release pair. Black lines join the crossovers that were searched for "
            "(dots). Between the points that were run costs are "
            "interpolated. Where the map is lighter, the lead over the next lock is a tie. On the "
            "toothed side of the pink line the thin lock would be cheaper still. Marks, on the map "
            "of the study's own machine, are places: the CAS and fence of a real processor whose "
            "own cancellation costs what the map's does, a star where a latency is assumed.",
        ),
        (
            "run_length",
            "What pays for a cancellation: cost against run length",
            f"{__package__}.curves.draw_run_length",
            "Cycles per acquire-release pair against the number of acquisitions by the owner "
            "before another thread takes the lock as often, for tasuki, asymmetric and reservation "
            "locks at several cancellation costs. Marks show the break-even run lengths, black "
            "bars their band over all seeds where that is wider than a mark.",
        ),
    ):
        for place, machine in enumerate(machines):
            yield Drawing(
                f"{name}_{machine}" if place else name,
                STUDY if name == "winner_map" and not (place or decided) else MORE,
                f"{title}: machine {machine}" if len(machines) > 1 else title,
                draw,
                own,
                text,
                machine,
                said=True,
                paged=not place,
            )
    if plan and plan.production:
        yield Drawing(
            "locked_operation",
            MORE,
            "x86-64: the cost of each lock, by the latency of a locked operation",
            f"{__package__}.curves.draw_locked_operation",
            own,
            "Cycles per acquire-release pair over the observed latency of a locked operation, as "
            "CAS and fence both are there: a line for each lock, its fence a locked RMW; dashed: "
            "a locked addition. Where tasuki pays a CAS and a fence the asymmetric lock pays two "
            "fences, so it has nothing to gain. Thin pays one of them, reservation's owner none.",
            plan.machine,
            said=True,
        )
    yield Drawing(
        "rounds",
        STUDY,
        "Two threads in turns of three rounds (thesis, Figure 6.15)",
        f"{__package__}.curves.draw_rounds",
        own,
        "Time of each round relative to the first round of the tasuki lock, logarithmic scale, a "
        "panel for each kind of fence. The reservation lock's fourth round, in which the second "
        "thread cancels every reservation, stands far above all others.",
        said=plan is not None,
    )
    if plan and others.studies:
        yield Drawing(
            OF_STUDIES,
            MORE,
            "Where the cheapest lock changes, by engine",
            "sweeps.report.winner_map.draw_engines",
            {title: file_of(other) for title, other in others.studies.items()},
            "The borders of the winner map on several engines, drawn over one another, each over "
            "the latencies that programs observe on that engine.",
            beside=True,
        )


def part(
    connection: sqlite3.Connection, others: References, drawn: Collection[Drawing]
) -> Part | None:
    """Return the question in the page's head, the figures, the answer and its basis."""
    plan = PLAN.optional(connection)
    if plan is None:
        return None
    results = StudyResults(connection)
    rows = winners.rows(results)
    lines = {kind: sentences.lines(results, kind) for kind in _KINDS}
    crossed = [(title, lines[kind]) for kind, title in _KINDS.items() if lines[kind]]
    costs = winners.cost_table(rows, plan.locks)
    # The real processors that the study's map speaks of, and the others, each once, in words.
    compared, (workload, *_) = processors(results), plan.named(MAP)
    latencies = [
        line
        for line in lines["axis"]
        if line.of.axis in _SHOWN_AXES and line.of.machine == plan.machine
    ]
    maps = results.series_names("map", plan.machine)
    marks = [map_marks(results, plan.machine, *parts) for parts in maps]
    study: dict[str, Any] = {
        "plan": plan,
        "marked": not engines.entry(plan.engine).own_costs,
        "workload": {
            name: workload.first(name)
            for name in ("threads", "objects", "runs", "run_length", "owner_share")
        },
        "map": {
            "cancel": next((of_map.cancel for of_map in marks), None),
            "here": list(dict.fromkeys(mark.machine for of_map in marks for mark in of_map.here)),
            "apart": list(dict.fromkeys(mark.words for of_map in marks for mark in of_map.apart)),
        },
        "engine": engines.title(plan.engine),
        "processors": compared,
        "names": names(plan),
        "uses": {use: used.words for one in compared for use, used in one.uses.items()},
        "summaries": _summaries(compared),
        "worked": [one for one in compared if one.work],
        "work_words": WORK_WORDS,
        "changes": sentences.axis_tables(sentences.with_production(latencies, plan.production)),
        "locks": ", ".join(LockLabel(label).words() for label in plan.locks),
        "aside": ", ".join(LockLabel(label).words() for label in plan.aside),
        "machines": " and ".join(plan.machines),
        "ties": WORDS,
        "seeds": sentences.seeds_words([line for some in lines.values() for line in some]),
        "costs": costs,
        "any_fence": any(len(row.contests) > 1 for row in rows),
        "assumed": any(row.assumed for row in rows),
        "axes": sentences.axis_tables(lines["axis"]),
        "run_lengths": sentences.axis_tables(lines["run_length"]),
        "borders": sentences.axis_tables(lines["map"]),
        "crossovers": crossed,
    }
    sections = {
        Section("answer", "The answer", top=True): compared or costs.machines or crossed,
        Section("figures", "Figures"): any(one.section in (STUDY, MORE) for one in drawn),
        Section("crossovers", "Every crossover and its bracket", folded=True): crossed,
    }
    return Part(
        [section for section, there in sections.items() if there],
        {"study": study, "apart": others.apart, "axes": AXIS_WORDS},
        title=plan.title,
        head="question.html",
    )


def _summaries(compared: Sequence[Processor]) -> list[str]:
    """Return a sentence for each way of using locks, the one with work behind the first."""
    words = [
        summary(compared, use) for use in dict.fromkeys(u for one in compared for u in one.uses)
    ]
    words.insert(1, work_summary(compared))
    return [one for one in words if one]


def present(connection: sqlite3.Connection) -> None:
    """Print who is the cheapest on real processors, the winner table and the crossovers along
    latencies."""
    plan = PLAN.optional(connection)
    if plan is None:
        return
    results = StudyResults(connection)
    for words in _summaries(processors(results)):
        say(f"{words}.\n")
    rows = winners.rows(results)
    aside = ", ".join(plan.aside)
    table = Table(
        "machine",
        "ISA",
        "CAS",
        "fence",
        "fences",
        "cheapest",
        *([f"without {aside}"] if aside else []),
        title="Cheapest lock by cycles per acquire-release pair (observed latencies in cycles)",
        box=None,
    )
    for row in rows:
        isa, cas = isa_words(row.isa.title, row.flavour), f"{row.cas:.0f}"
        place = [row.machine + "*" * row.assumed, isa, cas, f"{row.fence:.0f}"]
        for fences, contest in row.contests.items():
            wins = contest if aside else [contest.overall]
            table.add_row(*place, row.fences_words(fences), *map(winners.win_words, wins))
            place = [""] * len(place)
    table.caption = "\n".join(
        [
            f"in brackets: the lead over the next lock. {WORDS}",
            "* CAS or fence latency assumed",
            *(f"{lock}: {limit}" for lock, limit in plan.limits.items()),
        ]
    )
    console(fold=False).print(table)
    lines = [line for line in sentences.lines(results, "axis") if line.of.axis in _SHOWN_AXES]
    if not lines:
        return
    print()
    for of_kind in (lines, sentences.lines(results, "run_length")):
        for by_axis in sentences.axis_tables(of_kind, by_machine=True):
            unit = f" ({by_axis.unit})" if by_axis.unit else ""
            held = ["held at"] if by_axis.has_held else []
            table = Table(f"{by_axis.axis}{unit}", "ISA", *held, *by_axis.columns, box=None)
            for pair in by_axis.rows:
                table.add_row(pair.pair, pair.group, *([pair.held] if held else []), *pair.cells)
            console(fold=False).print(table)
    say(
        "Where the named lock begins to beat the other of the two (a third may be cheaper than "
        f"both); {sentences.seeds_words(lines)}."
    )


PRESENTATION = Presentation(part, figures, present)
