"""Which lock is the cheapest in one setting, why, and how far that may move until another is."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import mul
from statistics import median

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines.base import load_engine
from sweeps.model import engines
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import NO_LOCK, Cell, cell_of
from sweeps.model.locks import LockLabel, cancels
from sweeps.model.machine import HOST, load_machine
from sweeps.model.workloads import with_defaults
from sweeps.questions.advise.advice import (
    USE_AXES,
    Advice,
    Between,
    Contended,
    Flip,
    LockCost,
    OfProgram,
    Saving,
    Share,
)
from sweeps.questions.advise.borders import Axis, axes_of, find_changes, tie_from
from sweeps.questions.advise.mixture import Scenario, mixture
from sweeps.questions.advise.question import (
    MEASURED,
    QUOTED,
    STORE_FORWARD,
    USUAL,
    Question,
    compared_study,
)
from sweeps.questions.advise.use import STEPS
from sweeps.run.runner import Runner
from sweeps.study.baseline import simplest
from sweeps.study.calibrate import LATENCY_OPS, Setting, measure, store_isas, store_machines
from sweeps.study.crossings import Point, points
from sweeps.study.leads import EngineErrors, Rule
from sweeps.study.lines import FIRST_SEED, own_latency, set_to, value_of, with_lock
from sweeps.study.results import Scale

PLAN = "advise"
# Where cycles go, by the metrics of a run; all else is the rest.
CAUSES = {
    "atomics": ("stall_atomic",),
    "fences": ("stall_fence",),
    "stores": ("stall_drain", "stall_store_buffer", "stall_forward"),
    "cancellations and barriers": ("stall_charge",),
    "misses": ("stall_l2", "stall_memory", "stall_transfer", "stall_upgrade", "stall_hold"),
    "branches": ("stall_mispredict", "stall_taken_branch"),
}
REST = "the rest"
_MEASURED_AS = {"cas_latency": ("cas", "a CAS"), "fence_latency": ("fence", "a full fence")}
_CALIBRATED = 300  # cycles, at least, up to which latencies are calibrated
_SEEDS = (2, 3)  # besides the first, where a lead is small
_NEAR = 2.5  # times a tie: a lead that further seeds look at
_CONTENDED = 400  # acquisitions of each thread


class Advisor:
    """Answers one question with the runs of a store."""

    def __init__(self, question: Question, store: Store, runner: Runner) -> None:
        self._question = question
        self._store = store
        self._runner = runner
        self._scenario = question.scenario
        self._sound = [label for label in question.labels if label.fence != STORE_FORWARD]
        self._scales: dict[str, Scale] = {}
        self._frame = 0.0  # cycles a pair that are no lock's

    def answer(self, check: str = "", ranking: bool = False) -> Advice:
        """Run the missing cells and answer; with the same runs on the host's engine `check`;
        `ranking`: without a search for changes of the answer. Raises LockcrossError when a run
        fails."""
        question = self._question
        self._calibrate()
        self._set_frame()
        store_machines(self._store, [self._scenario.base.machine])
        store_isas(self._store)
        tie = compared_study().tie
        locks = self._costs(tie, () if ranking else _SEEDS)
        known = self._errors(locks[0].label)
        axes = [] if ranking else axes_of(question, self._scenario)
        moving = [axis for axis in axes if len(axis.values) > 1]
        # Of many locks the others are those to be searched among and the next best.
        best, second, *more = (lock.label for lock in locks if lock.label in self._sound)
        others = [second, *(label for label in more if label in question.searched)]
        rule = Rule(known, tie)
        found = find_changes(
            moving, best, others, self._evaluate, self._displayed, rule, self._frame
        )
        shares: dict[str, float] = {}
        for run in mixture(self._scenario.use):
            shares[run.words] = shares.get(run.words, 0.0) + float(run.weight)
        native = self._natively(check) if check else {}
        cancelling = self._with_open_cancellations()
        candidates = [best, *dict.fromkeys(others)]
        advice = Advice(
            setting=self._setting(),
            between=self._between([], [], None),
            locks=tuple(
                replace(lock, native=native.get(lock.label), cancelling=cancelling.get(lock.label))
                for lock in locks
            ),
            tie=tie,
            axes=tuple(found),
            # Of latencies that are calibrated: as they measure.
            inputs=tuple(
                entry
                if entry.low is None or entry.high is None or entry.name not in self._scales
                else replace(
                    entry,
                    low=self._displayed(entry.name, entry.low),
                    high=self._displayed(entry.name, entry.high),
                )
                for entry in question.inputs
            ),
            parts=shares,
            work=self._frame,
            limits=question.limits,
            notes=tuple(self._notes(ranking, [axis.name for axis in axes if axis.cut])),
            flips=(),
            contended=self._contended(),
            program=self._of_program(locks, known),
            known=known,
        )
        return replace(
            advice,
            between=self._between(
                [one for one in moving if one.name == "think"], candidates, advice
            ),
            flips=tuple(self._flips(advice, moving)),
            saving=self._saving(advice),
        )

    def foreseen(self, ranking: bool) -> list[Cell]:
        """Return the cells that the answer begins with; more follow where it is searched."""
        scenario, question = self._scenario, self._question
        asked = [scenario.with_lock(label) for label in (*question.labels, NO_LOCK)]
        if (ends := question.open_cancellation) is not None:
            dear = [scenario.moved("cancel_latency", end) for end in ends]
            asked += [one.with_lock(at) for one in dear for at in question.labels if cancels(at)]
        for axis in () if ranking else axes_of(question, scenario):
            asked += [axis.at(label, x) for label in question.searched for x in axis.values]
        return [cell for one in asked for cell in one.cells]

    def cost_of_first(self) -> float:
        """Return the cost of the first lock, by one seed. Raises LockcrossError when a run
        fails."""
        self._set_frame()
        label = self._question.labels[0]
        return self._lock_costs([label], [FIRST_SEED])[label].cost

    def _notes(self, ranking: bool, cut: Sequence[str]) -> Iterator[str]:
        question = self._question
        if cut:
            words = "; ".join(USE_AXES.get(name, name) for name in cut)
            yield f"Searched only as far as it can be run (see the table): {words}"
        if ranking:
            yield "What would change the answer was not looked for; without --ranking it is"
        elif len(question.searched) < len(question.labels):
            among = ", ".join(label.words() for label in question.searched)
            yield (
                f"What would change it was searched among the two cheapest and {among}; "
                "--locks names others"
            )
        if "fence_latency" in question.measured and "fence_latency" not in question.latencies:
            yield (
                "--measured-fence-latency changes nothing here: none of these locks has a full "
                "fence; --fences rmw,full compares both kinds"
            )

    def _calibrate(self) -> None:
        """Fit set to measured latencies, and set those that were asked for."""
        base, wanted = self._scenario.base, self._question.measured
        tops = [2 * max(wanted.get(axis, 0), own_latency(base, axis)) for axis in _MEASURED_AS]
        top = max(_CALIBRATED, *tops)
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
            if (cycles := wanted.get(axis)) is None:
                continue
            if (value := scale.inverse(cycles)) is None:
                raise LockcrossError(
                    f"{cycles} cycles: {words} measures {scale(0):.1f} or more on machine "
                    f"{base.machine}, whatever is set"
                )
            base = set_to(base, axis, round(value))
        self._scenario = replace(self._scenario, base=base)

    def _set_frame(self) -> None:
        (floor,) = points(self._runner, PLAN, [simplest(self._scenario.base)])
        (unlocked,) = self._evaluate([self._scenario.with_lock(NO_LOCK)])
        self._frame = float(unlocked.cost - floor.cost)

    def _costs(self, tie: float, more_seeds: Sequence[int]) -> list[LockCost]:
        """Return every lock, cheapest first; those near the cheapest with more seeds."""
        locks = self._lock_costs(self._question.labels, [FIRST_SEED])
        costs = {label: lock.cost + self._frame for label, lock in locks.items()}
        least = min(costs.values())
        close = [label for label, cost in costs.items() if cost * (1 - _NEAR * tie) <= least]
        if len(close) > 1 and more_seeds:
            locks |= self._lock_costs(close, (FIRST_SEED, *more_seeds))
        # Store forwarding orders nothing: such a lock is shown, and never the best.
        return sorted(
            locks.values(), key=lambda lock: (lock.label not in self._sound, lock.cost, lock.label)
        )

    def _with_open_cancellations(self) -> dict[LockLabel, tuple[float, float]]:
        """Return the costs of the locks that cancel, by one seed, with the cheapest and the dearest
        cancellation that the machine leaves open."""
        if (ends := self._question.open_cancellation) is None:
            return {}
        labels = [label for label in self._question.labels if cancels(label)]
        costs = self._evaluate(
            [
                self._scenario.moved("cancel_latency", end).with_lock(label)
                for label in labels
                for end in ends
            ]
        )
        each = iter(float(point.cost) - self._frame for point in costs)
        return {label: (next(each), next(each)) for label in labels}

    def _lock_costs(
        self, labels: Sequence[LockLabel], seeds: Sequence[int]
    ) -> dict[LockLabel, LockCost]:
        cells = {
            label: [cell for seed in seeds for cell in self._scenario.with_lock(label, seed).cells]
            for label in labels
        }
        left = iter(self._runner.require(list(itertools.chain(*cells.values())), PLAN))
        weights = [run.weight for run in mixture(self._scenario.use)]
        shares = [float(weight) / float(sum(weights)) for weight in weights]
        locks = {}
        for label, of_lock in cells.items():
            runs = list(itertools.islice(left, len(of_lock)))
            by_seed: list[dict[str, float]] = []  # metrics a pair
            for first in range(0, len(runs), len(shares)):
                metrics: dict[str, float] = {}
                for share, run in zip(shares, runs[first:], strict=False):
                    for name, value in run.metrics.items():
                        each = share * value / run.metrics["pairs"]
                        metrics[name] = metrics.get(name, 0.0) + each
                by_seed.append(metrics)
            causes = {
                cause: sum(by_seed[0].get(name, 0.0) for name in names)
                for cause, names in CAUSES.items()
            }
            causes[REST] = max(by_seed[0]["core_cycles"] - sum(causes.values()), 0.0)
            costs = [metrics["core_cycles"] - self._frame for metrics in by_seed]
            ids = tuple(run.id for run in runs)
            locks[label] = LockCost(
                label, median(costs), min(costs), max(costs), len(seeds), causes, ids
            )
        return locks

    def _errors(self, best: LockLabel) -> EngineErrors:
        """Return how far the engine was off at the work that makes most of the best lock's cost."""
        cells = self._scenario.with_lock(best).cells
        costs = points(self._runner, PLAN, cells)
        weights = [run.weight for run in mixture(self._scenario.use)]
        shares = [abs(weight * run.cost) for weight, run in zip(weights, costs, strict=True)]
        cell = cells[shares.index(max(shares))]
        # One thread at a time works with objects that others never take, however many there are.
        alone = cell.workload == "lock_use" and not cell.parameters["turns"]
        return Rule.of(replace(cell, threads=1) if alone else cell).known

    def _saving(self, advice: Advice) -> Saving:
        """Return the saving by the cheapest lock beside the one that the program has, or that
        HotSpot ships today, or else beside the next."""
        win, program = advice.win, self._question.program
        today = program.runtime if program is not None else USUAL
        labels = [lock.label for lock in advice.locks if lock.label.lock == today]
        has = bool(labels) and win.lock not in labels
        other = labels[0] if has else win.runner_up
        costs = {label: advice.beside_work(label) for label in (win.lock, other)}
        lead, dearer = advice.rule.lead(costs, win.lock, other, advice.seeds), costs[other]
        error = lead.error
        share = None
        if program is not None:
            free = 1 - self._question.contended
            clock = load_machine(self._scenario.base.machine).clock_mhz.number * 1e6
            share = free * lead.margin / (clock * program.work + free * dearer)
        elif self._question.rated:
            share = lead.margin / (advice.work + dearer)
        low, high = (None, None) if lead.is_tie or error is None else error.difference
        return Saving(win.lock, other, has, lead.margin, share, low, high, lead.share, lead.is_tie)

    def _flips(self, advice: Advice, axes: Sequence[Axis]) -> Iterator[Flip]:
        """Yield the assumptions that decide: another lock, that it does not tie with now, leads by
        more than a tie at an end of the range."""
        win = advice.win
        shown = {entry.name: entry for entry in advice.inputs}
        inputs = {entry.name: entry for entry in self._question.inputs}
        for axis, answer in zip(axes, advice.axes, strict=True):
            assumed = inputs.get(axis.name)
            if assumed is None or assumed.low is None or assumed.high is None:
                continue
            for change, end, sign in (
                (answer.below, assumed.low, -1),
                (answer.above, assumed.high, 1),
            ):
                x = round(end * STEPS.get(axis.name, 1))
                x = min(max(x, axis.values[0]), axis.values[-1])
                if change is None or change.lock in win.tied:
                    continue
                if sign * change.value > sign * self._displayed(axis.name, x):
                    continue  # it lies outside the range
                ours, theirs = self._beside_work(
                    [axis.at(label, x) for label in (win.lock, change.lock)]
                )
                least = advice.rule.least(change.lock, win.lock)
                if theirs.cost < ours.cost * (1 - Fraction(least)):
                    yield Flip(shown[axis.name], answer, change, upwards=sign > 0)

    def _contended(self) -> Contended | None:
        """Return the costs of the locks where all threads want one object, if they were asked
        for."""
        if not self._question.contended:
            return None
        use = self._scenario.use
        keys = {"iterations": _CONTENDED, "critical": use.critical, "think": use.think}
        parameters = with_defaults("random_threads", keys)
        base = replace(self._scenario.base, workload="random_threads", parameters=parameters)
        seeds = (FIRST_SEED, *_SEEDS)
        cells = [with_lock(base, label, seed) for label in self._sound for seed in seeds]
        costs: dict[LockLabel, list[float]] = {label: [] for label in self._sound}
        for cell, point in zip(cells, points(self._runner, PLAN, cells), strict=True):
            costs[cell.label].append(float(point.cost))
        middle = {label: median(each) for label, each in costs.items()}
        spread = {label: (min(each), max(each)) for label, each in costs.items()}
        win = Rule.of(base).winner(middle, spread)
        return Contended(self._question.contended, middle, win.words)

    def _of_program(self, locks: Sequence[LockCost], known: EngineErrors) -> OfProgram | None:
        """Return the costs of the locks in the program, if one was recorded."""
        program = self._question.program
        if program is None:
            return None
        free = 1 - self._question.contended
        clock = load_machine(self._scenario.base.machine).clock_mhz.number * 1e6

        def part(cycles: float) -> float:
            # Of a program that does its work as fast as it was recorded, and has this lock.
            return free * cycles / (clock * program.work + free * cycles) if cycles > 0 else 0.0

        def share(lock: LockCost) -> Share:
            # The program's own work is measured, so the error is of the lock's cycles alone.
            taken, error = part(lock.cost), known(lock.label, lock.label)
            if error is None:
                return Share(taken * clock, None, None, taken, None, None)
            low, high = (part(end * lock.cost) for end in (error.low, error.high))
            return Share(taken * clock, low * clock, high * clock, taken, low, high)

        return OfProgram(
            free * program.per_second,
            program.plain,
            program.recording,
            program.runtime,
            {lock.label: share(lock) for lock in locks},
        )

    def _between(
        self, think: Sequence[Axis], labels: Sequence[LockLabel], advice: Advice | None
    ) -> Between:
        """Return the work between two sections, and its effect along its axis, if that is
        searched."""
        use, machine = self._scenario.use, load_machine(self._scenario.base.machine)
        known = next(one for one in self._question.inputs if one.name == "think")
        amounts = dict(use.works) or {use.think: Fraction(1)}
        shares = {n: float(share) for n, share in amounts.items()}
        found = Between(use.think, known.kind, known.source, shares, machine.clock_mhz.number)
        for axis in think:
            assert advice is not None
            points = self._beside_work([axis.at(label, axis.values[0]) for label in labels])
            costs = {label: point.cost for label, point in zip(labels, points, strict=True)}
            first = min(costs, key=lambda label: costs[label])
            found = replace(found, cheapest=first, searched_to=axis.values[-1])
            least = {label: Fraction(advice.rule.least(first, label)) for label in labels}
            behind = [one for one in labels if costs[one] * (1 - least[one]) > costs[first]]
            if not axis.values[0] and behind:
                other = min(behind, key=lambda label: costs[label])
                lead = float(costs[other] - costs[first])
                border = tie_from(axis, first, other, float(least[other]), self._beside_work)
                found = replace(found, other=other, lead=lead, tie_from=border)
        return found

    def _natively(self, engine: str) -> dict[LockLabel, float]:
        """Return the costs of the locks in the same use on this host, in its cycles; those that it
        cannot run are left out."""
        here = {"engine": engine, "machine": HOST} | dict.fromkeys(LATENCIES)
        weights = [float(run.weight) for run in mixture(self._scenario.use)]

        def cycles(cells: Sequence[Cell]) -> list[float] | None:
            runs = self._runner.run([cell_of(cell, **here) for cell in cells], PLAN)
            if any(run.status != "ok" for run in runs):
                return None
            return [run.metrics["cycles_per_pair"] for run in runs]

        def cost(label: str) -> float | None:
            each = cycles(self._scenario.with_lock(label).cells)
            return None if each is None else float(sum(map(mul, weights, each)) / sum(weights))

        floor, unlocked = cycles([simplest(self._scenario.base)]), cost(NO_LOCK)
        if floor is None or unlocked is None:
            return {}
        frame = unlocked - floor[0]
        costs = {label: cost(label) for label in self._question.labels}
        return {label: cost - frame for label, cost in costs.items() if cost is not None}

    def _displayed(self, axis: str, value: float) -> float:
        """Return a value on an axis, in steps, as it is shown: measured cycles, shares, means."""
        scale = self._scales.get(axis)
        return scale(value) if scale else float(value) / STEPS.get(axis, 1)

    def _evaluate(self, scenarios: Sequence[Scenario]) -> list[Point]:
        """Return the costs of scenarios, each with the run of the largest part."""
        cells = [scenario.cells for scenario in scenarios]
        left = iter(points(self._runner, PLAN, list(itertools.chain(*cells))))
        costs = []
        for scenario in scenarios:
            weights = [run.weight for run in mixture(scenario.use)]
            runs = list(itertools.islice(left, len(weights)))
            cost = sum(map(mul, weights, (run.cost for run in runs)), Fraction(0)) / sum(weights)
            costs.append(Point(cost, runs[weights.index(max(weights))].run_id))
        return costs

    def _beside_work(self, scenarios: Sequence[Scenario]) -> list[Point]:
        """Return the costs of scenarios less their costs without a lock."""
        whole = self._evaluate(scenarios)
        unlocked = self._evaluate([scenario.with_lock(NO_LOCK) for scenario in scenarios])
        (now,) = self._evaluate([self._scenario.with_lock(NO_LOCK)])
        floor = now.cost - Fraction(self._frame)
        return [
            replace(one, cost=one.cost - without.cost + floor)
            for one, without in zip(whole, unlocked, strict=True)
        ]

    def _setting(self) -> Mapping[str, object]:
        base, use = self._scenario.base, dict(vars(self._scenario.use))
        del use["works"]
        cas, fence = (self._displayed(axis, value_of(base, axis)) for axis in _MEASURED_AS)
        return {
            "machine": base.machine,
            "isa": base.isa,
            "flavour": base.flavour,
            "engine": base.engine,
            "described": MEASURED if load_machine(base.machine).processor else QUOTED,
            **{name: number if number is None else float(number) for name, number in use.items()},
            "threads": base.threads,
            "cas_measured": cas,
            "fence_measured": fence,
            "cancel": value_of(base, "cancel_latency"),
            "membarrier": base.membarrier_latency,
            "asked": dict(self._question.measured),
        }


def check_engine(engine: str, bases: Sequence[Cell]) -> None:
    """Raise LockcrossError for an engine that does not run programs of their ISAs on this host."""
    able = {entry.label: load_engine(entry.label).capabilities() for entry in engines.ENGINES}
    on_host = {label: known.isas for label, known in able.items() if known.host_machines}
    if engine not in on_host:
        raise LockcrossError(f"--check: {engine!r}: allowed is {', '.join(on_host)}")
    isas = on_host[engine]
    for base in bases:
        if base.isa not in isas:
            raise LockcrossError(
                f"--check {engine}: machine {base.machine} is {base.isa}, this host "
                f"{', '.join(isas)}"
            )
