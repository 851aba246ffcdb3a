"""The medians of other people's runs: of made-up ones, and those in the tree."""

from statistics import median

from sweeps.accuracy.published import table
from tests.results.published_runs import (
    PARTS,
    Part,
    core_to_core_row,
    latencies,
    lockhammer_table,
    runs,
)

LINE = (
    "{threads}, 0.9, 1.0, 2.0, {ns}, 0.0, 2018-06-23 10:46:07.653598, x86-9.example.com, "
    "../build/lh_some_lock, -t, {threads}, -a, 5000, -c, 200ns, -p, 1000ns, -o, 0,1"
)


def test_runs_become_medians_by_threads() -> None:
    lines = [LINE.format(threads=4, ns=ns) for ns in (3.0, 1.0, 2.0)]
    lines.append(LINE.format(threads=1, ns=7.0))
    head, row = lockhammer_table(runs(lines))
    cells = dict(zip(head, row, strict=True))
    assert cells["run"] == "x86-9 some_lock 200 1000"
    assert (cells["threads_1"], cells["threads_2"], cells["threads_4"]) == ("7.0", "", "2.0")


def test_a_cores_own_threads_are_no_pair_and_clusters_are_told_apart() -> None:
    part = Part("Some", "some", 4, 2, "another die", threads=2)
    assert part.cpus()[5] == (1, 0) and part.cpus()[7] == (3, 1)
    matrix = [[1.0 if abs(one - other) == 4 else 10.0 for other in range(one)] for one in range(8)]
    for one in range(8):
        for other in range(one):
            if part.cpus()[one][1] != part.cpus()[other][1]:
                matrix[one][other] = 50.0
    lines = [",".join([*map(str, row), *[""] * (8 - len(row))]) for row in matrix]
    found = core_to_core_row(part, latencies(lines))
    assert found == ["Some", "8", "10.0", "16", "50.0", "another die"]
    neighbours = Part("Other", "other", 2, 2, "", True, 2)
    assert [core for core, _ in neighbours.cpus().values()] == [0, 0, 1, 1]


def test_the_tables_have_every_part_and_every_host() -> None:
    assert [row["processor"] for row in table("core_to_core").rows] == [one.name for one in PARTS]
    found = table("lockhammer")
    assert len(found.rows) == 4 * 12 * 4
    alone = [float(found.number(f"x86-{host} osq_lock 0 0", "threads_1")) for host in range(1, 5)]
    assert 30 < median(alone) < 45
