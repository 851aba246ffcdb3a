"""The contents of a database on a study: its plan, series, crossovers and calibrations, from which
figures, tables and report are made."""

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict

from results.errors import NoDataError
from results.store import queries
from results.store.facts import Fact
from results.store.records import FirstSeeds
from sweeps.model.cell import read_cell, selected
from sweeps.model.isa import FLAVOURS
from sweeps.model.locks import LockLabel
from sweeps.study.baseline import Baseline
from sweeps.study.lines import FIRST_SEED
from sweeps.study.plan import Plan
from sweeps.study.runs import StudyRun
from sweeps.study.untold import Untold, untold_of


class Isa(BaseModel):
    """An ISA's title and the mnemonic of its full fence."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)
    title: str
    full_fence: str


@dataclass(frozen=True)
class JobFact:
    """The last main job that made new runs."""

    command: str
    started: str  # ISO 8601
    duration_s: float
    new_runs: int


PLAN: Fact[Plan] = Fact("plan", Plan)  # of a main job
JOB: Fact[JobFact] = Fact("job", JobFact)
ISA: Fact[Isa] = Fact("isa", Isa)


_FORMER_STOP = (
    "stop"  # in descriptions from before a stop took what the stopped thread's state says
)
_ALIKE = 0.25  # of a CAS: what its other atomics may take more or less to be alike


def _number(figure: Mapping[str, Any]) -> int | None:
    """Return the number of a figure as a description has it."""
    return next((figure[key] for key in ("value", "derived", "assumption") if key in figure), None)


@dataclass(frozen=True)
class Mark:
    """A machine's place on a map: its measured CAS and fence latency, and its own cost of
    stopping an owner that waits (cycles; None where its description has none)."""

    machine: str
    title: str
    cas: float
    fence: float
    assumed: bool  # CAS or fence rests on an assumption
    cancel: int | None = None
    locked_alike: bool = True  # a CAS takes about as long as its other atomics

    @property
    def name(self) -> str:
        """Return the machine's name, with a star where a latency is assumed."""
        return self.machine + "*" * self.assumed

    @property
    def words(self) -> str:
        """Return the machine's name, with the cost of a revocation on it."""
        return self.machine if self.cancel is None else f"{self.machine} ({self.cancel:,})"


@dataclass(frozen=True)
class MapCrossing:
    """Two locks cost the same at these measured latencies (cycles)."""

    lock_a: LockLabel
    lock_b: LockLabel
    cas: float
    fence: float


@dataclass(frozen=True)
class CrossoverBand:
    """The least and the greatest value of a crossover, and of its bracket's upper end, over the
    seeds. `there`: with how many of the `seeds` it is found near the first seed's, or at all if the
    first has none."""

    seeds: int
    there: int
    low: float
    high: float
    upper_low: int
    upper_high: int


@dataclass(frozen=True, kw_only=True)
class FoundCrossover(FirstSeeds):
    """A crossover as it is found in the database, and its band over the seeds where the two locks
    cross."""

    id: int
    series: str
    setting: Mapping[str, int]
    lock_a: LockLabel
    lock_b: LockLabel
    below: LockLabel
    band: CrossoverBand | None = None
    known: Untold | None = None  # within which values, by the engine's error

    @property
    def above(self) -> LockLabel:
        """Return the other lock than `below`."""
        return self.lock_b if self.below == self.lock_a else self.lock_a


@dataclass(frozen=True)
class Scale:
    """Turns set latencies into measured ones: straight lines between the calibrations `points`, and
    outside of them the value of the last."""

    points: Sequence[tuple[float, float]]

    def __call__(self, value: float) -> float:
        return _along(value, sorted(self.points))

    def inverse(self, measured: float) -> float | None:
        """Return the value to set for a measured latency; None outside the measured range."""
        points = [(y, x) for x, y in sorted(self.points)]
        return _along(measured, points) if points[0][0] <= measured <= points[-1][0] else None


def _along(value: float, points: Sequence[tuple[float, float]]) -> float:
    """Return the y at x = value, on straight lines between points in the order of their x."""
    place = bisect_right(points, value, key=lambda point: point[0]) - 1
    x, y = points[max(place, 0)]
    if place < 0 or place == len(points) - 1 or x == value:
        return float(y)
    next_x, next_y = points[place + 1]
    return float((next_y - y) / (next_x - x) * (value - x) + y)


