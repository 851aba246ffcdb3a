"""Measure the cost of a cell here, by part, and the share that is the same on every machine, side
by side in one run, beside the last release."""

import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from results.errors import LockcrossError
from results.paths import REFERENCE
from results.store.store import Store
from results.text.rows import FRAMED, Rows
from sweeps.engines.base import Limits, Serving, load_engine
from sweeps.model import engines
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import ISAS
from sweeps.programs import Builder
from sweeps.run.processes import Processes, Task
from sweeps.run.runner import Runner
from sweeps.run.servers import Servers

_OWN: Any = resolve_name(f"sweeps.engines.{engines.DEFAULT}.bench")
LAST = REFERENCE / "speed.json"
_REPEATS = 5  # of each command, interleaved; the least counts, since the machine may be shared
_FIRST = 4  # cells of a program by a server: it has started then
_SWEPT = 60  # cells of a sweep, of three programs
_TURNS = 100_000  # of a lock, by one core
NOTE = (
    f"CPU time; the least of {_REPEATS} interleaved runs on one CPU. Times are compared as "
    "multiples of what QEMU takes with empty callbacks (in a start, or for the same program), so "
    "that a faster machine is no faster Lockcross; counts are compared as they are, and cells a "
    "second of several at a time as multiples of one at a time's. `last`: the last release's."
)

_LEAST = {"objects": 1, "runs": 1, "run_length": 1, "owner_share": 0.5, "critical": 5, "think": 5}
SMALL = usual("generic", "lock", "lock_sequence", _LEAST, lock="tasuki", threads=2)
CONTENDED = replace(
    SMALL, parameters={**SMALL.parameters, "objects": 16, "runs": 10, "run_length": 20}
)


class Sample(NamedTuple):
    """One run: CPU time in ms, the kernel's work for it, and the engine's counts."""

    cpu_ms: float
    page_faults: int
    switches: int  # how often a thread of it slept
    instructions: int = 0
    handovers: int = 0


class Timing(NamedTuple):
    """One line. `value`: none where it cannot be had here; `unit` then says why. `compared` is the
    value set beside the last release: the count itself, or a multiple; none where nothing can be
    compared."""

    name: str
    value: float | None
    unit: str
    compared: float | None = None


def _used(work: Callable[[], object], who: int = resource.RUSAGE_CHILDREN) -> Sample:
    before = resource.getrusage(who)
    work()
    after = resource.getrusage(who)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    faults, slept = after.ru_minflt - before.ru_minflt, after.ru_nvcsw - before.ru_nvcsw
    return Sample(1e3 * seconds, faults, slept)


def measure(argv: Sequence[str], folder: Path, counts: bool = True) -> Sample:
    """Run the command of a cell in a folder. Raises LockcrossError (1) when it fails."""
    sample = _used(partial(_run_alone, argv, folder))
    return Sample(*sample[:3], *_OWN.counted(folder)) if counts else sample


def _run_alone(argv: Sequence[str], folder: Path) -> None:
    with Processes[int](1, folder / "runs") as processes:
        for _, end, run in processes.run([Task(0, list(argv), 60.0)]):
            if end.code != 0:
                raise LockcrossError(f"benchmark run failed: {end.stderr or end.code}", 1)
            for written in run.iterdir():
                written.replace(folder / written.name)


def command(cell: Cell, **options: int) -> list[str]:
    argv: list[str] = _OWN.command(cell, _binary(cell), **options)
    return argv


def _binary(cell: Cell) -> Path:
    program = load_engine(engines.DEFAULT).program(cell)
    return Builder().build([program])[program].path


