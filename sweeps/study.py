"""The main job: `lockcross crossover`. Everything it finds is in the database; it goes on where it
was stopped, and a second run has nothing to do."""

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from results.crossover import Crossover, Point, Search, find_all, search
from results.database import DATABASE
from results.errors import LockcrossError
from results.records import (
    CrossoverRecord,
    CrossoverRun,
    MachineRecord,
    StoredRun,
)
from results.store import Store
from results.winners import neighbours
from sweeps.calibrate import Setting, calibrate
from sweeps.cells import Cell
from sweeps.engines import load_engine
from sweeps.isa import ISAS
from sweeps.machine import load_machine
from sweeps.options import Database, Jobs
from sweeps.progress import one_bar
from sweeps.runner import Runner
from sweeps.study_cells import Line, StudyCells, isa_of
from sweeps.study_plan import StudyPlan, load_study

PLAN = "crossover"
_RUNS_A_SEARCH = 4  # typical: one window around the interpolated crossing, both locks


@dataclass(frozen=True)
class Hunt:
    """One search: a pair of locks along a line, from the coarse values it starts with."""

    line: Line
    lock_a: str
    lock_b: str
    coarse: tuple[int, ...]

    def search(self) -> Search:
        """The search itself, in steps of the line's unit."""
        step = self.line.step
        return search(
            self.lock_a, self.lock_b, [x // step for x in self.coarse], self.line.tolerance // step
        )


class Study:
    """Runs a plan for some flavours and stores what comes of it."""

    def __init__(self, plan: StudyPlan, flavours: list[str], store: Store, runner: Runner) -> None:
        self._plan = plan
        self._flavours = flavours
        self._store = store
        self._runner = runner
        self._cells = StudyCells(plan)
        self._tables = self._cells.table_machines(flavours)

    def known_cells(self) -> list[Cell]:
        """Every cell that can be named before anything has been run."""
        cells = [s.cell(*loop) for s in self._calibrations() for loop in s.loops()]
        for flavour in self._flavours:
            # The longest first: the shorter ones then fill the gaps at the end.
            cells += self._cells.run_length_cells(flavour)[::-1]
            cells += self._cells.map_cells(flavour).values()
            for line in self._axis_lines(flavour):
                cells += [line.cell(lock, x) for x in line.values for lock in self._plan.locks]
        for machine, flavour in self._tables:
            cells += self._cells.table_cells(machine, flavour)
        return cells + self._cells.rounds_cells()

    def estimated_searches(self) -> int:
        """About how many runs the searches will ask for."""
        plan = self._plan
        pairs = len(plan.locks) * (len(plan.locks) - 1) // 2
        lines = len(plan.map.cas) + len(plan.map.fence_latency)
        lengths = len(plan.run_length.cancel) if plan.run_length else 0
        hunts = lines + pairs * (2 + len(plan.axes)) + 2 * lengths
        return len(self._flavours) * hunts * _RUNS_A_SEARCH

    def run(self) -> None:
        """Runs everything and stores series, calibrations, crossovers and facts.

        Raises LockcrossError (exit code 1) when a run of the job fails.
        """
        self._runs(self.known_cells())
        calibrate(self._runner, self._store, self._calibrations())
        hunts: list[Hunt] = []
        for flavour in self._flavours:
            hunts += self._map_hunts(flavour)
            for line in self._axis_lines(flavour):
                hunts += self._pair_hunts(line)
            for cancel in self._plan.run_length.cancel if self._plan.run_length else []:
                line = self._cells.run_length_line(flavour, cancel)
                hunts += [
                    h for h in self._pair_hunts(line) if "reservation" in (h.lock_a, h.lock_b)
                ]
        searches = {number: hunt.search() for number, hunt in enumerate(hunts)}

        def evaluate(wanted: Sequence[tuple[int, str, int]]) -> list[Point]:
            lines = [(hunts[number].line, lock, x) for number, lock, x in wanted]
            return self._evaluate(line.cell(lock, x * line.step) for line, lock, x in lines)

        found = find_all(evaluate, searches)
        if self._store.fact("plan") not in (None, self._plan.model_dump()):
            self._store.forget_series()  # they are another plan's: not to be drawn with this one's
        self._store_crossovers([(hunts[number], found[number]) for number in searches])
        self._store_series()
        self._store_facts()

    def _calibrations(self) -> list[Setting]:
        given = self._plan.calibration
        settings = [
            Setting(
                self._plan.machine, isa_of(flavour), flavour, latency, latency, self._plan.engine
            )
            for flavour in self._flavours
            for latency in given.latencies
        ]
        settings += [
            Setting(machine, isa_of(flavour), flavour, None, None, self._plan.engine)
            for machine, flavour in self._tables
        ]
        return settings

    def _axis_lines(self, flavour: str) -> list[Line]:
        grid = self._plan.map
        return [
            self._cells.latency_line(flavour, "cas", None, grid.cas),
            self._cells.latency_line(flavour, "fence_latency", None, grid.fence_latency),
            *(self._cells.axis_line(flavour, name, axis) for name, axis in self._plan.axes.items()),
        ]

    def _pair_hunts(self, line: Line) -> list[Hunt]:
        return [
            Hunt(line, a, b, line.values) for a, b in itertools.combinations(self._plan.locks, 2)
        ]

    def _map_hunts(self, flavour: str) -> list[Hunt]:
        """Between neighbours on the grid that different locks win: with full fences alone, and
        with every fence kind in the contest."""
        cells = self._cells.map_cells(flavour)
        costs: dict[tuple[int, int], dict[str, float]] = {}
        for (label, cas, fence), point in zip(cells, self._evaluate(cells.values()), strict=True):
            costs.setdefault((cas, fence), {})[label] = float(point.cost)
        full = {
            place: {label: cost for label, cost in found.items() if "/" not in label}
            for place, found in costs.items()
        }
        hunts = {}
        for first, second, here, there in [*neighbours(full), *neighbours(costs)]:
            axis, low, high, other = (
                ("cas", here[0], there[0], here[1])
                if here[1] == there[1]
                else ("fence_latency", here[1], there[1], here[0])
            )
            line = self._cells.latency_line(flavour, axis, other, [low, high])
            lock_a, lock_b = sorted((first, second))
            hunts[flavour, axis, low, other, lock_a, lock_b] = Hunt(
                line, lock_a, lock_b, (low, high)
            )
        return list(hunts.values())

    def _evaluate(self, cells: Iterable[Cell]) -> list[Point]:
        """Cost in core cycles per pair, exactly, of each cell."""
        wanted = list(cells)
        return [
            self._point(cell, run) for cell, run in zip(wanted, self._runs(wanted), strict=True)
        ]

    def _runs(self, cells: Sequence[Cell]) -> list[StoredRun]:
        runs = self._runner.run(cells, PLAN)
        for cell, run in zip(cells, runs, strict=True):
            if run.status != "ok":
                raise LockcrossError(
                    f"a run of the main job {run.status}: {run.cause}\n  `lockcross show {run.id}` "
                    f"shows it; this repeats it: {cell.command()}\n  The others are stored; after "
                    "the mistake is mended the same command goes on from here.",
                    exit_code=1,
                )
        return runs

    def _point(self, cell: Cell, run: StoredRun) -> Point:
        if cell.lock not in self._plan.cancelling and run.metrics.get("charges_stop", 0) > 0:
            raise LockcrossError(
                f"lock {cell.lock} stops threads: add it to `cancelling` in the study's plan"
            )
        cycles, pairs = int(run.metrics["core_cycles"]), int(run.metrics["pairs"])
        return Point(Fraction(cycles, pairs), run.id)

    def _evaluate_hunts(self, wanted: Sequence[tuple[Hunt, str, int]]) -> list[Point]:
        return self._evaluate(hunt.line.cell(lock, x * hunt.line.step) for hunt, lock, x in wanted)

    def _store_crossovers(self, found: Sequence[tuple[Hunt, Crossover]]) -> None:
        by_series: dict[str, list[CrossoverRecord]] = {}
        for flavour in self._flavours:
            for series in ("map", "run_length"):
                by_series[series_name(series, flavour)] = []
        for hunt, crossover in found:
            name = series_name(hunt.line.series, hunt.line.flavour)
            by_series.setdefault(name, []).extend(self._records(hunt, crossover))
        for name, records in by_series.items():
            self._store.set_crossovers(records, name)

    def _records(self, hunt: Hunt, found: Crossover) -> list[CrossoverRecord]:
        line, step = hunt.line, hunt.line.step
        runs = tuple(
            CrossoverRun(point.run_id, lock, x * step, float(point.cost))
            for (lock, x), point in found.points.items()
        )
        always = {"a_always": found.lock_a, "b_always": found.lock_b}.get(found.verdict, "")
        ends: list[tuple[str, float | None, int | None, int | None]] = [
            (c.below, float(c.value * step), c.low * step, c.high * step) for c in found.crossings
        ] or [(always, None, None, None)]
        return [
            CrossoverRecord(
                machine=self._plan.machine, isa=isa_of(line.flavour), flavour=line.flavour,
                engine=self._plan.engine, workload="lock_sequence", setting=line.setting,
                unit=line.unit, lock_a=found.lock_a, lock_b=found.lock_b, low=min(hunt.coarse),
                high=max(hunt.coarse), tolerance=line.tolerance, axis=line.axis,
                verdict=found.verdict, below=below, value=value, bracket_low=low,
                bracket_high=high, runs=runs,
            )
            for below, value, low, high in ends
        ]  # fmt: skip

    def _store_series(self) -> None:
        """Which runs the figures and the tables are drawn from. All are stored already."""
        series: dict[str, list[Cell]] = {}
        if rounds := self._plan.rounds:
            series[f"rounds/{rounds.machine}/{rounds.flavour}"] = self._cells.rounds_cells()
        for flavour in self._flavours:
            series[series_name("map", flavour)] = list(self._cells.map_cells(flavour).values())
            series[series_name("run_length", flavour)] = self._cells.run_length_cells(flavour)
        for machine, flavour in self._tables:
            name = f"table/{machine}/{isa_of(flavour)}/{flavour}"
            series[name] = self._cells.table_cells(machine, flavour)
        for name, cells in series.items():
            self._store.set_series(name, [run.id for run in self._runs(cells)])

    def _store_facts(self) -> None:
        machines = {machine for machine, _ in self._tables}
        if self._plan.rounds:
            machines.add(self._plan.rounds.machine)
        for name in sorted(machines):
            machine = load_machine(name)
            description = machine.model_dump(exclude_none=True)
            self._store.set_machine(MachineRecord(name, machine.title, description))
        self._store.set_fact("plan", self._plan.model_dump())
        store_isas(self._store)


def store_isas(store: Store) -> None:
    """The titles of the ISAs, for those who draw."""
    for isa in ISAS.values():
        mechanism = isa.full_fence.removeprefix("fence_")
        store.set_fact(f"isa/{isa.name}", {"title": isa.title, "full_fence": mechanism})


def series_name(kind: str, flavour: str) -> str:
    """The name of a series of the study's own machine."""
    return f"{kind}/{isa_of(flavour)}/{flavour}"


def _flavours(plan: StudyPlan, isas: list[str] | None) -> list[str]:
    if unknown := [isa for isa in isas or [] if isa not in ISAS]:
        raise LockcrossError(f"--isa: {unknown[0]!r} is unknown; known are {', '.join(ISAS)}")
    found = [flavour for flavour in plan.flavours if not isas or isa_of(flavour) in isas]
    if not found:
        raise LockcrossError(f"--isa: this study has {', '.join(plan.flavours)} only")
    return found


def crossover(
    isa: Annotated[
        list[str] | None, typer.Option(help="Only this ISA; may be given more than once.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A coarse grid: a look in seconds.")
    ] = False,
    study: Annotated[
        str, typer.Option(help="A file of sweeps/studies, e.g. gem5_o3; in place of --quick.")
    ] = "",
    jobs: Jobs = 0,
    db: Database = DATABASE,
    output: Annotated[
        Path | None, typer.Option(help="Folder of figures and report; default: the database's.")
    ] = None,
) -> None:
    """The main job: measure, find the crossovers, draw the figures, write the report."""
    if quick and study:
        raise LockcrossError("--quick is a study of its own; give it or --study")
    plan = load_study(study or ("crossover_quick" if quick else "crossover"))
    flavours = _flavours(plan, isa)
    for flavour in flavours:  # an engine that is missing is said before a database is made
        load_engine(plan.engine).version(isa_of(flavour))
    started, begin = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    with Store(db) as store:
        new = _measure(store, plan, flavours, jobs)
        if new:
            duration = round(time.monotonic() - begin, 1)
            store.set_fact(
                "job",
                {
                    "command": " ".join(
                        ["./lockcross crossover", *(["--quick"] if quick else []),
                         *([f"--study {study}"] if study else []),
                         *(f"--isa {name}" for name in isa or [])]
                    ),
                    "started": started, "duration_s": duration, "new_runs": new,
                },
            )  # fmt: skip
    _present(db, output or db.parent)


def _measure(store: Store, plan: StudyPlan, flavours: list[str], jobs: int) -> int:
    """Runs the study; returns how many runs were new."""
    before = _count_runs(store)
    look = Runner(store, jobs, retry_failed=True)
    study = Study(plan, flavours, store, look)
    missing = len(look.look_up(study.known_cells()).missing)
    if missing:
        with one_bar(missing + study.estimated_searches()) as progress:
            runner = Runner(store, jobs, progress, retry_failed=True)
            Study(plan, flavours, store, runner).run()
    else:
        study.run()
    return _count_runs(store) - before


def _count_runs(store: Store) -> int:
    (count,) = store.connection.execute("SELECT count(*) FROM runs").fetchone()
    return int(count)


def _present(db: Path, output: Path) -> None:
    from results.present import present

    present(db, output)


def register(app: typer.Typer) -> None:
    """Adds the `crossover` command."""
    app.command()(crossover)
