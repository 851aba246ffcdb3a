"""Questions of runtime engineers: how each is written down, run and answered.

A question is a plan (sweeps/plans/runtimes/NAME.toml) that also says who asked, which words stand
for which part of the plan, and how the answer is worded. Every number and name of a lock's rank in
the answer is filled in from the runs.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2

from results.errors import LockcrossError
from sweeps.model.cell import Cell, cell_of, values
from sweeps.model.locks import LockLabel, load_locks
from sweeps.model.machine import STOPS, load_machine
from sweeps.plans import RUNTIMES
from sweeps.study.costs import Band, Group, groups, order, runs_of_plan
from sweeps.study.leads import Lead, Rule, Win
from sweeps.study.plan import LoadedPlan, load_plan
from sweeps.study.runs import Value
from sweeps.study.work import THINK, below_from, free_from

if TYPE_CHECKING:
    from results.store.store import Store
    from sweeps.run.runner import Runner

_SHOWN_PLACES = 4  # settings that a sentence names
_FURTHER = 100  # times the greatest value that was run: so far a straight line is followed
OWNER = "owner"  # a setting: the state of the owner that a cancellation stops
OWNERS = tuple(name.removeprefix("stop_") for name in reversed(STOPS))
VALUE, LOW, HIGH = "value", "low", "high"  # of what stopping an owner costs


def load(name: str) -> LoadedPlan:
    """Read a question by its name or its path. Raises LockcrossError (exit code 2) that names file,
    key and value."""

    def check(asked: LoadedPlan) -> None:
        question, known = asked.plan, [*values(asked.cells[0]), OWNER]
        if not question.asked:
            raise ValueError("asked: missing")
        if unknown := [name for name in question.settings if name not in known]:
            raise ValueError(f"settings: {unknown[0]!r} is unknown; known are {', '.join(known)}")
        try:
            jinja2.Environment(autoescape=False).parse(question.answer)
        except jinja2.TemplateError as error:
            raise ValueError(f"answer: {error}") from None

    return load_plan(name, RUNTIMES, check)


def stored_name(asked: LoadedPlan) -> str:
    """Return the name of a question's plan in the database."""
    return f"runtimes-{asked.name}"


def run(asked: LoadedPlan, runner: "Runner", store: "Store") -> None:
    """Run the cells that the database does not have, and mark them as the question's."""
    from results.store.queries import PREFIX

    runs = runner.run(asked.cells, stored_name(asked))
    store.set_series(f"{PREFIX}{stored_name(asked)}", (run.id for run in runs))


@dataclass(frozen=True)
class Compared:
    """One lock beside another: by how many ns a pair it costs less, and more, by place; where the
    two are in a tie; and of which leads it is known that they are reliable."""

    less: dict[str, float]
    more: dict[str, float]
    tied: list[str]
    reliable: set[str]

    @property
    def places(self) -> int:
        """Return how many settings have runs of both."""
        return len(self.less) + len(self.more) + len(self.tied)

    def add(self, place: str, mine: float, theirs: float, lead: Lead) -> None:
        """Take in the cost of both in a place, and the lead of the cheaper."""
        if lead.is_tie:
            self.tied.append(place)
            return
        (self.less if mine < theirs else self.more)[place] = abs(theirs - mine)
        if lead.right is not None:
            self.reliable.add(place)


class _Stopped(NamedTuple):
    """A setting with owners in one state, at one end of the cost of stopping them; for a question
    that does not ask for owners' states there is neither."""

    group: Group
    owner: str = ""
    end: str = VALUE


def _by_owner(every: Sequence[Group]) -> Iterator[_Stopped]:
    """Yield the settings with owners in each state. A lock's cost lies on straight lines
    between its runs with several costs of a cancellation: the charge is added for each, and from
    1,000 cycles on two threads that stop each other no longer wait for each other besides."""
    settings: dict[tuple[tuple[str, Value], ...], list[Group]] = {}
    for group in every:
        key = values(cell_of(group.setting, cancel_latency=None))
        settings.setdefault(tuple(key.items()), []).append(group)
    for some in settings.values():
        setting = cell_of(some[0].setting, cancel_latency=None)
        for owner in OWNERS:
            figure = load_machine(setting.machine).charges.figure(f"stop_{owner}")
            ends = zip((VALUE, LOW, HIGH), (figure.number, *figure.interval), strict=True)
            for end, cycles in ends:
                yield _Stopped(_at(setting, some, cycles), owner, end)


def _at(setting: Cell, some: Sequence[Group], cycles: int) -> Group:
    """Return a setting where a cancellation costs so many cycles, from its runs at others."""
    points: dict[LockLabel, dict[int | None, Band]] = {}
    for group in some:
        for label, band in group.costs.items():
            points.setdefault(label, {})[group.setting.cancel_latency] = band
    costs = {
        label: known[None] if None in known else _on_line(known, cycles)
        for label, known in points.items()
    }
    ordered = dict(sorted(costs.items(), key=lambda pair: (pair[1].median, pair[0])))
    return Group(setting, ordered, ())


