"""What follows from other runs of what locks cost with another seed."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from sweeps.model.cell import Cell
from sweeps.search.searches import Point, SeedCosts

Shift = Callable[[Cell], Fraction]
LATENCIES = [(cas, fence) for cas in (0, 20, 50, 150) for fence in (0, 30, 100)]


def cell(cas: int, fence: int, seed: int, lock: str = "tasuki", length: int = 20) -> Cell:
    return Cell(
        machine="generic",
        isa="x86_64",
        flavour="lock",
        lock=lock,
        workload="lock_sequence",
        parameters={"run_length": length},
        threads=2,
        cas_latency=cas,
        fence_latency=fence,
        seed=seed,
    )


def costs(shift: Shift) -> tuple[SeedCosts, list[Cell]]:
    """Of a study with the first seed known on the whole plane, and what was run besides."""
    run: list[Cell] = []

    def exact(one: Cell) -> Fraction:
        return Fraction(100 + (one.cas_latency or 0) + (one.fence_latency or 0)) + shift(one)

    def evaluate(cells: Sequence[Cell]) -> list[Point]:
        run.extend(cells)
        return [Point(exact(one), len(run)) for one in cells]

    found = SeedCosts(evaluate)
    found.run([cell(*at, 1, lock) for at in LATENCIES for lock in ("tasuki", "thin")])
    run.clear()
    return found, run


def test_a_shift_that_is_the_same_in_four_runs_serves_for_the_others() -> None:
    found, run = costs(lambda one: Fraction(one.seed - 1, 7))
    points = found.find([cell(*at, 2) for at in LATENCIES])
    assert len(run) == 4 == sum(point.run_id is not None for point in points)
    for (cas, fence), point in zip(LATENCIES, points, strict=True):
        assert point.cost == 100 + cas + fence + Fraction(1, 7)


def test_a_shift_that_varies_is_run_everywhere() -> None:
    def shift(one: Cell) -> Fraction:
        return Fraction((one.cas_latency or 0) * (one.seed - 1), 20)

    found, run = costs(shift)
    points = found.find([cell(*at, 2) for at in LATENCIES])
    assert len(run) == len(LATENCIES)
    assert all(point.run_id is not None for point in points)


def test_seeds_that_agree_in_eight_runs_are_the_same() -> None:
    """Seed 4 is seed 2, and seed 3 is but nearly so."""

    def shift(one: Cell) -> Fraction:
        like = {4: 2, 3: 2}.get(one.seed, one.seed)
        odd = Fraction(1, 10**6) if one.seed == 3 else 0
        return (like - 1) * Fraction(
            (one.cas_latency or 0) ** 2 + (one.fence_latency or 0), 500
        ) + odd

    found, run = costs(shift)
    found.run([cell(*at, seed, "thin") for at in LATENCIES[:8] for seed in (2, 3, 4)])
    run.clear()
    wanted = [cell(*at, seed) for at in LATENCIES for seed in (2, 3, 4)]
    points = dict(zip(wanted, found.find(wanted), strict=True))
    assert sum(one.seed == 4 for one in run) == 4  # those with which a shift is looked for
    assert sum(one.seed == 3 for one in run) == len(LATENCIES)
    for one, point in points.items():
        assert point.cost == 100 + (one.cas_latency or 0) + (one.fence_latency or 0) + shift(one)


def test_other_work_has_a_shift_of_its_own() -> None:
    found, run = costs(lambda one: Fraction(one.seed - 1, 7))
    found.find([cell(*at, 2) for at in LATENCIES])
    run.clear()
    found.find([cell(*at, 2, length=40) for at in LATENCIES])
    assert len(run) == len(LATENCIES)  # the first seed's cost there is not known


def test_a_run_is_asked_for_once() -> None:
    found, run = costs(lambda _: Fraction(0))
    one = cell(0, 0, 2)
    assert found.run([one, one])[0].run_id == found.find([one])[0].run_id
    assert run == [one]
