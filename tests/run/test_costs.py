"""How long a job will go on, held to jobs whose runs are stored with their seconds."""

import heapq
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import pytest

from results.paths import REFERENCE
from results.store.store import Store
from sweeps.cli import progress
from sweeps.model.cell import Cell, digest, read_cell, selected
from sweeps.model.workloads import with_defaults
from sweeps.run.costs import GUESS_S, Costs, RemainingTime, drawn
from tests.fakes.cells import cell_of

# Of a job. Nobody plans by the end of a shorter one, and of fewer cells too few are like another.
LEAST_S, LEAST_CELLS = 60.0, 100
# Its runs were made beside others on the same cores, which came and went: an end cannot hold then.
DISTURBED = "runtimes.db"
FROM = 0.1  # of its time, from which on its end is said


class Job(NamedTuple):
    """Cells of a plan by their identities, with their seconds and programs."""

    name: str
    cells: dict[str, Cell]
    seconds: dict[str, float]
    programs: dict[str, str]


def recorded() -> Iterator[Job]:
    for path in sorted(REFERENCE.glob("*.db")):
        if path.name == DISTURBED:
            continue
        with Store(path, read_only=True) as store:
            rows = store.connection.execute(
                f"SELECT plan, binary_digest, duration_s, {selected(store.connection)} FROM runs "
                "WHERE status = 'ok' AND duration_s > 0 ORDER BY plan, id"
            ).fetchall()
        for plan, group in groupby(rows, key=lambda row: row[0]):
            job = Job(f"{path.stem} {plan}", {}, {}, {})
            for _, program, seconds, *values in group:
                identity = digest(values)
                job.cells[identity] = read_cell(values)
                job.seconds[identity], job.programs[identity] = seconds, program
            if sum(job.seconds.values()) > LEAST_S and len(job.cells) > LEAST_CELLS:
                yield job


JOBS = list(recorded())


def replayed(job: Job, slots: int, costs: Costs) -> tuple[float, dict[float, float]]:
    """When the job ends, run so many cells at a time, and when it says that it will, by the time
    at which it says so: after each sixtieth of its cells."""
    order = drawn(job.cells, job.programs)
    ahead = RemainingTime(job.cells, slots, costs)
    waiting, running, now = iter(order), list[tuple[float, str]](), 0.0
    said: dict[float, float] = {}
    for count in range(1, len(order) + 1):
        while len(running) < slots and (begun := next(waiting, None)):
            heapq.heappush(running, (now + job.seconds[begun], begun))
        now, ended = heapq.heappop(running)
        ahead.ended(ended, job.seconds[ended])
        if count % (len(order) // 60) == 0 and len(ahead):
            said[now] = now + ahead.left_s(now)
    return now, said


def off(job: Job, slots: int, costs: Costs) -> float:
    """Return its worst error, as a share of the whole time."""
    end, said = replayed(job, slots, costs)
    return max(abs(then - end) / end for now, then in said.items() if now >= FROM * end)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
@pytest.mark.parametrize(
    ("slots", "run_before", "bound"), [(2, False, 0.3), (8, False, 0.45), (2, True, 0.06)]
)
def test_the_end_that_is_said_holds(job: Job, slots: int, run_before: bool, bound: float) -> None:
    costs = Costs()
    for identity, cell in job.cells.items() if run_before else ():
        costs.add(cell, job.seconds[identity])
    assert off(job, slots, costs) < bound


def cell(workload: str, threads: int, lock: str = "thin") -> Cell:
    return cell_of(lock, workload, parameters={}, threads=threads)


def test_a_cell_takes_what_its_likes_took() -> None:
    costs = Costs()
    assert costs.seconds(cell("sync", 1)) == GUESS_S and not costs.knows(cell("sync", 1))
    for _ in range(50):
        costs.add(cell("sync", 1), 2.0)
        costs.add(cell("rounds", 2, "mcs"), 30.0)
    assert costs.seconds(cell("sync", 1)) == pytest.approx(2, abs=0.1)
    assert costs.seconds(cell("rounds", 2)) == pytest.approx(30, abs=1)
    assert costs.knows(cell("sync", 1, "mcs")) and not costs.knows(cell("sync", 2))


def test_a_use_that_is_longer_is_said_to_take_longer() -> None:
    """Before anything like it is stored, and then in proportion to what took others."""

    def use(first: int, think: int) -> Cell:
        keys = {"objects": 10, "first": first, "think": think}
        return cell_of("thin", "lock_use", parameters=with_defaults("lock_use", keys), threads=2)

    costs = Costs()
    short, long, works = (costs.seconds(use(*n)) for n in ((100, 0), (4_000, 0), (4_000, 1_000)))
    assert short < GUESS_S < long / 5 and works > 5 * long
    for _ in range(50):
        costs.add(use(100, 0), 3 * short)
    assert costs.seconds(use(4_000, 1_000)) == pytest.approx(3 * works, rel=0.1)


def test_the_last_long_cell_counts_by_itself() -> None:
    costs = Costs()
    costs.add(cell("sync", 1), 1.0)
    costs.add(cell("rounds", 2), 100.0)
    short = {str(number): cell("sync", 1) for number in range(20)}
    ahead = RemainingTime(short | {"long": cell("rounds", 2)}, 4, costs)
    for number in range(20):
        ahead.ended(str(number), 1.0)
    assert len(ahead) == 1 and 40 < ahead.left_s(5.0) < 100


def test_one_of_each_program_comes_first() -> None:
    cells = {f"{number:03}": cell("sync", 1 + number % 2) for number in range(40)}
    programs = {identity: f"program {int(identity) // 10}" for identity in cells}
    order = drawn(cells, programs)
    assert sorted(order) == sorted(cells)
    assert len({(programs[one], cells[one].threads) for one in order[:8]}) == 8
    rest = [programs[one] for one in order[8:]]
    assert rest == sorted(rest)


def test_the_bar_counts_down_to_what_was_promised(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.Bar() as bar:
        task = bar.add_task("a plan", total=3)
        bar.update(task, left_s=60.0)
        for passed, said in ((0.0, ", 0:01:00 left"), (20.0, ", 0:00:40 left"), (50.0, "")):
            now += passed
            bar.advance(task, 0.5)
            assert capsys.readouterr().err.endswith(f"{said}\n")
