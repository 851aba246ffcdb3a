"""Answers `advise`: runs what is missing, and leaves the analysis to answer.py."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul
from statistics import fmean

from results.errors import LockcrossError
from results.store.records import StoredRun
from results.store.store import Store
from sweeps.engines import load_engine
from sweeps.model import engines
from sweeps.model.cell import LATENCIES, Cell
from sweeps.model.cells import digest
from sweeps.model.label import LockLabel
from sweeps.model.locks import load_locks
from sweeps.model.machine import HOST, load_machine
from sweeps.model.workloads import with_defaults
from sweeps.plans.study import load_study
from sweeps.questions.advise.answer import (
    MEASURED,
    QUOTED,
    STORE_FORWARD,
    TRIED,
    Advice,
    AxisAnswer,
    Contended,
    Flip,
    Input,
    LockCost,
    Part,
    lock_cost,
    nearest,
    tie_of,
)
from sweeps.questions.advise.question import STUDY, Question
from sweeps.questions.advise.strata import Stratum, strata
from sweeps.questions.advise.use import LIVES, SHARES
from sweeps.run.runner import Runner
from sweeps.search.calibrate import LATENCY_OPS, Setting, measure
from sweeps.search.crossing import Point
from sweeps.search.errors import ONE_THREAD, EngineError, error_of, kind_of, work_of
from sweeps.search.facts import store_isas, store_machines
from sweeps.search.found import Scale
from sweeps.search.lines import AxisLine, own_latency, set_to, value_of, with_lock
from sweeps.search.searches import CrossoverTask, Searched, points, records, search_all

PLAN = "advise"
_LATENCY_VALUES = (0, 15, 40, 100, 300)
_LATENCY = (_LATENCY_VALUES, 1)  # values and tolerance
_CANCEL = ((0, 1_000, 5_000, 20_000, 100_000), 20)
_SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
_SHARED = (0.0001, 0.001, 0.01, 0.1, 1.0)
_LIVES = (0.25, 1, 4, 16, 64)  # times the acquisitions now
_THINK = (0, 30, 100, 300, 1_000)
_MORE_THREADS = (2, 3, 4, 6, 8)
_SEEDS = (2, 3)  # besides the first, where a lead is small
_NEAR = 2.5  # times a tie: a lead that further seeds look at
_CONTENDED = 400  # acquisitions of each thread
_NULL = "null"  # the lock that is none
_PARTS = {
    "run_length": LIVES,
    "owner_share": SHARES, "first_share": SHARES, "shared_objects": SHARES, "acquisitions": LIVES,
}  # fmt: skip
_UNITS = {
    "owner_share": "share", "first_share": "share", "shared_objects": "share", "think": "cycles",
    "acquisitions": "acquisitions", "run_length": "acquisitions",
}  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """An axis that is searched: the values it starts with, and its tolerance."""

    name: str
    values: tuple[int, ...]
    tolerance: int = 1


class Advisor:
    """Answers one question with the runs of a store."""

    def __init__(self, question: Question, store: Store, runner: Runner) -> None:
        self._question = question
        self._store = store
        self._runner = runner
        self._base = question.base
        self._scales: dict[str, Scale] = {}
        self._frame = 0.0  # cycles a pair that are no lock's

    def settings(self) -> list[Setting]:
        """What is calibrated to turn set latencies into measured ones."""
        base, asked = self._base, self._question.measured
        top = max(*_LATENCY_VALUES, 2 * (asked.cas or 0), 2 * (asked.fence or 0))
        top = max(top, *(2 * own_latency(base, axis) for axis in ("cas", "fence_latency")))
        return [
            Setting(base.machine, base.isa, base.flavour, x, x, base.engine, ops=LATENCY_OPS)
            for x in (0, top // 4, top // 2, top)
        ]

    def answer(self) -> Advice:
        """Runs what is missing and answers. Raises LockcrossError when a run fails."""
        self._measure()
        self._measure_frame()
        store_machines(self._store, [self._base.machine])
        store_isas(self._store)
        study = load_study(STUDY).tie_percent / 100
        locks = self._costs(study)
        error = self._error(locks)
        tie = tie_of(error, study)
        axes = self._axes()
        lines = [self._line(axis) for axis in axes]
        sound = [one for one in locks if one.label.fence != STORE_FORWARD]
        best = sound[0].label
        tasks = [
            CrossoverTask(line, best, other.label, line.values)
            for line in lines
            for other in sound[1:]
        ]
        known = itertools.product(lines, sound)
        self._evaluate(
            [line.cell(one.label, x, 1) for line, one in known for x in line.first_values]
        )
        # Where two locks are close to each other, one seed is not enough to tell where they cross.
        seeds = _SEEDS if locks[0].seeds > 1 else ()
        found = search_all(self._evaluate, tasks, seeds)
        self._keep(found)
        answers = [
            self._axis_answer(axis, line, best, [one for one in found if one.task.line is line])
            for axis, line in zip(axes, lines, strict=True)
        ]
        advice = Advice(
            self._setting(), tuple(locks), tie, tuple(answers), self._inputs(), self._parts(),
            self._frame, error, self._question.limits, contended=self._contended(),
        )  # fmt: skip
        return replace(advice, flips=tuple(self._flips(advice, axes, lines)))

    def _flips(
        self, advice: Advice, axes: Sequence[Axis], lines: Sequence[AxisLine]
    ) -> Iterator[Flip]:
        """The assumptions that decide: another lock, that it does not tie with now, leads by more
        than a tie at an end of the range."""
        best = advice.win.lock
        shown = {one.name: one for one in advice.inputs}
        for axis, line, answer in zip(axes, lines, advice.axes, strict=True):
            given = next((one for one in self._question.inputs if one.name == axis.name), None)
            if given is None or given.low is None or given.high is None:
                continue
            sides = ((answer.below, given.low, False), (answer.above, given.high, True))
            for change, end, upwards in sides:
                x = min(max(int(end), axis.values[0]), axis.values[-1])
                reached = change is not None and (
                    change.value <= self._scale(axis.name)(x)
                    if upwards
                    else change.value >= self._scale(axis.name)(x)
                )
                if change is None or not reached or change.lock in advice.win.tied:
                    continue
                ours, theirs = self._evaluate(
                    [line.cell(label, x, 1) for label in (best, change.lock)]
                )
                if float(1 - theirs.cost / ours.cost) > advice.tie:
                    yield Flip(shown[axis.name], answer, change, upwards)

    def _contended(self) -> Contended | None:
        """What the locks cost where all threads want one object, if that was asked for."""
        if not self._question.contended:
            return None
        keys = {name: self._base.parameters[name] for name in ("critical", "think")}
        parameters = with_defaults("random_threads", {"iterations": _CONTENDED, **keys})
        base = replace(self._base, workload="random_threads", parameters=parameters)
        labels = [label for label in self._question.labels if label.fence != STORE_FORWARD]
        cells = [with_lock(base, label, seed) for label in labels for seed in (1, *_SEEDS)]
        costs = iter(points(self._runner, PLAN, cells))
        each = {
            label: fmean(float(one.cost) for one in itertools.islice(costs, 1 + len(_SEEDS)))
            for label in labels
        }
        return Contended(self._question.contended, each)

    def natively(self, engine: str) -> dict[LockLabel, float]:
        """What the locks cost in the same use on this host, in its cycles; those that it cannot
        run are left out."""

        def here(cell: Cell) -> Cell:
            return replace(
                cell, engine=engine, machine=HOST, cas=None, fence_latency=None, cancel=None
            )

        def cost(label: str) -> float | None:
            parts = strata(with_lock(self._base, label))
            runs = self._runner.run([here(one.cell) for one in parts], PLAN)
            if any(run.status != "ok" for run in runs):
                return None
            weights = [float(one.weight) for one in parts]
            costs = [run.metrics["cycles_per_pair"] for run in runs]
            return float(sum(map(mul, weights, costs)) / sum(weights))

        (floor,) = self._runner.run([here(self._floor())], PLAN)
        null = cost(_NULL)
        if null is None or floor.status != "ok":
            return {}
        frame = 0.0 if self._base.parameters["on_map"] else null - floor.metrics["cycles_per_pair"]
        found = {label: cost(label) for label in self._question.labels}
        return {label: one - frame for label, one in found.items() if one is not None}

    def _measure(self) -> None:
        """Fits set to measured latencies, and sets those that were asked for."""
        settings = self.settings()
        found = measure(self._runner, settings)
        for axis, op in (("cas", "cas"), ("fence_latency", "fence")):
            pairs = [
                (float(getattr(setting, axis)), one[op].cycles)
                for setting, one in zip(settings, found, strict=True)
            ]
            self._scales[axis] = Scale(pairs)
        asked = self._question.measured
        for axis, wanted in (("cas", asked.cas), ("fence_latency", asked.fence)):
            if wanted is not None:
                self._base = set_to(self._base, axis, self._to_set(axis, wanted))

    def _to_set(self, axis: str, wanted: int) -> int:
        value = self._scales[axis].inverse(wanted)
        if value is None:
            name = {"cas": "a CAS", "fence_latency": "a full fence"}[axis]
            raise LockcrossError(
                f"{wanted} cycles: {name} measures {self._scales[axis](0):.1f} or more on machine "
                f"{self._base.machine}, whatever is set"
            )
        return round(value)

    def _measure_frame(self) -> None:
        """Measures what the same takes without a lock: the program's own work, and what the runs
        add to it (barriers, new objects). Nothing on the main job's map, whose costs are whole."""
        if self._base.parameters["on_map"]:
            return
        (floor,) = points(self._runner, PLAN, [self._floor()])
        (null,) = self._evaluate([with_lock(self._base, _NULL)])
        self._frame = float(null.cost - floor.cost)

    def _floor(self) -> Cell:
        """A run of one thread without a lock and without work."""
        keys = {"objects": 1, "first": 400, "critical": 0, "think": 0}
        return replace(
            with_lock(self._base, _NULL), workload="lock_use", threads=1,
            parameters=with_defaults("lock_use", keys),
        )  # fmt: skip

    def _error(self, locks: Sequence[LockCost]) -> EngineError | None:
        """How far the engine was off for locks like the first two at what most of the cost is;
        None where nothing like it was compared."""
        best, other = locks[0].label, locks[1].label
        parts = strata(with_lock(self._base, best))
        costs = points(self._runner, PLAN, [one.cell for one in parts])
        shares = [abs(one.weight * cost.cost) for one, cost in zip(parts, costs, strict=True)]
        cell = parts[shares.index(max(shares))].cell
        # One thread at a time works with objects that others never take, however many there are.
        alone = cell.workload == "lock_use" and not cell.parameters["turns"]
        work = ONE_THREAD if alone else work_of(cell.workload, cell.threads)
        if work is None:
            return None
        core = load_machine(self._base.machine).out_of_order is not None
        return error_of(core, work, {kind_of(best), kind_of(other)})

    def _costs(self, tie: float) -> list[LockCost]:
        """Every lock, cheapest first; those near the cheapest with more seeds."""
        found = {label: self._lock(label, (1,)) for label in self._question.labels}
        costs = {label: one.cost + self._frame for label, one in found.items()}
        least = min(costs.values())
        close = [one for one in found.values() if costs[one.label] * (1 - _NEAR * tie) <= least]
        if len(close) > 1:
            found |= {one.label: self._lock(one.label, (1, *_SEEDS)) for one in close}
        # Store forwarding orders nothing: such a lock is shown, and never the best.
        return sorted(
            found.values(),
            key=lambda one: (one.label.fence == STORE_FORWARD, one.cost, one.label),
        )

    def _lock(self, label: LockLabel, seeds: Sequence[int]) -> LockCost:
        found = []
        for seed in seeds:
            parts = strata(with_lock(self._base, label, seed))
            runs = self._runner.require([one.cell for one in parts], PLAN)
            found.append(([run.id for run in runs], _together(parts, runs)))
        return lock_cost(label, found, self._frame)

    def _axes(self) -> list[Axis]:
        axes = [
            self._axis(name, *(_CANCEL if name == "cancel" else _LATENCY))
            for name in self._question.latencies
        ]
        if self._base.parameters["shared_objects"]:
            axes += self._axes_of_sharing()
        axes.append(self._axis("think", _THINK))
        return [one for one in axes if len(one.values) > 1]

    def _axes_of_sharing(self) -> list[Axis]:
        """What bears on objects that change hands."""
        keys = {name: int(value) for name, value in self._base.parameters.items()}
        life, owner = keys["acquisitions"], keys["owner_share"]
        others = life * (SHARES - owner) // SHARES // LIVES  # acquisitions of an object
        step = SHARES // 1000
        # Others take a shared object at least once.
        most = SHARES - max(SHARES * LIVES // life, step)
        shares = [x for share in _SHARES if (x := round(share * SHARES)) <= most]
        first = keys["first_share"]
        if first >= 0:
            shares = [x for x in shares if x >= first]
        lives = [x for times in _LIVES if (x := round(life * times)) * others >= life]
        length = keys["run_length"]
        lengths = {length * times // 8 for times in (1, 2, 4, 16, 32)} | {others * LIVES}
        limits = [load_locks()[one.lock].threads for one in self._question.labels]
        threads = min([limit for limit in limits if limit] or [_MORE_THREADS[-1]])
        return [
            self._axis("shared_objects", [round(x * SHARES) for x in _SHARED], SHARES // 100_000),
            self._axis("acquisitions", lives, max(life // 50, 1)),
            self._axis("owner_share", shares, step),
            self._axis("first_share", [owner // 100, owner // 4, owner // 2, owner], step),
            self._axis("run_length", [x for x in lengths if LIVES <= x <= others * LIVES], 500),
            self._axis("threads", [n for n in _MORE_THREADS if n <= threads]),
        ]

    def _axis(self, name: str, values: Sequence[int], tolerance: int = 1) -> Axis:
        """An axis that has what is now, and the range within which an assumption of it lies."""
        given = [one for one in self._question.inputs if one.name == name]
        ends = [int(x) for one in given for x in (one.low, one.high) if x is not None]
        now = self._now(name)
        if name not in LATENCIES and values:
            ends = [min(max(x, min(values)), max(values)) for x in ends]
        return Axis(name, tuple(sorted({*values, *ends, now})), tolerance)

    def _now(self, axis: str) -> int:
        """Where the use stands on an axis; the owner's first share where others' runs are evenly
        spread: his part before the first of them."""
        keys = {name: int(value) for name, value in self._base.parameters.items()}
        if axis != "first_share" or keys["first_share"] >= 0:
            return value_of(self._base, axis)
        others = Fraction(keys["acquisitions"] * (SHARES - keys["owner_share"]), LIVES * SHARES)
        return round(keys["owner_share"] / max(others * LIVES / keys["run_length"], Fraction(1)))

    def _line(self, axis: Axis) -> AxisLine:
        base = self._base
        if axis.name not in LATENCIES:  # along what the program does all runs are of one workload
            base = replace(base, parameters={**base.parameters, "on_map": 0})
        if axis.name == "first_share":
            base = set_to(base, axis.name, self._now(axis.name))
        name = digest([vars(base) | {"lock": ""}, sorted(self._question.labels)])[:12]
        return AxisLine(
            f"{PLAN}/{name}/{axis.name}", base, axis.name, axis.values, axis.tolerance,
            unit=_UNITS.get(axis.name, ""),
        )  # fmt: skip

    def _axis_answer(
        self, axis: Axis, line: AxisLine, best: LockLabel, found: Sequence[Searched]
    ) -> AxisAnswer:
        now = self._now(axis.name)
        below, above = nearest([one.found for one in found], best, now, tried=line.unit in TRIED)
        scale = self._scale(axis.name)
        return AxisAnswer(
            axis.name, line.unit, scale(now), scale(line.limits[0]), scale(line.limits[1]),
            below and replace(below, value=scale(below.value)),
            above and replace(above, value=scale(above.value)),
        )  # fmt: skip

    def _scale(self, axis: str) -> Callable[[float], float]:
        """From what is set along an axis to what is shown: measured cycles, shares, means."""
        parts = _PARTS.get(axis, 1)
        return self._scales.get(axis) or (lambda value: float(value) / parts)

    def _inputs(self) -> tuple[Input, ...]:
        """What the answer rests on, ranges as they are shown."""
        return tuple(
            one
            if one.low is None or one.high is None
            else replace(
                one, low=self._scale(one.name)(one.low), high=self._scale(one.name)(one.high)
            )
            for one in self._question.inputs
        )

    def _parts(self) -> tuple[Part, ...]:
        shares: Counter[str] = Counter()
        for one in strata(self._base):
            shares[one.words] += float(one.weight)  # type: ignore[assignment]
        return tuple(Part(share, words) for words, share in shares.items())

    def _evaluate(self, cells: Sequence[Cell]) -> list[Point]:
        """What uses cost: their strata, each by its weight. The run is that of the largest part."""
        parts = [strata(cell) for cell in cells]
        flat = points(self._runner, PLAN, [one.cell for some in parts for one in some])
        left = iter(flat)
        found = []
        for some in parts:
            costs = list(itertools.islice(left, len(some)))
            weights = [one.weight for one in some]
            cost = sum(
                (weight * one.cost for weight, one in zip(weights, costs, strict=True)), Fraction(0)
            )
            largest = max(range(len(some)), key=lambda n: weights[n])
            found.append(Point(cost / sum(weights), costs[largest].run_id))
        return found

    def _keep(self, found: Sequence[Searched]) -> None:
        by_series: dict[str, list[Searched]] = {}
        for one in found:
            by_series.setdefault(one.task.line.series, []).append(one)
        for name, several in by_series.items():
            kept = [record for one in several for record in records(one)]
            self._store.set_crossovers(kept, name)

    def _setting(self) -> dict[str, object]:
        base = self._base
        keys = {name: int(value) for name, value in base.parameters.items() if name != "on_map"}
        found: dict[str, object] = {
            "machine": base.machine, "isa": base.isa, "flavour": base.flavour,
            "engine": base.engine, "threads": base.threads,
            "described": MEASURED if load_machine(base.machine).processor else QUOTED,
            "nested": keys.pop("nested") / 1e6,
        }  # fmt: skip
        first = keys.pop("first_share")
        found["first_share"] = None if first < 0 else first / SHARES
        found["local_acquisitions"] = keys.pop("local_acquisitions") / LIVES
        found |= {name: self._scale(name)(value) for name, value in keys.items()}
        return found | {
            "cas_measured": self._scales["cas"](value_of(base, "cas")),
            "fence_measured": self._scales["fence_latency"](value_of(base, "fence_latency")),
            "cancel": value_of(base, "cancel"),
        }


def check_engine(engine: str, bases: Sequence[Cell]) -> None:
    """Raises LockcrossError for an engine that does not run programs of their ISAs on this host."""
    names = [one.label for one in engines.ENGINES]
    on_host = [one for one in names if load_engine(one).capabilities().host_machines]
    if engine not in on_host:
        raise LockcrossError(f"--check: {engine!r}: allowed is {', '.join(on_host)}")
    isas = load_engine(engine).capabilities().isas
    for base in bases:
        if base.isa not in isas:
            raise LockcrossError(
                f"--check {engine}: machine {base.machine} is {base.isa}, this host "
                f"{', '.join(isas)}"
            )


def _together(parts: Sequence[Stratum], runs: Sequence[StoredRun]) -> dict[str, float]:
    """The metrics of strata, each a pair and by its weight."""
    whole = float(sum(one.weight for one in parts))
    found: Counter[str] = Counter()
    for one, run in zip(parts, runs, strict=True):
        for name, value in run.metrics.items():
            found[name] += float(one.weight) / whole * value / run.metrics["pairs"]  # type: ignore[assignment]
    return dict(found)
