"""Answers `advise`: runs what is missing, and leaves the analysis to answer.py."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import mul
from statistics import fmean

from results.errors import LockcrossError
from results.store.records import StoredRun
from results.store.store import Store
from sweeps.engines import load_engine
from sweeps.model import engines
from sweeps.model.axes import LATENCIES, USE_QUANTITIES
from sweeps.model.cell import Cell, cell_of, digest
from sweeps.model.locks import LockLabel, load_locks
from sweeps.model.machine import HOST, load_machine
from sweeps.model.workloads import with_defaults
from sweeps.plans.study import load_study
from sweeps.questions.advise.answer import (
    MEASURED,
    QUOTED,
    STORE_FORWARD,
    TRIED,
    USE_AXES,
    Advice,
    AxisAnswer,
    Contended,
    Flip,
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
from sweeps.search.calibrate import LATENCY_OPS, Setting, measure, store_isas, store_machines
from sweeps.search.errors import ONE_THREAD, EngineError, error_of, kind_of, work_of
from sweeps.search.found import Scale
from sweeps.search.lines import (
    FIRST_SEED,
    NO_LOCK,
    AxisLine,
    check_cell,
    own_latency,
    set_to,
    value_of,
    with_lock,
)
from sweeps.search.searches import CrossoverTask, Point, Searched, points, records, search_all

PLAN = "advise"
_LATENCY_VALUES = (0, 15, 40, 100, 300)
_CANCEL_VALUES, _CANCEL_TOLERANCE = (0, 1_000, 5_000, 20_000, 100_000), 20
_SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
_SHARED = (0.0001, 0.001, 0.01, 0.1, 1.0)
_LIVES = (0.25, 1, 4, 16, 64)  # times the acquisitions now
_THINK = (0, 30, 100, 300, 1_000)
_MORE_THREADS = (2, 3, 4, 6, 8)
_LOOKS = 16  # between two values of an axis, at whether uses there can be run
_SEEDS = (2, 3)  # besides the first, where a lead is small
_NEAR = 2.5  # times a tie: a lead that further seeds look at
_CONTENDED = 400  # acquisitions of each thread
_PARTS = {
    "run_length": LIVES,
    "owner_share": SHARES, "first_share": SHARES, "shared_objects": SHARES, "acquisitions": LIVES,
}  # fmt: skip


class Advisor:
    """Answers one question with the runs of a store."""

    def __init__(self, question: Question, store: Store, runner: Runner) -> None:
        self._question = question
        self._store = store
        self._runner = runner
        self._points = partial(points, runner, PLAN)
        self._base = question.base
        self._keys = {name: int(value) for name, value in question.base.parameters.items()}
        self._sound = [label for label in question.labels if label.fence != STORE_FORWARD]
        self._scales: dict[str, Scale] = {}
        self._frame = 0.0  # cycles a pair that are no lock's
        self._cut: list[str] = []  # axes that cannot be run as far as they were to be searched

    def answer(self) -> Advice:
        """Runs what is missing and answers. Raises LockcrossError when a run fails."""
        self._calibrate()
        if not self._keys["on_map"]:  # the costs of the main job's map are whole
            (floor,) = self._points([self._floor()])
            (null,) = self._evaluate([with_lock(self._base, NO_LOCK)])
            self._frame = float(null.cost - floor.cost)
        store_machines(self._store, [self._base.machine])
        store_isas(self._store)
        study = load_study(STUDY).tie_percent / 100
        locks = self._costs(study)
        error = self._error(locks[0].label, locks[1].label)
        best, *others = (one.label for one in locks if one.label in self._sound)
        lines = self._lines()
        self._evaluate(
            [
                line.cell(label, x)
                for line in lines
                for label in (best, *others)
                for x in line.first_values
            ]
        )
        # Where two locks are close to each other, one seed is not enough to tell where they cross.
        seeds = _SEEDS if locks[0].seeds > 1 else ()
        tasks = [
            CrossoverTask(line, best, other, line.values) for line in lines for other in others
        ]
        found = search_all(self._evaluate, tasks, seeds)
        answers = []
        for line in lines:
            of_line = [one for one in found if one.task.line is line]
            kept = [record for one in of_line for record in records(one)]
            self._store.set_crossovers(kept, line.series)
            answers.append(self._axis_answer(line, best, of_line))
        shares: Counter[str] = Counter()
        for one in strata(self._base):
            shares[one.words] += float(one.weight)  # type: ignore[assignment]
        inputs = (
            one
            if one.low is None or one.high is None
            else replace(
                one, low=self._scale(one.name)(one.low), high=self._scale(one.name)(one.high)
            )
            for one in self._question.inputs
        )
        cut = "; ".join(USE_AXES.get(axis, axis) for axis in dict.fromkeys(self._cut))
        note = f"Searched only as far as it can be run (see the table): {cut}"
        advice = Advice(
            self._setting(), tuple(locks), tie_of(error, study), tuple(answers), tuple(inputs),
            tuple(Part(share, words) for words, share in shares.items()), self._frame, error,
            self._question.limits, (note,) if cut else (), contended=self._contended(),
        )  # fmt: skip
        return replace(advice, flips=tuple(self._flips(advice, lines)))

    def _calibrate(self) -> None:
        """Fits set to measured latencies, and sets those that were asked for."""
        base, asked = self._base, self._question.measured
        wanted = {"cas_latency": asked.cas, "fence_latency": asked.fence}
        tops = [2 * max(wanted[axis] or 0, own_latency(base, axis)) for axis in wanted]
        top = max(*_LATENCY_VALUES, *tops)
        settings = [
            Setting(base.machine, base.isa, base.flavour, x, x, base.engine, ops=LATENCY_OPS)
            for x in (0, top // 4, top // 2, top)
        ]
        found = measure(self._runner, settings)
        for axis, op, words in (
            ("cas_latency", "cas", "a CAS"),
            ("fence_latency", "fence", "a full fence"),
        ):
            costs = [
                (float(getattr(s, axis)), one[op].cycles)
                for s, one in zip(settings, found, strict=True)
            ]
            self._scales[axis] = scale = Scale(costs)
            if (cycles := wanted[axis]) is None:
                continue
            if (value := scale.inverse(cycles)) is None:
                raise LockcrossError(
                    f"{cycles} cycles: {words} measures {scale(0):.1f} or more on machine "
                    f"{base.machine}, whatever is set"
                )
            self._base = set_to(self._base, axis, round(value))

    def _floor(self) -> Cell:
        """A run of one thread without a lock and without work."""
        keys = {"objects": 1, "first": 400, "critical": 0, "think": 0}
        return replace(
            with_lock(self._base, NO_LOCK), workload="lock_use", threads=1,
            parameters=with_defaults("lock_use", keys),
        )  # fmt: skip

    def _costs(self, tie: float) -> list[LockCost]:
        """Every lock, cheapest first; those near the cheapest with more seeds."""
        found = {label: self._lock(label, (FIRST_SEED,)) for label in self._question.labels}
        costs = {label: one.cost + self._frame for label, one in found.items()}
        least = min(costs.values())
        close = [label for label, cost in costs.items() if cost * (1 - _NEAR * tie) <= least]
        if len(close) > 1:
            found |= {label: self._lock(label, (FIRST_SEED, *_SEEDS)) for label in close}
        # Store forwarding orders nothing: such a lock is shown, and never the best.
        return sorted(
            found.values(), key=lambda one: (one.label not in self._sound, one.cost, one.label)
        )

    def _lock(self, label: LockLabel, seeds: Sequence[int]) -> LockCost:
        found = []
        for seed in seeds:
            parts = strata(with_lock(self._base, label, seed))
            runs = self._runner.require([one.cell for one in parts], PLAN)
            found.append(([run.id for run in runs], _together(parts, runs)))
        return lock_cost(label, found, self._frame)

    def _error(self, best: LockLabel, other: LockLabel) -> EngineError | None:
        """How far the engine was off for locks like the first two at what most of the cost is;
        None where nothing like it was compared."""
        parts = strata(with_lock(self._base, best))
        costs = self._points([one.cell for one in parts])
        shares = [abs(one.weight * cost.cost) for one, cost in zip(parts, costs, strict=True)]
        cell = parts[shares.index(max(shares))].cell
        # One thread at a time works with objects that others never take, however many there are.
        alone = cell.workload == "lock_use" and not cell.parameters["turns"]
        work = ONE_THREAD if alone else work_of(cell.workload, cell.threads)
        if work is None:
            return None
        core = load_machine(self._base.machine).out_of_order is not None
        return error_of(core, work, {kind_of(best), kind_of(other)})

    def _lines(self) -> list[AxisLine]:
        """What is searched: latencies, what bears on objects that change hands, work between
        sections."""
        lines = [
            self._line(axis, _CANCEL_VALUES, _CANCEL_TOLERANCE)
            if axis == "cancel_latency"
            else self._line(axis, _LATENCY_VALUES)
            for axis in self._question.latencies
        ]
        if self._keys["shared_objects"]:
            life, owner = self._keys["acquisitions"], self._keys["owner_share"]
            others = life * (SHARES - owner) // SHARES // LIVES  # acquisitions of an object
            step = SHARES // 1000
            # Others take a shared object at least once.
            most = SHARES - max(SHARES * LIVES // life, step)
            least = max(self._keys["first_share"], 0)
            shares = [x for share in _SHARES if least <= (x := round(share * SHARES)) <= most]
            lives = [x for times in _LIVES if (x := round(life * times)) * others >= life]
            length = self._keys["run_length"]
            lengths = {length * times // 8 for times in (1, 2, 4, 16, 32)} | {others * LIVES}
            limits = [load_locks()[label.lock].threads for label in self._question.labels]
            threads = min([limit for limit in limits if limit] or [_MORE_THREADS[-1]])
            shared = [round(x * SHARES) for x in _SHARED]
            firsts = [owner // 100, owner // 4, owner // 2, owner]
            lines += [
                self._line("shared_objects", shared, SHARES // 100_000),
                self._line("acquisitions", lives, max(life // 50, 1)),
                self._line("owner_share", shares, step),
                self._line("first_share", firsts, step),
                self._line("run_length", [x for x in lengths if LIVES <= x <= others * LIVES], 500),
                self._line("threads", [n for n in _MORE_THREADS if n <= threads]),
            ]
        lines.append(self._line("think", _THINK))
        return [line for line in lines if len(line.values) > 1]

    def _line(self, axis: str, values: Sequence[int], tolerance: int = 1) -> AxisLine:
        """An axis that has what is now, and the range within which an assumption of it lies; what
        the program does, as far as it can be run."""
        given = [one for one in self._question.inputs if one.name == axis]
        ends = [int(x) for one in given for x in (one.low, one.high) if x is not None]
        base, now = self._base, self._now(axis)
        if axis not in LATENCIES:  # along what the program does all runs are of one workload
            base = set_to(base, "on_map", 0)
            if values:
                ends = [min(max(x, min(values)), max(values)) for x in ends]
        if axis == "first_share":
            base = set_to(base, axis, now)
        name = digest([vars(base) | {"lock": ""}, sorted(self._question.labels)])[:12]
        line = AxisLine(
            f"{PLAN}/{name}/{axis}", base, axis, tuple(sorted({*values, *ends, now})), tolerance,
            unit=USE_QUANTITIES[axis].unit if axis in USE_QUANTITIES else "",
        )  # fmt: skip
        return line if axis in LATENCIES else self._that_can_be_run(line, now)

    def _that_can_be_run(self, line: AxisLine, now: int) -> AxisLine:
        """The part of a line, around where the use stands, in which every use can be run: a search
        may ask for any value. It ends where the first cannot, to the tolerance."""
        kept = {now}
        if not _can_be_run(line, now):
            self._cut.append(line.axis)
            return replace(line, values=(now,))
        for side in (sorted(line.values), sorted(line.values, reverse=True)):
            last = now
            for x in (x for x in side[side.index(now) :] if x != now):
                looks = [last + (x - last) * n // _LOOKS for n in range(1, _LOOKS + 1)]
                beyond = next((n for n, at in enumerate(looks) if not _can_be_run(line, at)), None)
                if beyond is None:
                    last = x
                    kept.add(x)
                    continue
                low, high = (looks[beyond - 1] if beyond else last), looks[beyond]
                while abs(high - low) > line.tolerance:
                    middle = (low + high) // 2
                    low, high = (middle, high) if _can_be_run(line, middle) else (low, middle)
                kept.add(low)
                self._cut.append(line.axis)
                break
        return replace(line, values=tuple(sorted(kept)))

    def _now(self, axis: str) -> int:
        """Where the use stands on an axis; the owner's first share where others' runs are evenly
        spread: his part before the first of them."""
        keys = self._keys
        if axis != "first_share" or keys["first_share"] >= 0:
            return int(value_of(self._base, axis))
        others = Fraction(keys["acquisitions"] * (SHARES - keys["owner_share"]), LIVES * SHARES)
        return round(keys["owner_share"] / max(others * LIVES / keys["run_length"], Fraction(1)))

    def _axis_answer(
        self, line: AxisLine, best: LockLabel, found: Sequence[Searched]
    ) -> AxisAnswer:
        now, scale = self._now(line.axis), self._scale(line.axis)
        below, above = nearest([one.found for one in found], best, now, tried=line.unit in TRIED)
        return AxisAnswer(
            line.axis, line.unit, scale(now), scale(line.limits[0]), scale(line.limits[1]),
            below and replace(below, value=scale(below.value)),
            above and replace(above, value=scale(above.value)),
        )  # fmt: skip

    def _flips(self, advice: Advice, lines: Sequence[AxisLine]) -> Iterator[Flip]:
        """The assumptions that decide: another lock, that it does not tie with now, leads by more
        than a tie at an end of the range."""
        shown = {one.name: one for one in advice.inputs}
        given = {one.name: one for one in self._question.inputs}
        for line, answer in zip(lines, advice.axes, strict=True):
            assumed, scale = given.get(line.axis), self._scale(line.axis)
            if assumed is None or assumed.low is None or assumed.high is None:
                continue
            for change, end in ((answer.below, assumed.low), (answer.above, assumed.high)):
                x = min(max(int(end), line.limits[0]), line.limits[1])
                upwards = change is answer.above
                if change is None or change.lock in advice.win.tied:
                    continue
                if change.value > scale(x) if upwards else change.value < scale(x):
                    continue
                ours, theirs = self._evaluate(
                    [line.cell(label, x) for label in (advice.win.lock, change.lock)]
                )
                if float(1 - theirs.cost / ours.cost) > advice.tie:
                    yield Flip(shown[line.axis], answer, change, upwards)

    def _contended(self) -> Contended | None:
        """What the locks cost where all threads want one object, if that was asked for."""
        if not self._question.contended:
            return None
        keys = {name: self._keys[name] for name in ("critical", "think")}
        parameters = with_defaults("random_threads", {"iterations": _CONTENDED, **keys})
        base = replace(self._base, workload="random_threads", parameters=parameters)
        seeds = (FIRST_SEED, *_SEEDS)
        costs = iter(
            self._points([with_lock(base, label, seed) for label in self._sound for seed in seeds])
        )
        each = {
            label: fmean(float(one.cost) for one in itertools.islice(costs, len(seeds)))
            for label in self._sound
        }
        return Contended(self._question.contended, each)

    def natively(self, engine: str) -> dict[LockLabel, float]:
        """What the locks cost in the same use on this host, in its cycles; those that it cannot
        run are left out."""
        here = {"engine": engine, "machine": HOST} | dict.fromkeys(LATENCIES)

        def runs_of(cells: Sequence[Cell]) -> list[StoredRun]:
            return self._runner.run([cell_of(cell, **here) for cell in cells], PLAN)

        def cost(label: str) -> float | None:
            parts = strata(with_lock(self._base, label))
            runs = runs_of([one.cell for one in parts])
            if any(run.status != "ok" for run in runs):
                return None
            weights = [float(one.weight) for one in parts]
            costs = [run.metrics["cycles_per_pair"] for run in runs]
            return float(sum(map(mul, weights, costs)) / sum(weights))

        (floor,) = runs_of([self._floor()])
        null = cost(NO_LOCK)
        if null is None or floor.status != "ok":
            return {}
        frame = 0.0 if self._keys["on_map"] else null - floor.metrics["cycles_per_pair"]
        found = {label: cost(label) for label in self._question.labels}
        return {label: one - frame for label, one in found.items() if one is not None}

    def _scale(self, axis: str) -> Callable[[float], float]:
        """From what is set along an axis to what is shown: measured cycles, shares, means."""
        parts = _PARTS.get(axis, 1)
        return self._scales.get(axis) or (lambda value: float(value) / parts)

    def _evaluate(self, cells: Sequence[Cell]) -> list[Point]:
        """What uses cost: their strata, each by its weight. The run is that of the largest part."""
        parts = [strata(cell) for cell in cells]
        left = iter(self._points([one.cell for some in parts for one in some]))
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

    def _setting(self) -> dict[str, object]:
        base = self._base
        keys = {name: value for name, value in self._keys.items() if name != "on_map"}
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
            "cas_measured": self._scales["cas_latency"](value_of(base, "cas_latency")),
            "fence_measured": self._scales["fence_latency"](value_of(base, "fence_latency")),
            "cancel": value_of(base, "cancel_latency"),
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


def _can_be_run(line: AxisLine, x: int) -> bool:
    try:
        for one in strata(line.cell(NO_LOCK, x)):
            check_cell(one.cell)
    except LockcrossError:
        return False
    return True


def _together(parts: Sequence[Stratum], runs: Sequence[StoredRun]) -> dict[str, float]:
    """The metrics of strata, each a pair and by its weight."""
    whole = float(sum(one.weight for one in parts))
    found: Counter[str] = Counter()
    for one, run in zip(parts, runs, strict=True):
        for name, value in run.metrics.items():
            found[name] += float(one.weight) / whole * value / run.metrics["pairs"]  # type: ignore[assignment]
    return dict(found)
