"""Real processors side by side: the cost of each lock on them as they are, with the fences that
runtimes use there, by one thread and by several that contend."""

import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from results.errors import NoDataError
from sweeps.accuracy.errors import error_of, kind_of, work_of
from sweeps.model.isa import isa_words
from sweeps.model.locks import FULL, LockLabel, load_locks
from sweeps.study.costs import Group, groups
from sweeps.study.leads import Rule
from sweeps.study.plan import PRODUCTION, Cells, Plan
from sweeps.study.results import StudyResults
from sweeps.study.runs import StudyRun
from sweeps.study.work import free_from, think
from sweeps.support.text import threads_words

KIND = "processors"  # of the series: processors/USE/MACHINE/ISA/FLAVOUR
WORK_WORDS = "1 thread with work between two sections"
WORK = "work"  # of those with work between two sections: work/MACHINE/ISA/FLAVOUR


def of_plan(plan: Plan) -> list[Cells]:
    """Return the cells of real processors: those of a use have its name."""
    return [cells for cells in plan.blocks.values() if cells.name.startswith(f"{KIND}/")]


def names(plan: Plan) -> list[LockLabel]:
    """Return how a plan names the locks on processors: with the kind of fence, unless it is that of
    production."""
    kinds = [
        (lock, FULL if kind == PRODUCTION else kind)
        for cells in of_plan(plan)
        for lock, kind in itertools.product(cells.given("lock"), cells.given("fence"))
    ]
    return list(dict.fromkeys(LockLabel.of(lock, fence=kind) for lock, kind in kinds))


@dataclass(frozen=True)
class Cost:
    """The cost of a lock, in cycles per pair. Eight of ten costs that were measured on silicon for
    such a prediction lay between `low` and `high`. `name`: how the study names it, the same on each
    processor; `label`: with the kind of fence that it has on this one."""

    name: LockLabel
    label: LockLabel
    cycles: float
    low: float
    high: float

    @property
    def ships_in(self) -> str:
        """Return the runtime that has it, without further remarks; nothing for a lock of a
        paper."""
        return load_locks()[self.label.lock].ships_in.partition(";")[0]

    @property
    def origin(self) -> str:
        """That runtime, or the paper."""
        return self.ships_in or load_locks()[self.label.lock].source.partition(",")[0]


@dataclass(frozen=True)
class Used:
    """The costs of all locks on a processor that is used in one way, in the order of the study.
    `cheapest`: first the least, then those that cannot be told from it, given the engine's error;
    and so `shipped`, of those alone that a runtime has."""

    threads: int
    contended: bool
    costs: tuple[Cost, ...]
    cheapest: tuple[Cost, ...]
    shipped: tuple[Cost, ...]

    @property
    def words(self) -> str:
        """Return how it is used."""
        one = threads_words(self.threads)
        if self.contended:
            return f"{one} that contend for one lock"
        return f"{one} in a loop that does nothing but lock"


@dataclass(frozen=True)
class Processor:
    """A processor as it is. `uses`: by name, in the order of the study. `work`: the costs of locks
    beside it, a group for each amount of work between two sections, the least first."""

    machine: str
    title: str
    isa: str  # in words, with the flavour
    uses: Mapping[str, Used]
    work: tuple[Group, ...] = ()

    @property
    def free(self) -> float | None:
        """Return from how many cycles of work on an atomic is free; None: not up to the most that
        was run."""
        return free_from(self.work)

    def curves(self) -> dict[LockLabel, list[tuple[int, float]]]:
        """Return the cost of each lock over the work, both in cycles, by its name."""
        found: dict[LockLabel, list[tuple[int, float]]] = {}
        for group in self.work:
            for label, cost in sorted(group.costs.items()):
                found.setdefault(label.with_full_fences, []).append((think(group), cost.median))
        return found


