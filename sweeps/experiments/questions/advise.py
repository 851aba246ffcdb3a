"""Answers `advise`: runs what is missing, and leaves the analysis to results/analysis/advice."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.analysis.advice import TRIED, Advice, AxisAnswer, LockCost, lock_cost, nearest
from results.analysis.crossover import Point
from results.analysis.study import Scale
from results.errors import LockcrossError
from results.model.cell import Cell
from results.model.label import LockLabel
from results.store.store import Store
from sweeps.execution.runner import Runner
from sweeps.experiments.calibrate import LATENCY_OPS, Setting, measure
from sweeps.experiments.crossover.cells import AxisLine
from sweeps.experiments.crossover.plan import load_study
from sweeps.experiments.crossover.searches import (
    CrossoverTask,
    Searched,
    points,
    records,
    search_all,
)
from sweeps.experiments.facts import store_isas, store_machines
from sweeps.experiments.questions.lines import (
    changed,
    line_through,
    own_latency,
    value_of,
    with_lock,
)
from sweeps.experiments.questions.question import STUDY, WHOLE, Question
from sweeps.model.cells import digest
from sweeps.model.locks import load_locks

PLAN = "advise"
_LATENCY_VALUES = (0, 15, 40, 100, 300)
_CANCEL_VALUES = (0, 1_000, 5_000, 20_000, 100_000)
_SHARES = (500_000, 600_000, 700_000, 800_000, 900_000, 950_000, 1_000_000)
_MORE_THREADS = (2, 3, 4, 6, 8)
_SEEDS = (2, 3)  # besides the first, where a lead is small
_NEAR = 2.5  # times a tie: a lead that further seeds look at


@dataclass(frozen=True)
class Axis:
    """An axis that is searched: the values it starts with, its tolerance and step."""

    name: str
    values: tuple[int, ...]
    tolerance: int = 1
    step: int = 1


class Advisor:
    """Answers one question with the runs of a store."""

    def __init__(self, question: Question, store: Store, runner: Runner) -> None:
        self._question = question
        self._store = store
        self._runner = runner
        self._base = question.base
        self._scales: dict[str, Scale] = {}

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
        store_machines(self._store, [self._base.machine])
        store_isas(self._store)
        tie, tie_why = self._tie()
        locks = self._costs(tie)
        best = locks[0].label
        axes = self._axes()
        lines = [self._line(axis) for axis in axes]
        tasks = [
            CrossoverTask(line, best, other.label, line.values)
            for line in lines
            for other in locks[1:]
        ]
        known = itertools.product(lines, locks)
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
        return Advice(
            self._setting(),
            tuple(locks),
            tie,
            tie_why,
            tuple(answers),
            self._question.assumed,
            load_study(STUDY).limits,
            self._question.notes,
        )

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
                self._base = changed(self._base, axis, self._to_set(axis, wanted))

    def _to_set(self, axis: str, wanted: int) -> int:
        value = self._scales[axis].inverse(wanted)
        if value is None:
            name = {"cas": "a CAS", "fence_latency": "a full fence"}[axis]
            raise LockcrossError(
                f"{wanted} cycles: {name} measures {self._scales[axis](0):.1f} or more on machine "
                f"{self._base.machine}, whatever is set"
            )
        return round(value)

    @staticmethod
    def _tie() -> tuple[float, str]:
        return load_study(STUDY).tie_percent / 100, "the main job's tie_percent"

    def _costs(self, tie: float) -> list[LockCost]:
        """Every lock, cheapest first; those near the cheapest with more seeds."""
        found = {label: self._lock(label, (1,)) for label in self._question.labels}
        best = min(one.cost for one in found.values())
        close = [one for one in found.values() if one.cost * (1 - _NEAR * tie) <= best]
        if len(close) > 1:
            found |= {one.label: self._lock(one.label, (1, *_SEEDS)) for one in close}
        return sorted(found.values(), key=lambda one: (one.cost, one.label))

    def _lock(self, label: LockLabel, seeds: Sequence[int]) -> LockCost:
        cells = [with_lock(self._base, label, seed) for seed in seeds]
        costs = self._evaluate(cells)
        runs = self._runner.require(cells, PLAN)
        return lock_cost(
            label,
            [(run.id, float(p.cost), run.metrics) for p, run in zip(costs, runs, strict=True)],
        )

    def _axes(self) -> list[Axis]:
        base = self._base
        axes = [
            _axis(base, "cas", _LATENCY_VALUES), _axis(base, "fence_latency", _LATENCY_VALUES),
            _axis(base, "cancel", _CANCEL_VALUES, 20),
        ]  # fmt: skip
        if base.threads > 1:
            step = WHOLE // int(base.parameters["runs"])
            shares = [round(share / step) * step for share in _SHARES]
            axes.append(_axis(base, "owner_share", shares, step, step))
        length = int(base.parameters["run_length"])
        lengths = [length * factor // 8 for factor in (1, 2, 4, 16, 32)]
        axes.append(_axis(base, "run_length", [max(one, 1) for one in lengths]))
        if (axis := self._threads()) is not None:
            axes.append(axis)
        return axes

    def _threads(self) -> Axis | None:
        """From two, or from one where the owner makes every acquisition, as far as the locks go."""
        alone = int(self._base.parameters["owner_share"]) == WHOLE
        limits = [load_locks()[one.lock].threads for one in self._question.labels]
        most = min([limit for limit in limits if limit] or [_MORE_THREADS[-1]])
        values = [n for n in ((1,) if alone else ()) + _MORE_THREADS if n <= most]
        axis = _axis(self._base, "threads", values)
        return axis if len(axis.values) > 1 else None

    def _line(self, axis: Axis) -> AxisLine:
        name = digest([vars(self._base) | {"lock": ""}, sorted(self._question.labels)])[:12]
        return line_through(
            self._base, axis.name, axis.values, f"{PLAN}/{name}/{axis.name}", axis.tolerance,
            axis.step,
        )  # fmt: skip

    def _axis_answer(
        self, axis: Axis, line: AxisLine, best: LockLabel, found: Sequence[Searched]
    ) -> AxisAnswer:
        now = value_of(self._base, axis.name)
        tried = line.unit in TRIED
        below, above = nearest([one.found for one in found], best, now, axis.step, tried)
        scale = self._scales.get(axis.name, float)
        return AxisAnswer(
            axis.name, line.unit, scale(now), scale(line.limits[0]), scale(line.limits[1]),
            below and replace(below, value=scale(below.value)),
            above and replace(above, value=scale(above.value)),
        )  # fmt: skip

    def _evaluate(self, cells: Sequence[Cell]) -> list[Point]:
        return points(self._runner, cells, PLAN)

    def _keep(self, found: Sequence[Searched]) -> None:
        by_series: dict[str, list[Searched]] = {}
        for one in found:
            by_series.setdefault(one.task.line.series, []).append(one)
        for name, several in by_series.items():
            kept = [record for one in several for record in records(one, self._base.engine)]
            self._store.set_crossovers(kept, name)

    def _setting(self) -> dict[str, object]:
        base = self._base
        found: dict[str, object] = {
            "machine": base.machine, "isa": base.isa, "flavour": base.flavour,
            "engine": base.engine, "workload": base.workload, "threads": base.threads,
        }  # fmt: skip
        found |= {name: base.parameters[name] for name in ("owner_share", "run_length", "runs")}
        found |= {
            "cas_measured": self._scales["cas"](value_of(base, "cas")),
            "fence_measured": self._scales["fence_latency"](value_of(base, "fence_latency")),
            "cancel": value_of(base, "cancel"),
        }
        return found


def _axis(base: Cell, name: str, values: Sequence[int], tolerance: int = 1, step: int = 1) -> Axis:
    now = value_of(base, name)
    return Axis(name, tuple(sorted({*values, now})), tolerance, step)
