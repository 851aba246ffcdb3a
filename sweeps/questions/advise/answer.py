"""Which lock is the cheapest in one setting, why, and how far that may move until another is.

Costs are core cycles per acquire-release pair.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import mul
from statistics import fmean

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines.base import load_engine
from sweeps.model import engines
from sweeps.model.axes import AXIS_WORDS, LATENCIES, USE_QUANTITIES
from sweeps.model.cell import NO_LOCK, Cell, cell_of, digest
from sweeps.model.locks import LockLabel, load_locks
from sweeps.model.machine import HOST, load_machine
from sweeps.model.workloads import with_defaults
from sweeps.plans.study import load_study
from sweeps.questions.advise.question import (
    MEASURED,
    QUOTED,
    STORE_FORWARD,
    STUDY,
    Input,
    Question,
)
from sweeps.questions.advise.strata import LIVES, PARTS, SHARES, strata
from sweeps.run.runner import Runner
from sweeps.search.calibrate import LATENCY_OPS, Setting, measure, store_isas, store_machines
from sweeps.search.errors import ONE_THREAD, EngineError, error_of, kind_of, work_of
from sweeps.search.found import Scale
from sweeps.search.lines import (
    FIRST_SEED,
    AxisLine,
    check_cell,
    own_latency,
    set_to,
    value_of,
    with_lock,
)
from sweeps.search.searches import Crossover, CrossoverTask, Point, points, records, search_all
from sweeps.study.leads import Win, winner

PLAN = "advise"
# Where cycles go, by the metrics of a run; all else is the rest.
CAUSES = {
    "atomics": ("stall_atomic",),
    "fences": ("stall_fence",),
    "stores": ("stall_drain", "stall_store_buffer", "stall_forward"),
    "cancellations": ("stall_charge",),
    "misses": ("stall_l2", "stall_memory", "stall_transfer", "stall_upgrade", "stall_hold"),
    "branches": ("stall_mispredict", "stall_taken_branch"),
}
REST = "the rest"
# What may be moved, in words.
USE_AXES = AXIS_WORDS | {name: quantity.words for name, quantity in USE_QUANTITIES.items()}
_MEASURED_AS = {"cas_latency": ("cas", "a CAS"), "fence_latency": ("fence", "a full fence")}
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


@dataclass(frozen=True)
class LockCost:
    """What one lock costs beside the work that the program does: the mean of its seeds, the least
    and the greatest of them, and the first seed's cycles by cause, in which the work is, since the
    core does both at once. `native`: the same on the host; None if nobody asked."""

    label: LockLabel
    cost: float
    low: float
    high: float
    seeds: int
    causes: Mapping[str, float]
    runs: tuple[int, ...]
    native: float | None = None


@dataclass(frozen=True)
class Change:
    """From this value of an axis on, another lock is the cheapest."""

    lock: LockLabel
    value: float


@dataclass(frozen=True)
class AxisAnswer:
    """How far one parameter may move, all else the same. `low` and `high`: the ends of what was
    searched; None of `below` and `above`: nothing changes up to there."""

    axis: str
    unit: str
    now: float
    low: float
    high: float
    below: Change | None
    above: Change | None


@dataclass(frozen=True)
class Flip:
    """An assumption that decides: within its range another lock is the cheapest, from a value of
    its axis on, upwards or downwards."""

    given: Input
    axis: AxisAnswer
    change: Change
    upwards: bool


@dataclass(frozen=True)
class Contended:
    """What the locks cost, cycles a pair with all waiting, where all threads want one object, as a
    `share` of the acquisitions does; in no other cost."""

    share: float
    costs: Mapping[LockLabel, float]


@dataclass(frozen=True)
class Share:
    """Cycles that a lock takes in a second of a program's CPU time, in which it does its own work,
    too; the interval in which they lie as far as the engine's error is known; and the same as
    shares of that time."""

    cycles: float
    low: float | None
    high: float | None
    share: float
    share_low: float | None
    share_high: float | None


@dataclass(frozen=True)
class OfProgram:
    """What the locks cost the program that was recorded: `per_second` acquisitions of its CPU time
    that find the lock free. `plain`: that time is known without recording; else the least and the
    greatest share of it that `recording` took have been taken off. `runtime`: the lock in whose
    place they stand."""

    per_second: float
    plain: bool
    recording: tuple[float, float]
    runtime: str
    costs: Mapping[LockLabel, Share]


@dataclass(frozen=True)
class Advice:
    """The whole answer. `tie`: the share of a lead below which it is a tie; `error`: how far costs
    of this kind were off on a reference, None where nothing like them was compared.
    `inputs`: what it rests on; `parts`: shares of the acquisitions by what they do, in words;
    `work`: cycles a pair that the program itself takes, which are in no cost. `limits`: of locks
    that cannot replace all others, what they cannot do; `notes`: what else bears on the answer;
    `flips`: the assumptions that decide; `contended`: what was asked of contention; `program`: what
    the locks cost the program, where it was recorded. Leads are of the whole pair, the work too,
    since the error is known for whole pairs alone."""

    setting: Mapping[str, object]
    locks: tuple[LockCost, ...]
    tie: float
    axes: tuple[AxisAnswer, ...]
    inputs: tuple[Input, ...]
    parts: Mapping[str, float]
    work: float
    error: EngineError | None
    limits: Mapping[LockLabel, str]
    notes: tuple[str, ...]
    flips: tuple[Flip, ...]
    contended: Contended | None
    program: OfProgram | None = None

    @property
    def without_limits(self) -> Win | None:
        """The winner among the locks without limits, where the winner has some and two have
        none."""
        costs = {label: cost for label, cost in self._whole().items() if label not in self.limits}
        return winner(costs, self.tie) if self.win.lock not in costs and len(costs) > 1 else None

    @property
    def win(self) -> Win:
        """The cheapest lock and those that it ties with."""
        return winner(self._whole(), self.tie)

    def _whole(self) -> dict[LockLabel, float]:
        """Cycles of a whole pair, the work too, of the locks that may be recommended."""
        return {
            lock.label: lock.cost + self.work
            for lock in self.locks
            if lock.label.fence != STORE_FORWARD
        }

    def beside_work(self, label: LockLabel) -> float:
        """Cycles a pair of a lock beside the work."""
        return next(lock.cost for lock in self.locks if lock.label == label)


def nearest(
    searches: Sequence[Crossover], best: LockLabel, now: float, tried: bool = False
) -> tuple[Change | None, Change | None]:
    """The first value below `now`, and the first above it, at which another lock becomes cheaper
    than the best, by searches between the best and each other lock. `tried`: only values of the
    search itself count."""
    below: list[Change] = []
    above: list[Change] = []
    for search in searches:
        other = LockLabel(search.lock_b if search.lock_a == best else search.lock_a)
        for crossing in search.crossings:
            # Equal here: it changes here.
            if crossing.below == best and crossing.high >= now:
                value = crossing.high if tried else crossing.value
                above.append(Change(other, max(float(value), now)))
            elif crossing.below != best and crossing.low <= now:
                value = crossing.low if tried else crossing.value
                below.append(Change(other, min(float(value), now)))
    return (
        max(below, key=lambda change: change.value, default=None),
        min(above, key=lambda change: change.value, default=None),
    )


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
        self._cut: dict[
            str, None
        ] = {}  # axes that cannot be run as far as they were to be searched

    def answer(self, check: str = "", ranking: bool = False) -> Advice:
        """Runs what is missing and answers; with the same runs on the host's engine `check`;
        `ranking`: without a search for what would change the answer. Raises LockcrossError when a
        run fails."""
        self._calibrate()
        self._set_frame()
        store_machines(self._store, [self._base.machine])
        store_isas(self._store)
        tie = load_study(STUDY).tie_percent / 100
        locks = self._costs(tie, () if ranking else _SEEDS)
        error = self._error(locks[0].label, locks[1].label)
        if error is not None:  # where no lead is known to be decisive, all are ties
            tie = max(error.decisive if error.decisive is not None else 1.0, tie)
        lines = [] if ranking else self._lines()
        # Where two locks are close to each other, one seed is not enough to tell where they cross.
        axes = self._search(lines, locks, _SEEDS if locks[0].seeds > 1 else ()) if lines else ()
        shares: dict[str, float] = {}
        for part in strata(self._base):
            shares[part.words] = shares.get(part.words, 0.0) + float(part.weight)
        inputs = (
            given
            if given.low is None or given.high is None
            else replace(
                given,
                low=self._shown(given.name, given.low),
                high=self._shown(given.name, given.high),
            )
            for given in self._question.inputs
        )
        cut = "; ".join(USE_AXES.get(axis, axis) for axis in self._cut)
        notes = [f"Searched only as far as it can be run (see the table): {cut}"] * bool(cut)
        if len(self._question.searched) < len(self._question.labels) and not ranking:
            among = ", ".join(label.words() for label in self._question.searched)
            notes.append(
                f"What would change it was searched among the two cheapest and {among}; "
                "--locks names others"
            )
        if ranking:
            notes.append("What would change the answer was not looked for; without --ranking it is")
        if "fence_latency" in self._question.measured and not self._pays("fence_latency"):
            notes.append(
                "--measured-fence-latency changes nothing here: none of these locks has a full "
                "fence; --fences rmw,full compares both kinds"
            )
        advice = Advice(
            self._setting(),
            tuple(locks),
            tie,
            axes,
            tuple(inputs),
            shares,
            self._frame,
            error,
            self._question.limits,
            tuple(notes),
            (),
            self._contended(),
            self._of_program(locks, error),
        )
        advice = replace(advice, flips=tuple(self._flips(advice, lines)))
        if not check:
            return advice
        native = self._natively(check)
        return replace(
            advice, locks=tuple(replace(lock, native=native.get(lock.label)) for lock in locks)
        )

    def cost_of_first(self) -> float:
        """Cycles a pair of the first lock, by one seed. Raises LockcrossError when a run fails."""
        self._set_frame()
        return self._lock(self._question.labels[0], (FIRST_SEED,)).cost

    def _set_frame(self) -> None:
        if not self._keys["on_map"]:  # the costs of the main job's map are whole
            (floor,) = self._points([self._floor()])
            (null,) = self._evaluate([with_lock(self._base, NO_LOCK)])
            self._frame = float(null.cost - floor.cost)

    def _pays(self, axis: str) -> bool:
        """Whether any lock pays this latency."""
        return axis in self._question.latencies

    def _calibrate(self) -> None:
        """Fits set to measured latencies, and sets those that were asked for."""
        base, asked = self._base, self._question.measured
        tops = [2 * max(asked.get(axis, 0), own_latency(base, axis)) for axis in _MEASURED_AS]
        top = max(*_LATENCY_VALUES, *tops)
        settings = [
            Setting(base.machine, base.isa, base.flavour, x, x, base.engine, ops=LATENCY_OPS)
            for x in (0, top // 4, top // 2, top)
        ]
        measured = measure(self._runner, settings)
        for axis, (op, words) in _MEASURED_AS.items():
            self._scales[axis] = scale = Scale(
                [
                    (float(getattr(setting, axis)), costs[op].cycles)
                    for setting, costs in zip(settings, measured, strict=True)
                ]
            )
            if (cycles := asked.get(axis)) is None:
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
            with_lock(self._base, NO_LOCK),
            workload="lock_use",
            threads=1,
            parameters=with_defaults("lock_use", keys),
        )

    def _costs(self, tie: float, more_seeds: Sequence[int]) -> list[LockCost]:
        """Every lock, cheapest first; those near the cheapest with more seeds."""
        locks = {label: self._lock(label, (FIRST_SEED,)) for label in self._question.labels}
        costs = {label: answer.cost + self._frame for label, answer in locks.items()}
        least = min(costs.values())
        close = [label for label, cost in costs.items() if cost * (1 - _NEAR * tie) <= least]
        if len(close) > 1 and more_seeds:
            locks |= {label: self._lock(label, (FIRST_SEED, *more_seeds)) for label in close}
        # Store forwarding orders nothing: such a lock is shown, and never the best.
        return sorted(
            locks.values(), key=lambda lock: (lock.label not in self._sound, lock.cost, lock.label)
        )

    def _lock(self, label: LockLabel, seeds: Sequence[int]) -> LockCost:
        ids: list[int] = []
        every: list[dict[str, float]] = []  # metrics a pair, by seed
        for seed in seeds:
            parts = strata(with_lock(self._base, label, seed))
            runs = self._runner.require([stratum.cell for stratum in parts], PLAN)
            ids += [run.id for run in runs]
            whole = float(sum(stratum.weight for stratum in parts))
            metrics: dict[str, float] = {}
            for part, run in zip(parts, runs, strict=True):
                share = float(part.weight) / whole
                for name, value in run.metrics.items():
                    mean = share * value / run.metrics["pairs"]
                    metrics[name] = metrics.get(name, 0.0) + mean
            every.append(metrics)
        causes = {
            cause: sum(every[0].get(name, 0.0) for name in names) for cause, names in CAUSES.items()
        }
        causes[REST] = max(every[0]["core_cycles"] - sum(causes.values()), 0.0)
        costs = [metrics["core_cycles"] - self._frame for metrics in every]
        return LockCost(label, fmean(costs), min(costs), max(costs), len(seeds), causes, tuple(ids))

    def _error(self, best: LockLabel, other: LockLabel) -> EngineError | None:
        """How far the engine was off for locks like the first two at what most of the cost is;
        None where nothing like it was compared."""
        parts = strata(with_lock(self._base, best))
        costs = self._points([part.cell for part in parts])
        shares = [abs(part.weight * cost.cost) for part, cost in zip(parts, costs, strict=True)]
        cell = parts[shares.index(max(shares))].cell
        # One thread at a time works with objects that others never take, however many there are.
        alone = cell.workload == "lock_use" and not cell.parameters["turns"]
        work = ONE_THREAD if alone else work_of(cell.workload, cell.threads)
        if work is None:
            return None
        machine, kinds = load_machine(self._base.machine), {kind_of(best), kind_of(other)}
        return error_of(machine.out_of_order is not None, work, kinds, title=machine.title)

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

    def _search(
        self, lines: Sequence[AxisLine], locks: Sequence[LockCost], seeds: Sequence[int]
    ) -> tuple[AxisAnswer, ...]:
        """Looks along each line for where the best lock and each other cost the same, and stores
        what it finds. Of many locks the others are those to be searched among and the next best."""
        best, second, *others = (lock.label for lock in locks if lock.label in self._sound)
        others = [second, *(label for label in others if label in self._question.searched)]
        self._evaluate(
            [
                line.cell(label, x)
                for line in lines
                for label in (best, *others)
                for x in line.values
            ]
        )
        tasks = [
            CrossoverTask(line, best, other, line.values) for line in lines for other in others
        ]
        searches = search_all(self._evaluate, tasks, seeds)
        answers = []
        for line in lines:
            of_line = [search for search in searches if search.task.line is line]
            kept = [record for search in of_line for record in records(search)]
            self._store.set_crossovers(kept, line.series)
            now, shown = self._now(line.axis), partial(self._shown, line.axis)
            # Between two numbers of threads lies none.
            changes = nearest(
                [search.found for search in of_line], best, now, line.axis == "threads"
            )
            below, above = (
                change and replace(change, value=shown(change.value)) for change in changes
            )
            low, high = map(shown, line.limits)
            answers.append(AxisAnswer(line.axis, line.unit, shown(now), low, high, below, above))
        return tuple(answers)

    def _line(self, axis: str, values: Sequence[int], tolerance: int = 1) -> AxisLine:
        """An axis that has what is now, and the range within which an assumption of it lies; what
        the program does, as far as it can be run."""
        inputs = [given for given in self._question.inputs if given.name == axis]
        ends = [int(x) for given in inputs for x in (given.low, given.high) if x is not None]
        base, now = self._base, self._now(axis)
        if axis not in LATENCIES:  # along what the program does all runs are of one workload
            base = set_to(base, "on_map", 0)
            if values:
                ends = [min(max(x, min(values)), max(values)) for x in ends]
        if axis == "first_share":
            base = set_to(base, axis, now)
        name = digest([vars(base) | {"lock": ""}, sorted(self._question.labels)])[:12]
        line = AxisLine(
            f"{PLAN}/{name}/{axis}",
            base,
            axis,
            tuple(sorted({*values, *ends, now})),
            tolerance,
            unit=USE_QUANTITIES[axis].unit if axis in USE_QUANTITIES else "",
        )
        return line if axis in LATENCIES else self._that_can_be_run(line, now)

    def _that_can_be_run(self, line: AxisLine, now: int) -> AxisLine:
        """The part of a line, around where the use stands, in which every use can be run: a search
        may ask for any value. It ends where the first cannot, to the tolerance."""
        kept = {now}
        if not _can_be_run(line, now):
            self._cut[line.axis] = None
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
                self._cut[line.axis] = None
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

    def _flips(self, advice: Advice, lines: Sequence[AxisLine]) -> Iterator[Flip]:
        """The assumptions that decide: another lock, that it does not tie with now, leads by more
        than a tie at an end of the range."""
        shown = {given.name: given for given in advice.inputs}
        asked = {given.name: given for given in self._question.inputs}
        win = advice.win
        for line, answer in zip(lines, advice.axes, strict=True):
            assumed = asked.get(line.axis)
            if assumed is None or assumed.low is None or assumed.high is None:
                continue
            for change, end, sign in (
                (answer.below, assumed.low, -1),
                (answer.above, assumed.high, 1),
            ):
                x = min(max(int(end), line.limits[0]), line.limits[1])
                if change is None or change.lock in win.tied:
                    continue
                if sign * change.value > sign * self._shown(line.axis, x):
                    continue  # it lies outside the range
                ours, theirs = self._evaluate(
                    [line.cell(label, x) for label in (win.lock, change.lock)]
                )
                if float(1 - theirs.cost / ours.cost) > advice.tie:
                    yield Flip(shown[line.axis], answer, change, upwards=sign > 0)

    def _contended(self) -> Contended | None:
        """What the locks cost where all threads want one object, if that was asked for."""
        if not self._question.contended:
            return None
        keys = {name: self._keys[name] for name in ("critical", "think")}
        parameters = with_defaults("random_threads", {"iterations": _CONTENDED, **keys})
        base = replace(self._base, workload="random_threads", parameters=parameters)
        seeds = (FIRST_SEED, *_SEEDS)
        cells = [with_lock(base, label, seed) for label in self._sound for seed in seeds]
        costs: dict[LockLabel, list[float]] = {label: [] for label in self._sound}
        for cell, point in zip(cells, self._points(cells), strict=True):
            costs[cell.label].append(float(point.cost))
        return Contended(
            self._question.contended, {label: fmean(each) for label, each in costs.items()}
        )

    def _of_program(self, locks: Sequence[LockCost], error: EngineError | None) -> OfProgram | None:
        """What the locks cost the program, if one was recorded."""
        program = self._question.program
        if program is None:
            return None
        free = 1 - self._question.contended
        clock = load_machine(self._base.machine).clock_mhz.number * 1e6

        def part(cycles: float) -> float:
            # Of a program that does its work as fast as it was recorded, and has this lock.
            return free * cycles / (clock * program.work + free * cycles) if cycles > 0 else 0.0

        def share(lock: LockCost) -> Share:
            # The program's own work is measured, so the error is of the lock's cycles alone.
            whole = part(lock.cost)
            if error is None:
                return Share(whole * clock, None, None, whole, None, None)
            low, high = (part(end * lock.cost) for end in (error.low, error.high))
            return Share(whole * clock, low * clock, high * clock, whole, low, high)

        return OfProgram(
            free * program.per_second,
            program.plain,
            program.recording,
            program.runtime,
            {one.label: share(one) for one in locks},
        )

    def _natively(self, engine: str) -> dict[LockLabel, float]:
        """What the locks cost in the same use on this host, in its cycles; those that it cannot
        run are left out."""
        here = {"engine": engine, "machine": HOST} | dict.fromkeys(LATENCIES)

        def cycles(cells: Sequence[Cell]) -> list[float] | None:
            runs = self._runner.run([cell_of(cell, **here) for cell in cells], PLAN)
            if any(run.status != "ok" for run in runs):
                return None
            return [run.metrics["cycles_per_pair"] for run in runs]

        def cost(label: str) -> float | None:
            parts = strata(with_lock(self._base, label))
            if (each := cycles([part.cell for part in parts])) is None:
                return None
            weights = [float(part.weight) for part in parts]
            return float(sum(map(mul, weights, each)) / sum(weights))

        floor, unlocked = cycles([self._floor()]), cost(NO_LOCK)
        if floor is None or unlocked is None:
            return {}
        frame = 0.0 if self._keys["on_map"] else unlocked - floor[0]
        costs = {label: cost(label) for label in self._question.labels}
        return {label: whole - frame for label, whole in costs.items() if whole is not None}

    def _shown(self, axis: str, value: float) -> float:
        """What is set along an axis as it is shown: measured cycles, shares, means."""
        scale = self._scales.get(axis)
        return scale(value) if scale else float(value) / PARTS.get(axis, 1)

    def _evaluate(self, cells: Sequence[Cell]) -> list[Point]:
        """What uses cost: their strata, each by its weight. The run is that of the largest part."""
        uses = [strata(cell) for cell in cells]
        left = iter(self._points([part.cell for parts in uses for part in parts]))
        costs = []
        for parts in uses:
            runs = list(itertools.islice(left, len(parts)))
            weights = [part.weight for part in parts]
            cost = sum(map(mul, weights, (run.cost for run in runs)), Fraction(0)) / sum(weights)
            costs.append(Point(cost, runs[weights.index(max(weights))].run_id))
        return costs

    def _setting(self) -> dict[str, object]:
        base = self._base
        use = {name: self._shown(name, value) for name, value in self._keys.items()}
        del use["on_map"]
        cas, fence = (self._shown(axis, value_of(base, axis)) for axis in _MEASURED_AS)
        return {
            "machine": base.machine,
            "isa": base.isa,
            "flavour": base.flavour,
            "engine": base.engine,
            "threads": base.threads,
            "described": MEASURED if load_machine(base.machine).processor else QUOTED,
            **use,
            "first_share": None if self._keys["first_share"] < 0 else use["first_share"],
            "cas_measured": cas,
            "fence_measured": fence,
            "cancel": value_of(base, "cancel_latency"),
        }


def check_engine(engine: str, bases: Sequence[Cell]) -> None:
    """Raises LockcrossError for an engine that does not run programs of their ISAs on this host."""
    on_host = {
        engine_entry.label: able.isas
        for engine_entry in engines.ENGINES
        if (able := load_engine(engine_entry.label).capabilities()).host_machines
    }
    if engine not in on_host:
        raise LockcrossError(f"--check: {engine!r}: allowed is {', '.join(on_host)}")
    isas = on_host[engine]
    for base in bases:
        if base.isa not in isas:
            raise LockcrossError(
                f"--check {engine}: machine {base.machine} is {base.isa}, this host "
                f"{', '.join(isas)}"
            )


def _can_be_run(line: AxisLine, x: int) -> bool:
    try:
        for stratum in strata(line.cell(NO_LOCK, x)):
            check_cell(stratum.cell)
    except LockcrossError:
        return False
    return True