def served(cells: int, folder: Path) -> Sample:
    """Measure the cost of each of so many small cells by a server, without the server's start."""
    engine = load_engine(engines.DEFAULT)
    assert isinstance(engine, Serving)
    task = Task(0, command(SMALL), 60.0, request=engine.request(SMALL, _binary(SMALL), Limits()))

    def run(count: int) -> None:
        servers = Servers()
        with Processes[int](1, folder / "runs", servers=servers) as processes:
            if any(end.code != 0 for _, end, _ in processes.run([task] * count)):
                raise LockcrossError("benchmark run failed in a server", 1)
        servers.end()

    few, many = (_used(partial(run, _FIRST + count)) for count in (0, cells))
    faults, slept = ((many[place] - few[place]) // cells for place in (1, 2))
    return Sample((many.cpu_ms - few.cpu_ms) / cells, int(faults), int(slept))


def rows(folder: Path) -> Iterator[Timing]:
    """Measure all lines now. Raises LockcrossError (1) when a cell cannot be run."""
    one_turn = replace(SMALL, lock="thin", workload="sync", threads=1, parameters={"iterations": 1})
    yield from _parts(folder, _OWN.without_engine(one_turn, _binary(one_turn)))
    yield from _sweeps(folder)
    for isa in ISAS.values():
        for model, machine in _OWN.MODELS.items():
            cell = replace(one_turn, isa=isa.name, flavour=isa.flavours[0], machine=machine)
            cell = replace(cell, parameters={"iterations": _TURNS})
            # Instructions a second of a core, its start included.
            bare = _OWN.without_engine(cell, _binary(cell))
            least = _least({"bare": bare, "engine": command(cell)}, folder)
            own_ms = least["engine"].cpu_ms
            rate = least["engine"].instructions / own_ms / 1e3
            multiple = own_ms / least["bare"].cpu_ms
            yield Timing(f"{isa.title}, {model}", rate, "M instructions/s", multiple)


def _counts(counts: Mapping[str, int]) -> Iterator[Timing]:
    """Yield lines whose values are compared as they are."""
    return (Timing(name, count, "", count) for name, count in counts.items())


def _least(named: dict[str, list[str]], folder: Path) -> dict[str, Sample]:
    """Return the cheapest run of each command; `bare` is the one without the engine."""
    samples: dict[str, list[Sample]] = {name: [] for name in named}
    for _ in range(_REPEATS):
        for name, argv in named.items():
            samples[name].append(measure(argv, folder, counts=name != "bare"))
    return {name: min(each, key=lambda sample: sample.cpu_ms) for name, each in samples.items()}


def _parts(folder: Path, bare: list[str]) -> Iterator[Timing]:
    commands = {"bare": bare, "small": command(SMALL), "contended": command(CONTENDED)}
    commands["own threads"] = command(CONTENDED, own_threads=1)
    start, small, contended, own_threads = _least(commands, folder).values()
    by_server = served(_SWEPT, folder)
    simulated_ms = contended.cpu_ms - small.cpu_ms
    for name, value in {
        "small cell, alone": small.cpu_ms,
        "small cell, served": by_server.cpu_ms,
        "contended cell, alone": contended.cpu_ms,
        "of that: simulated": simulated_ms,
        "own_threads=1 adds": own_threads.cpu_ms - contended.cpu_ms,
    }.items():
        yield Timing(name, value, "ms", value / start.cpu_ms)
    rate = (contended.handovers - small.handovers) / simulated_ms / 1e3
    yield Timing("its hand-overs", rate, "M hand-overs/s")
    yield from _counts(
        {
            "its instructions": contended.instructions,
            "its number of hand-overs": contended.handovers,
            "its page faults": contended.page_faults,
            "its sleeping threads": contended.switches,
            "page faults, served": by_server.page_faults,
        }
    )


def _sweeps(folder: Path) -> Iterator[Timing]:
    """Measure cells a second, from cells to rows in a database, and the driver's cost."""
    cells = [
        replace(SMALL, lock=lock, seed=seed)
        for lock in ("thin", "tasuki", "reservation")
        for seed in range(_SWEPT // 3)
    ]
    several = sorted({2, len(os.sched_getaffinity(0))} - {1})
    for serve in (False, True):
        one_at_a_time = 0.0
        for jobs in (1, *several):
            with Store(folder / f"{jobs}-{serve}.db") as store:
                runner = Runner(store, jobs, limits=Limits(serve=serve))
                runner.prepare(cells)
                began = time.perf_counter()
                driver = _used(partial(runner.run, cells, "bench"), resource.RUSAGE_SELF)
                rate = len(cells) / (time.perf_counter() - began)
            one_at_a_time = one_at_a_time or rate
            how = f"{jobs} at a time, {'served' if serve else 'alone'}"
            multiple = rate / one_at_a_time if jobs > 1 else None
            yield Timing(f"small cells, {how}", rate, "cells/s", multiple)
    yield Timing("driver, for a cell", driver.cpu_ms / len(cells), "ms")


def beside(measured: Sequence[Timing], last: Mapping[str, float]) -> Rows:
    """Return the lines beside the last release's."""
    records = []
    for row in measured:
        before = last.get(row.name)
        ratio = row.compared / before if row.compared is not None and before else None
        values = (row.name, row.value, row.unit, row.compared, before, ratio)
        records.append(dict(zip(_COLUMNS, values, strict=True)))
    shown: dict[str, Any] = {name: partial(_number, name) for name in _COLUMNS}
    return Rows(records, shown, look=FRAMED)


_COLUMNS = ("what", "now", "unit", "compared", "last", "ratio")


def _number(name: str, record: Mapping[str, Any]) -> str:
    value = record[name]
    if not isinstance(value, int | float):
        return value or ""
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def last_release() -> dict[str, float]:
    """Return the values of the last release, by name; nothing where none is stored."""
    kept = json.loads(LAST.read_text(encoding="utf-8")) if LAST.exists() else {}
    return dict(kept)


def store(measured: Sequence[Timing]) -> None:
    """Store the comparable values, for the next release."""
    kept = {row.name: round(row.compared, 3) for row in measured if row.compared is not None}
    LAST.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