def _on_line(known: Mapping[int | None, Band], cycles: int) -> Band:
    xs = sorted(x for x in known if x is not None)
    behind = min(max(bisect_left(xs, cycles), 1), len(xs) - 1)
    least, most = xs[behind - 1], xs[behind]
    one, other = known[least], known[most]
    part = (cycles - least) / (most - least)

    def between(a: float, b: float) -> float:
        return a + part * (b - a)

    return replace(
        one,
        median=between(one.median, other.median),
        least=between(one.least, other.least),
        most=between(one.most, other.most),
    )


class Answered:
    """A question with the costs that its runs had, in ns a pair. Raises LockcrossError where the
    database has none of them."""

    def __init__(self, asked: LoadedPlan, connection: sqlite3.Connection) -> None:
        self.asked, self.question = asked, asked.plan
        found = [one.beside_work() for one in groups(runs_of_plan(connection, stored_name(asked)))]
        every = _by_owner(found) if OWNER in asked.plan.settings else map(_Stopped, found)
        self._every = sorted(
            every, key=lambda one: [order(value) for value in self._setting(one).values()]
        )
        self._stopped = [one for one in self._every if one.end == VALUE]
        self._groups = [one.group for one in self._stopped]
        self.places = [_words(self._setting(one)) for one in self._stopped]
        several = {
            label.with_full_fences
            for group in self._groups
            for label in group.costs
            if sum(label.with_full_fences == other.with_full_fences for other in group.costs) > 1
        }
        names = {
            label if label.with_full_fences in several else label.with_full_fences
            for group in self._groups
            for label in group.costs
        }
        # Of each lock, with its kind of fence where a setting has more than one: cheapest first.
        self.labels = sorted(names, key=lambda name: (fmean(self._known(name)), name))

    def _known(self, name: str) -> list[float]:
        costs = (self._cost(group, _label(group, name)) for group in self._groups)
        return [cost for cost in costs if cost is not None]

    def _setting(self, one: _Stopped) -> dict[str, Value]:
        """Return the values that tell a setting from the others."""
        every = values(one.group.setting) | {OWNER: one.owner}
        return {name: every[name] for name in self.question.settings}

    @staticmethod
    def _cost(group: Group, label: LockLabel | None) -> float | None:
        """ns a pair; None where the lock did not run."""
        if label is None or label not in group.costs:
            return None
        return _ns(group, group.costs[label].median)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per setting: its distinguishing values, then the cost of each lock, by its
        label; None where it did not run."""
        return [
            self._setting(one)
            | {label: self._cost(one.group, _label(one.group, label)) for label in self.labels}
            for one in self._stopped
        ]

    def ships(self) -> dict[str, str]:
        """Return which runtimes ship which of the locks, in whichever variant."""
        shipped = {label.lock: load_locks()[label.lock].ships_in for label in self.labels}
        return {lock: runtimes for lock, runtimes in shipped.items() if runtimes}

    def answer(self) -> str:
        """Return the answer in words. Raises LockcrossError for a template that asks for a missing
        value."""
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
        words = {
            "less": self.less,
            "beside": self.beside,
            "cheapest": self.cheapest,
            "cost": self.cost,
            "pays": self.pays,
            "thresholds": self.thresholds,
            "free": self.free_words,
        }
        try:
            return environment.from_string(self.question.answer).render(words).strip()
        except jinja2.TemplateError as error:
            raise LockcrossError(f"{self.asked.name}: answer: {error}") from None

    def cost(self, lock: str) -> str:
        """Say from which to which cost a lock goes, over all settings."""
        if not (known := self._known(lock)):
            raise LockcrossError(f"{self.asked.name}: no setting has runs of {lock}")
        return span(known)

    def _where(
        self, where: Mapping[str, Value], end: str = VALUE
    ) -> list[tuple[dict[str, Value], Group]]:
        """Return the settings that have these values, with the other distinguishing values of each,
        at an end of the cost of stopping an owner."""
        every = [(self._setting(one), one.group) for one in self._every if one.end == end]
        return [
            ({name: value for name, value in setting.items() if name not in where}, group)
            for setting, group in every
            if where.items() <= setting.items()
        ]

    def compared(self, lock: str, other: str, **where: Value) -> Compared:
        """Compare one lock with another in the settings that have these values. Raises
        LockcrossError where no setting has runs of both."""
        compared = Compared({}, {}, [], set())
        for setting, group in self._where(where):
            place = _words(setting)
            one, two = _label(group, lock), _label(group, other)
            mine, theirs = self._cost(group, one), self._cost(group, two)
            if one is None or two is None or mine is None or theirs is None:
                continue
            costs = {one: mine, two: theirs}
            seeds = {
                label: (_ns(group, low), _ns(group, high))
                for label, (low, high) in group.seeds.items()
            }
            lead = Rule.of(group.setting).lead(costs, one, two, seeds)
            compared.add(place, mine, theirs, lead)
        if not compared.places:
            raise LockcrossError(
                f"{self.asked.name}: no setting has runs of both {lock} and {other}"
            )
        return compared

    def less(self, lock: str, other: str, **where: Value) -> str:
        """Say by how much a lock costs less than another, where it does; where it costs more, and
        where they are in a tie; and whether that is reliable. `where`: only settings with these
        values."""
        compared = self.compared(lock, other, **where)
        return _words_of(
            compared,
            lambda side: f" ({_reliable(len(side.keys() & compared.reliable), len(side))})",
        )

    def beside(self, along: str, one: str, other: str, **where: Value) -> str:
        """Say by how much the locks cost less with one distinguishing value of settings than with
        another, where they do; where they cost more, and where it is a tie. `where`: only
        settings with these values. How far the engine is off between such settings is not known.
        """
        costs: dict[str, dict[Value, float]] = {}
        for setting, group in self._where(where):
            value = setting.pop(along)
            for label in group.costs:
                cost = self._cost(group, label)
                place = ", ".join(part for part in (_words(setting), f"`{label.words()}`") if part)
                if cost is not None:
                    costs.setdefault(place, {})[value] = cost
        compared = Compared({}, {}, [], set())
        for place, by_value in costs.items():
            if one in by_value and other in by_value:
                mine, theirs = by_value[one], by_value[other]
                compared.add(place, mine, theirs, Lead(min(mine, theirs), max(mine, theirs)))
        if not compared.places:
            raise LockcrossError(
                f"{self.asked.name}: no lock has runs of both {along} {one} and {other}"
            )
        return _words_of(compared, lambda _: "")

    def crossings(
        self, lock: str, other: str, along: str, end: str = VALUE, **where: Value
    ) -> dict[str, float | None]:
        """Return the value of a key from which a lock costs less than another, by the other
        distinguishing values; None: not up to the greatest, where a tie is none. Their total cost
        lies on straight lines between the values that were run, and on the last of them behind the
        greatest. `where`: only settings with these values; `end`: of the cost of stopping."""
        lines: dict[str, list[tuple[float, float]]] = {}
        for setting, group in self._where(where, end):
            x = setting.pop(along)
            mine, theirs = (self._cost(group, _label(group, name)) for name in (lock, other))
            if mine is not None and theirs is not None and isinstance(x, int | float):
                lead = 0.0 if Lead(min(mine, theirs), max(mine, theirs)).is_tie else theirs - mine
                lines.setdefault(_words(setting), []).append((x, -lead * (x + _others(group))))
        return {place: _last_crossing(line) for place, line in lines.items()}

    def pays(self, lock: str, other: str, along: str, **where: Value) -> str:
        """Say from which value on a lock pays: the least and the greatest of all settings with
        these values."""
        found = self.crossings(lock, other, along, VALUE, **where)
        return self._from_words(found, along, "", "", **where)

    def _from_words(
        self, found: Mapping[str, float | None], along: str, unit: str, tried: str, **where: Value
    ) -> str:
        """Say from which values on something holds, in a unit, and where it does not up to the
        greatest value that was tried, in its own."""
        never = [place for place, x in found.items() if x is None]
        known = {place: x for place, x in found.items() if x is not None}
        words = []
        if known:
            words.append(f"from {ends_words(known)}{unit}")
        if never:
            values = (setting[along] for setting, _ in self._where(where))
            most = max(x for x in values if isinstance(x, int | float))
            words.append(f"not up to {most:,.0f}{tried} {places_words(never, len(found))}")
        return ", ".join(words)

    def thresholds(self, lock: str, other: str, along: str, machines: str, **where: Value) -> str:
        """Say from which value on a lock pays on each of some machines, in brackets at the ends of
        the cost of stopping an owner there."""
        found = (
            f"{self.threshold(lock, other, along, machine=machine, **where)} on {machine}"
            for machine in machines.split()
        )
        return ", ".join(found)

    def threshold(self, lock: str, other: str, along: str, **where: Value) -> str:
        """Say from which value on a lock pays in one setting, with its interval. Raises
        LockcrossError where there is no such setting."""
        words = []
        for end in (VALUE, LOW, HIGH):
            found = self.crossings(lock, other, along, end, **where)
            if len(found) != 1:
                raise LockcrossError(f"{self.asked.name}: not one setting is {_words(where)}")
            (x,) = found.values()
            words.append("never" if x is None else f"{x:,.0f}")
        value, low, high = words
        return value if low == high else f"{value} ({low} to {high})"

    def free(self) -> dict[str, float | None]:
        """Return from how many ns of work between two sections on an atomic is free, by the other
        distinguishing values; None: not up to the most that was run."""
        lines: dict[str, list[Group]] = {}
        for setting, group in self._where({}):
            setting.pop(THINK)
            lines.setdefault(_words(setting), []).append(group)
        found = {place: (free_from(some), some[0]) for place, some in lines.items()}
        return {
            place: None if cycles is None else _ns(group, cycles)
            for place, (cycles, group) in found.items()
        }

    def free_words(self) -> str:
        """Say from which work between two sections on an atomic is free."""
        return self._from_words(self.free(), THINK, " ns", " cycles")

    def cheapest(self) -> str:
        """Say which lock is the cheapest in which settings, or in a tie with which others."""
        won: dict[str, list[str]] = {}
        for place, win in self.winners().items():
            words = f"`{win.lock.words()}`" + f" {win.words}" * bool(win.tied)
            won.setdefault(words, []).append(place)
        every = len(self.places)
        parts = sorted(won.items(), key=lambda part: -len(part[1]))
        return "; ".join(f"{locks} {places_words(places, every)}" for locks, places in parts)

    def winners(self, **where: Value) -> dict[str, Win]:
        """Return the winner by place, of the settings that have these values."""
        won = {}
        for setting, group in self._where(where):
            named = {name: label for name in self.labels if (label := _label(group, name))}
            costs = {name: group.costs[label].median for name, label in named.items()}
            seeds = {name: group.seeds[label] for name, label in named.items()}
            won[_words(setting)] = Rule.of(group.setting).winner(costs, seeds)
        return won


def _label(group: Group, name: str) -> LockLabel | None:
    """Return the lock of a name in a setting: without a kind of fence, the one that ran there."""
    if name in group.costs:
        return LockLabel(name)
    return next((label for label in group.costs if label.with_full_fences == name), None)


def _ns(group: Group, cycles: float) -> float:
    return cycles * 1e3 / load_machine(group.setting.machine).clock_mhz.number


def _words(setting: Mapping[str, Value]) -> str:
    return ", ".join(
        value if isinstance(value, str) else f"{name} {value:g}"
        for name, value in setting.items()
        if value is not None
    )


def _others(group: Group) -> int:
    """Return the acquisitions of an object behind its owner's first ones."""
    turns, length, after = (
        group.setting.parameters.get(name, 0) for name in ("turns", "run_length", "after")
    )
    return int(turns) * int(length) + int(after)