def processors(results: StudyResults) -> list[Processor]:
    """Return every processor that was run, in the order of the study: none where it has none.
    Raises NoDataError."""
    if not (of := of_plan(results.plan)):
        return []
    machines = [machine for cells in of for machine in cells.given("machine")]
    order = list(dict.fromkeys(cells.name.removeprefix(f"{KIND}/") for cells in of))
    uses: dict[tuple[str, str, str], dict[str, Used]] = {}
    described = {
        name: (title, "out_of_order" in json.loads(text))
        for name, title, text in results.connection.execute(
            "SELECT name, title, description FROM machines"
        )
    }
    for use, machine, isa, flavour in results.series_names(KIND):
        runs = results.series("/".join((KIND, use, machine, isa, flavour)))
        if runs:
            one = _used(runs, names(results.plan), *described[machine])
            uses.setdefault((machine, isa, flavour), {})[use] = one
    if not uses:
        raise NoDataError("no processor of the study was run")
    return [
        Processor(
            machine,
            described[machine][0],
            isa_words(results.isa(isa).title, flavour),
            {use: by_use[use] for use in order if use in by_use},
            _work(results.series("/".join((WORK, machine, isa, flavour)))),
        )
        for (machine, isa, flavour), by_use in sorted(
            uses.items(), key=lambda one: machines.index(one[0][0])
        )
    ]


def _work(runs: Sequence[StudyRun]) -> tuple[Group, ...]:
    return tuple(sorted((one.beside_work() for one in groups(runs)), key=think))


def work_summary(shown: Sequence[Processor]) -> str:
    """From which work between two sections on an atomic is free, over all processors, in a
    sentence; nothing where none was run with work."""
    free = {one.machine: one.free for one in shown if one.work}
    if not free:
        return ""
    known = {machine: cycles for machine, cycles in free.items() if cycles is not None}
    from_on = sorted(known, key=lambda machine: known[machine])
    parts = [f"{known[machine]:,.0f} on {machine}" for machine in from_on]
    if never := [machine for machine in free if machine not in known]:
        most = max(think(group) for one in shown for group in one.work)
        parts.append(f"not up to {most:,} on {', '.join(never)}")
    return f"{WORK_WORDS}: an atomic is free from so many cycles of it on: {', '.join(parts)}"


def summary(shown: Sequence[Processor], use: str) -> str:
    """Who is the cheapest in a way of using locks, over all processors, in a sentence."""
    used = [processor.uses[use] for processor in shown if use in processor.uses]
    costs = [one.cheapest[0].cycles for one in used]
    ends = dict.fromkeys(f"{end:,.0f}" for end in (min(costs), max(costs)))
    first = [one.cheapest[0].name for one in used]
    shipped = [one.shipped[0].name for one in used if one.shipped]
    words = f"{used[0].words}: {_counted(first)} ({' to '.join(ends)} cycles a pair)"
    return f"{words}; of the locks that runtimes ship, {_counted(shipped)}" if shipped else words


def _counted(names: Sequence[LockLabel]) -> str:
    """Return how often each lock is the cheapest, the most frequent first."""
    often = Counter(names).most_common()
    parts = [f"{name.words()} on {count}" for name, count in often]
    return f"{', '.join(parts)} of {len(names)} processors"


def _used(
    runs: Sequence[StudyRun], names: Sequence[LockLabel], title: str, out_of_order: bool
) -> Used:
    cell = runs[0].cell
    work = work_of(cell.workload, cell.threads)
    if work is None:
        raise NoDataError(f"nothing is known of the engine's error at workload {cell.workload}")

    rule = Rule.of(cell)

    def one(run: StudyRun) -> Cost:
        label = run.label
        of = error_of(out_of_order, work, {kind_of(label)}, title=title)
        name = label if label in names else label.with_full_fences
        return Cost(name, label, run.cost, run.cost * of.low, run.cost * of.high)

    def cheapest(costs: Collection[Cost]) -> Iterator[Cost]:
        if not costs:
            return
        first, *others = sorted(costs, key=lambda one: one.cycles)
        yield first
        if others:
            tied = rule.winner({one.label: one.cycles for one in costs}).tied
            yield from (one for one in others if one.label in tied)

    costs = tuple(sorted(map(one, runs), key=lambda cost: names.index(cost.name)))
    return Used(
        cell.threads,
        cell.threads > 1,
        costs,
        tuple(cheapest(costs)),
        tuple(cheapest([one for one in costs if one.ships_in])),
    )
