"""The winner table of a study: the cost of each lock on each machine, and the cheapest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sweeps.model import engines
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel
from sweeps.study.leads import Rule, Win
from sweeps.study.plan import Plan
from sweeps.study.results import Isa, StudyResults


class Contest(NamedTuple):
    """The winner among all locks, and among those that the study compares: without those that
    cannot replace them, which the plan names with their limits."""

    overall: Win
    compared: Win


@dataclass(frozen=True)
class WinnerRow:
    """One machine in one flavour, as it is: measured latencies (cycles) and the cost of every
    lock (cycles per pair), cheapest first. `contests`: that with the fences of production
    ("production", of which `production` is the kind), where they are not the full ones; that with
    full fences alone ("full"), and that with every kind ("any"), if there is another."""

    machine: str
    title: str
    isa: Isa
    flavour: str
    cas: float
    fence: float
    assumed: bool
    costs: dict[LockLabel, float]
    contests: dict[str, Contest]
    production: str = FULL

    def fences_words(self, contest: str) -> str:
        """Return the fences of a contest in words."""
        return FENCE_KINDS[self.production] if contest == "production" else contest

    @property
    def cheapest(self) -> LockLabel:
        """Return the cheapest lock of all."""
        return next(iter(self.costs))


def rows(results: StudyResults) -> list[WinnerRow]:
    """Return the winner table: the study's machines first, then the real ones, if the engine has
    their latencies. Raises NoDataError."""
    plan, table = results.plan, []
    for machine, isa_name, flavour in results.series_names("table"):
        of_study = machine in plan.machines
        runs = results.series(f"table/{machine}/{isa_name}/{flavour}")
        costs = {run.label: run.cost for run in sorted(runs, key=lambda run: run.cost)}
        marks = {mark.machine: mark for mark in results.marks(isa_name, flavour)}
        compared = [label for label in costs if label.fence == FULL and label.lock in plan.locks]
        if machine not in marks or len(compared) < 2:
            continue  # not calibrated, or nothing to compare
        if engines.entry(plan.engine).own_costs and not of_study:
            continue
        mark = marks[machine]
        table.append(
            WinnerRow(
                machine,
                mark.title,
                results.isa(isa_name),
                flavour,
                mark.cas,
                mark.fence,
                # The study's own machines are neutral by intent, not for want of a figure.
                mark.assumed and not of_study,
                costs,
                _contests(plan, Rule.of(runs[0].cell, plan.tie), costs, flavour),
                plan.production.get(flavour, FULL),
            )
        )
    order = {machine: number for number, machine in enumerate(plan.machines)}
    return sorted(table, key=lambda row: order.get(row.machine, len(order)))


def _contests(
    plan: Plan, rule: Rule, costs: Mapping[LockLabel, float], flavour: str
) -> dict[str, Contest]:
    """Return the contests of a row."""
    kind = plan.production.get(flavour, FULL)
    with_kind = {label.lock for label in costs if label.fence == kind}
    in_production = {
        label: cost
        for label, cost in costs.items()
        if label.fence == (kind if label.lock in with_kind else FULL)
    }
    full = {label: cost for label, cost in costs.items() if label.fence == FULL}
    by_fences = {"production": in_production} if kind != FULL else {}
    by_fences["full"] = full
    if len(full) < len(costs):
        by_fences["any"] = dict(costs)
    return {
        fences: Contest(
            rule.winner(contenders),
            rule.winner({label: x for label, x in contenders.items() if label.lock in plan.locks}),
        )
        for fences, contenders in by_fences.items()
    }


@dataclass(frozen=True)
class CostTable:
    """Cycles per pair: one column per lock label, one group of rows per machine, with one row for
    each flavour of it."""

    labels: tuple[LockLabel, ...]
    machines: tuple[tuple[WinnerRow, ...], ...]

    @property
    def heads(self) -> list[tuple[str, list[str]]]:
        """Return the labels in words, as headings of two lines: each lock, and its fence kinds."""
        kinds: dict[str, list[str]] = {}
        for label in self.labels:
            lock = label.with_full_fences.words()
            kinds.setdefault(lock, []).append(FENCE_KINDS.get(label.fence, label.fence))
        return list(kinds.items())


def cost_table(rows: Sequence[WinnerRow], locks: Sequence[str]) -> CostTable:
    """Return the costs of the winner table. Labels come in the order of `locks`, the study's, each
    with full fences first."""
    # A label with full fences is the beginning of the others, so it comes before them.
    labels = sorted({label for row in rows for label in row.costs})
    labels.sort(key=lambda label: locks.index(label.lock) if label.lock in locks else len(locks))
    machines: dict[str, list[WinnerRow]] = {}
    for row in rows:
        machines.setdefault(row.machine, []).append(row)
    return CostTable(tuple(labels), tuple(map(tuple, machines.values())))


def win_words(win: Win) -> str:
    """Return a winner with its cost and its lead, or with the locks that it ties with."""
    lead = f"{100 * win.lead:.1f} %"
    if win.tied:
        return f"{win.lock.words()} {win.cost:.1f}, {win.words} ({lead})"
    return f"{win.lock.words()} {win.cost:.1f} ({lead} less than {win.runner_up.words()})"