class StudyResults:
    """The contents of a database on a study. Each part is loaded when it is first asked for, and
    once: a command makes one and passes it on."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._series: dict[str, list[StudyRun]] = {}
        self._marks: dict[tuple[str, str, str], list[Mark]] = {}
        self._scales: dict[tuple[str, ...], Scale] = {}

    @cached_property
    def stored_plan(self) -> Plan | None:
        """Return the study's plan, if there is a study."""
        return PLAN.optional(self.connection)

    @property
    def plan(self) -> Plan:
        """Return the study's plan. Raises NoDataError."""
        if self.stored_plan is None:
            raise NoDataError(PLAN.missing)
        return self.stored_plan

    @property
    def engine(self) -> str:
        """Return the engine label of the study. Raises NoDataError."""
        return self.plan.engine

    @cached_property
    def isas(self) -> dict[str, Isa]:
        """Return the ISAs by name."""
        rows = self.connection.execute("SELECT name FROM facts WHERE name GLOB 'isa/*'")
        names = [name.removeprefix("isa/") for (name,) in rows]
        return {name: ISA.of(name).read(self.connection) for name in names}

    def isa(self, name: str) -> Isa:
        """Return an ISA by name. Raises NoDataError."""
        if name not in self.isas:
            raise NoDataError(ISA.missing)
        return self.isas[name]

    @cached_property
    def _baseline(self) -> Baseline:
        return Baseline(self.connection)

    @cached_property
    def _names(self) -> list[str]:
        rows = self.connection.execute("SELECT DISTINCT name FROM series ORDER BY name")
        return [name for (name,) in rows]

    def keys(self, kind: str) -> list[tuple[str, ...]]:
        """Return the parts behind `kind/` of every series of a kind."""
        known = [name for name in self._names if name.startswith(f"{kind}/")]
        return [tuple(name.removeprefix(f"{kind}/").split("/")) for name in known]

    def series_names(self, kind: str, machine: str = "") -> list[tuple[str, ...]]:
        """Return the same in the order of flavours; with a machine, the parts behind
        `kind/machine/`."""
        names = self.keys(f"{kind}/{machine}" if machine else kind)
        places = {flavour: place for place, flavour in enumerate(FLAVOURS)}
        return sorted(names, key=lambda parts: (places.get(parts[-1], len(places)), parts))

    def series(self, name: str) -> list[StudyRun]:
        """Return the good runs of a series. Raises NoDataError when they are of several
        compilers."""
        if name not in self._series:
            self._series[name] = _runs_of_series(self.connection, name, self._baseline)
        return self._series[name]

    def measured(
        self, machine: str, isa_name: str, flavour: str, axis: str, label: str = ""
    ) -> Scale:
        """Return the function that turns set into measured latencies along `cas_latency` or
        `fence_latency`, on the study's engine or the one of a `label`. Raises NoDataError."""
        op = {"cas_latency": "cas", "fence_latency": "fence"}[axis]
        key = machine, isa_name, flavour, op, label or self.engine
        if key not in self._scales:
            rows = self.connection.execute(
                f"SELECT {axis}, cycles FROM calibrations WHERE machine = ? AND isa = ? "
                f"AND flavour = ? AND op = ? AND engine = ? AND {axis} IS NOT NULL",
                key,
            ).fetchall()
            if not rows:
                raise NoDataError(f"{isa_name} has no calibrations; run ./lockcross crossover")
            self._scales[key] = Scale(rows)
        return self._scales[key]

    def marks(self, isa_name: str, flavour: str, label: str = "") -> list[Mark]:
        """Return every machine calibrated as it is, on the study's engine or the one of a
        `label`."""
        key = isa_name, flavour, label or self.engine
        if key not in self._marks:
            self._marks[key] = self._read_marks(*key)
        return self._marks[key]

    def _read_marks(self, isa_name: str, flavour: str, engine: str) -> list[Mark]:
        marks = []
        for name, title, text, cas, fence in self.connection.execute(
            "SELECT name, title, description, a.cycles, b.cycles FROM machines "
            "JOIN calibrations a ON a.machine = name AND a.op = 'cas' "
            "JOIN calibrations b ON b.machine = name AND b.op = 'fence' AND a.isa = b.isa "
            "AND a.flavour = b.flavour AND b.cas_latency IS NULL AND b.fence_latency IS NULL "
            "AND a.engine = b.engine WHERE a.cas_latency IS NULL AND a.fence_latency IS NULL "
            "AND a.isa = ? AND a.flavour = ? AND a.engine = ? ORDER BY name",
            (isa_name, flavour, engine),
        ):
            description = json.loads(text)
            figures = description["latency"][isa_name]
            charges = description.get("charges", {})
            stop = charges.get("stop_blocked", charges.get(_FORMER_STOP, {}))
            full_fence = f"fence_{self.isa(isa_name).full_fence}"
            assumed = any("assumption" in figures[key] for key in ("cas_success", full_fence))
            stated = (figures["cas_success"], figures.get("rmw", figures["cas_success"]))
            one, other = (_number(figure) or 0 for figure in stated)
            alike = abs(one - other) <= _ALIKE * one
            marks.append(Mark(name, title, cas, fence, assumed, _number(stop), alike))
        return marks

    @cached_property
    def _crossovers(self) -> list[FoundCrossover]:
        return _all_crossovers(self.connection)

    def crossovers(self, kind: str) -> list[FoundCrossover]:
        """Return all crossovers of the series of a kind, or of one series."""
        return [one for one in self._crossovers if f"{one.series}/".startswith(f"{kind}/")]

    def map_crossings(self, name: str, cas: Scale, fence: Scale) -> list[MapCrossing]:
        """Return the searched crossovers of a winner map's series, at measured latencies."""
        crossings = []
        for crossing in self.crossovers(name):
            if crossing.value is not None:
                at = {**crossing.setting, crossing.axis: crossing.value}
                place = cas(at["cas_latency"]), fence(at["fence_latency"])
                crossings.append(MapCrossing(crossing.lock_a, crossing.lock_b, *place))
        return crossings

    def metrics(self, run_id: int) -> dict[str, float]:
        """Return the metrics of a run, by name."""
        sql = "SELECT name, value FROM metrics WHERE run_id = ?"
        return dict(self.connection.execute(sql, (run_id,)).fetchall())

    def phases(self, run_id: int) -> list[float]:
        """Return the cycles of each phase of a run, in order."""
        by_number = {
            int(name.split("_")[1]): value
            for name, value in self.metrics(run_id).items()
            if fnmatchcase(name, "phase_*_cycles")
        }
        return [by_number[number] for number in sorted(by_number)]