def _last_crossing(line: Sequence[tuple[float, float]]) -> float | None:
    """Return the place from which on a line, given by its points, lies below zero; None:
    nowhere, nor on its last part prolonged."""
    points = sorted(line)
    if points[-1][1] >= 0:
        return _further(*points[-2:]) if len(points) > 1 else None
    return below_from(points)


def _further(one: tuple[float, float], other: tuple[float, float]) -> float | None:
    """Return where the line through two points meets zero behind them, if it is not far."""
    (x, height), (further, depth) = one, other
    if depth >= height or depth <= 0:
        return None
    meets = further + (further - x) * depth / (height - depth)
    return meets if meets <= _FURTHER * further else None


def _words_of(compared: Compared, behind: Callable[[dict[str, float]], str]) -> str:
    """Word the sides. `behind`: the words behind the places of a side."""
    words = [
        f"{span(side.values())} {way} {places_words(list(side), compared.places)}{behind(side)}"
        for side, way in ((compared.less, "less"), (compared.more, "more"))
        if side
    ]
    if compared.tied:
        words.append(f"as much (a tie) {places_words(compared.tied, compared.places)}")
    return "; ".join(words)


def span(costs: Any) -> str:
    low, high = min(costs), max(costs)
    ends = [f"{low:.1f}", f"{high:.1f}"]
    return f"{ends[0]} ns" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]} ns"


def ends_words(values: Mapping[str, float]) -> str:
    """Return the least and the greatest of some values, with their places."""
    ends = (pick(values, key=lambda place: values[place]) for pick in (min, max))
    return " to ".join(f"{values[end]:,.0f} ({end})" for end in ends)


def places_words(places: Sequence[str], every: int) -> str:
    if len(places) == every:
        return "in every setting" if every > 1 else "there"
    if len(places) > _SHOWN_PLACES:
        return f"in {len(places)} of {every} settings"
    return "on " + ", ".join(f"({place})" if ", " in place else place for place in places)


def _reliable(some: int, every: int) -> str:
    if some in (0, every):
        return "reliable" if some else "reliability unknown"
    return f"reliable in {some} of {every}"
