"""The answer in words: who wins where, by how much, and where that changes."""

import sqlite3
from dataclasses import dataclass

from results.analysis.study import (
    FoundCrossover,
    Isa,
    Scale,
    crossovers,
    fact,
    isa,
    marks,
    measured,
    series,
    series_names,
)
from results.analysis.winners import Win, winner
from results.model.label import FULL, LockLabel

AXES = {
    "cas": "CAS latency",
    "fence_latency": "full-fence latency",
    "cancel": "cost of a cancellation",
    "owner_share": "owner's share",
    "run_length": "run length",
    "threads": "threads",
}
_LATENCIES = ("cas", "fence_latency")


@dataclass(frozen=True)
class Row:
    """One machine in one flavour, as it is: measured latencies (cycles) and the cost of every
    lock (cycles per pair), cheapest first. `full` is the contest with full fences, `any_fence`
    the one with every kind, or None where there is no other."""

    machine: str
    title: str
    isa: Isa
    flavour: str
    cas: float
    fence: float
    assumed: bool
    costs: dict[LockLabel, float]
    full: Win
    any_fence: Win | None
    aside: tuple[LockLabel, ...]  # labels shown but not compared

    def sentence(self) -> str:
        """The winner of this row in words."""
        basis = ", partly assumed" if self.assumed else ""
        text = (
            f"On {self.isa.title} ({self.machine}, {self.flavour}{basis}) with measured CAS "
            f"{self.cas:.0f} and {self.isa.full_fence} {self.fence:.0f} cycles, "
            f"{_victory(self.full, self.costs)}."
        )
        if self.any_fence is not None:
            text += f" With any kind of fence, {_victory(self.any_fence, self.costs)}."
        for label in self.aside:
            text += f" Not compared: {label.words()}, {self.costs[label]:.1f}."
        return text


def _victory(win: Win, costs: dict[LockLabel, float]) -> str:
    cost = costs[win.lock]
    if win.margin == 0:
        return f"{win.lock.words()} and {win.runner_up.words()} tie at {cost:.1f} cycles a pair"
    share = 100 * win.margin / costs[win.runner_up]
    return (
        f"{win.lock.words()} wins: {cost:.1f} cycles a pair, {win.margin:.2f} ({share:.1f} %) less "
        f"than {win.runner_up.words()}"
    )


def rows(connection: sqlite3.Connection) -> list[Row]:
    """The winner table: the study's machine first, then the real ones. Raises NoDataError."""
    plan = fact(connection, "plan")
    found = []
    for machine, isa_name, flavour in series_names(connection, "table"):
        runs = series(connection, f"table/{machine}/{isa_name}/{flavour}")
        costs = dict(sorted(((r.label, r.cost) for r in runs), key=lambda pair: pair[1]))
        compared = {k: v for k, v in costs.items() if k.lock in plan["locks"]}
        full = {label: cost for label, cost in compared.items() if label.fence == FULL}
        known = {mark.machine: mark for mark in marks(connection, isa_name, flavour, "")}
        if machine not in known or len(full) < 2:
            continue  # not calibrated, or nothing to compare
        place = known[machine]
        found.append(
            Row(
                machine, place.title, isa(connection, isa_name), flavour, place.cas, place.fence,
                # The study's own machine is neutral by intent, not for want of a figure.
                place.assumed and machine != plan["machine"], costs, winner(full),
                winner(compared) if len(compared) > len(full) else None,
                tuple(label for label in costs if label not in compared),
            )
        )  # fmt: skip
    return sorted(found, key=lambda row: row.machine != plan["machine"])


@dataclass(frozen=True)
class CrossoverSentence:
    """A crossover in words. `bracket` is in set values, `value` as measured on latency axes."""

    isa: Isa
    flavour: str
    axis: str
    unit: str
    setting: str
    pair: tuple[LockLabel, LockLabel]
    words: str
    value: float | None
    bracket: str
    tolerance: int
    id: int


def lines(connection: sqlite3.Connection, kind: str) -> list[CrossoverSentence]:
    """The crossovers of the series of a kind (`axis`, `run_length`, `map`) in words."""
    machine = str(fact(connection, "plan")["machine"])
    flavours: list[str] = fact(connection, "plan")["flavours"]
    found = [_line(connection, machine, one) for one in crossovers(connection, kind)]
    axes = list(AXES)
    # A flavour that an earlier plan had comes last.
    order = {flavour: number for number, flavour in enumerate(flavours)}
    return sorted(
        found,
        key=lambda line: (order.get(line.flavour, len(order)), axes.index(line.axis), line.id),
    )


def _line(connection: sqlite3.Connection, machine: str, one: FoundCrossover) -> CrossoverSentence:
    scale = None
    if one.axis in _LATENCIES:
        scale = measured(connection, machine, one.isa, one.flavour, one.axis)
    value = _shown(one, one.value, scale) if one.value is not None else None
    bracket = f"{one.bracket_low:,} to {one.bracket_high:,}" if one.value is not None else ""
    fixed = [k for k in (*_LATENCIES, "cancel") if k in one.setting and k != one.axis]
    held = [f"{AXES[k]} set to {one.setting[k]:,}" for k in fixed]
    if one.series.startswith("run_length/"):  # a workload of its own
        held.insert(0, f"owner's share {one.setting['owner_share'] / 10_000:g} %")
    setting = ", ".join(held)
    return CrossoverSentence(
        isa(connection, one.isa), one.flavour, one.axis, one.unit, setting,
        (one.lock_a, one.lock_b), _words(one, value, scale), value, bracket, one.tolerance, one.id,
    )  # fmt: skip


def _shown(one: FoundCrossover, value: float, scale: Scale | None) -> float:
    return scale(value) if scale is not None else value / (10_000 if one.unit == "ppm" else 1)


def _words(one: FoundCrossover, value: float | None, scale: Scale | None) -> str:
    unit = {"ppm": "%", "threads": "threads"}.get(one.unit, one.unit)
    if value is None:
        low, high = (_shown(one, end, scale) for end in (one.low, one.high))
        reach = f"everywhere from {low:,.0f} to {high:,.0f} {unit}"
        if one.verdict == "tie":
            return f"{one.lock_a.words()} and {one.lock_b.words()} cost the same {reach}"
        loser = one.lock_b if one.below == one.lock_a else one.lock_a
        return f"{one.below.words()} beats {loser.words()} {reach}"
    above = one.lock_b if one.below == one.lock_a else one.lock_a
    digits = 0 if value >= 1000 else 1
    # Of the two alone: a third lock may be cheaper than both.
    return (
        f"{above.words()} beats {one.below.words()} above {value:,.{digits}f} {unit} and loses "
        "to it below"
    )