def isa_title(connection: sqlite3.Connection, name: str) -> str:
    """Return an ISA's title; its name in a database without a study."""
    known = ISA.of(name).optional(connection)
    return known.title if known else name


def _runs_of_series(
    connection: sqlite3.Connection, name: str, baseline: Baseline
) -> list[StudyRun]:
    rows = connection.execute(
        "SELECT compiler, resolved, latencies, cycles_per_pair, runs.id, "
        f"{selected(connection)} FROM series "
        "JOIN runs ON runs.id = series.run_id "
        "JOIN resolved ON resolved.run_id = runs.id "
        "WHERE series.name = ? AND status = 'ok' AND cycles_per_pair IS NOT NULL ORDER BY runs.id",
        (name,),
    ).fetchall()
    if len(compilers := queries.names(row[0] for row in rows)) > 1:
        several = " and ".join(compilers)
        raise NoDataError(f"the series {name} mixes programs of {several}; run it with one")
    return [
        StudyRun(
            run_id,
            cell,
            cost,
            resolved=json.loads(resolved),
            latencies=json.loads(latencies),
            work=baseline.work(cell),
        )
        for _, resolved, latencies, cost, run_id, *columns in rows
        for cell in [read_cell(columns)]
    ]


def _all_crossovers(connection: sqlite3.Connection) -> list[FoundCrossover]:
    left_out = ("band", "known")
    columns = [name for name in FoundCrossover.__dataclass_fields__ if name not in left_out]
    runs: dict[int, list[tuple[str, float, float]]] = {}
    for number, *run in connection.execute(
        "SELECT crossover_id, lock, x, cost FROM crossover_runs WHERE seed = ?", (FIRST_SEED,)
    ):
        runs.setdefault(number, []).append((run[0], run[1], run[2]))
    rows = connection.execute(
        "SELECT count(seeds.seed), count(seeds.value), min(seeds.value), max(seeds.value), "
        "min(seeds.bracket_high), max(seeds.bracket_high), crossovers.engine, crossovers.workload, "
        f"{', '.join(f'crossovers.{name}' for name in columns)} FROM crossovers "
        "LEFT JOIN crossover_seeds AS seeds ON crossover_id = id GROUP BY id ORDER BY id"
    )
    crossings = []
    for row in rows:
        engine, workload, *found = row[6:]
        values = dict(zip(columns, found, strict=True))
        values["band"] = CrossoverBand(*row[:6]) if row[1] else None
        labels = {name: LockLabel(values[name]) for name in ("lock_a", "lock_b", "below")}
        setting = json.loads(values["setting"])
        crossing = FoundCrossover(**values | labels | {"setting": setting})
        known = untold_of(runs.get(crossing.id, []), crossing, engine, workload)
        crossings.append(replace(crossing, known=known))
    return crossings
