"""Makes the tables of results/paper/ that are medians of other people's measured runs, from clones
of the repositories that publish them:

    git clone https://github.com/ARM-software/synchronization-benchmarks
    git clone https://github.com/nviennot/core-to-core-latency
    ./lockcross python -m tests.results.published_runs lockhammer synchronization-benchmarks
    ./lockcross python -m tests.results.published_runs core_to_core core-to-core-latency

Each is read at one revision, whatever the clone has checked out.
"""

import csv
import lzma
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

from results.paths import PAPER

LOCKHAMMER = (
    "0732ea5581022a1934e471de6d3e9670011abf3b",
    "benchmarks/lockhammer/scripts/lockhammer-all.csv.xz",
)
CORE_TO_CORE = "96a943ac384b78bf54252068f25e2f891bfadc60"
THREADS = (1, 2, 4, 8, 16, 32, 64)

Run = tuple[str, str, int, int, int, float]  # host, lock, critical and parallel ns, threads, ns


def runs(lines: Iterable[str]) -> Iterator[Run]:
    """The runs of lockhammer's CSV: threads, cores used, scheduled and real nanoseconds of a thread
    for each acquisition, nanoseconds of the run for each acquisition, queue, date, host, program,
    then its options by name and value. Its authors draw the nanoseconds of the run."""
    for row in csv.reader(lines, skipinitialspace=True):
        host, program, options = row[7], row[8], dict(zip(row[9:17:2], row[10:17:2], strict=True))
        critical, parallel = (int(options[name].removesuffix("ns")) for name in ("-c", "-p"))
        lock = program.rpartition("/lh_")[2]
        yield host.partition(".")[0], lock, critical, parallel, int(row[0]), float(row[4])


def lockhammer_table(found: Iterable[Run]) -> Iterator[Sequence[str]]:
    """A head, and a row for each host, lock, critical and parallel time: medians by threads."""
    values: dict[tuple[str, str, int, int], dict[int, list[float]]] = defaultdict(dict)
    for host, lock, critical, parallel, threads, ns in found:
        values[host, lock, critical, parallel].setdefault(threads, []).append(ns)
    columns = (f"threads_{threads}" for threads in THREADS)
    yield ("run", "host", "lock", "critical", "parallel", *columns)
    for place, by_threads in sorted(values.items()):
        texts = [str(part) for part in place]
        numbers = (by_threads.get(threads) for threads in THREADS)
        medians = [f"{median(each):.1f}" if each else "" for each in numbers]
        yield (" ".join(texts), *texts, *medians)


@dataclass(frozen=True)
class Part:
    """A processor, its file, and how the system numbers its CPUs: `threads` of a core, neighbours
    or a whole round of cores apart; clusters of so many cores in order, and those beyond one. Cores
    from `first` to `last` are looked at: a processor may have two kinds, or a far socket."""

    name: str
    file: str
    cores: int
    cluster: int
    beyond: str = ""
    neighbours: bool = False
    threads: int = 1
    first: int = 0
    last: int = 0

    def cpus(self) -> dict[int, tuple[int, int]]:
        """Each CPU's core and cluster."""
        found = {}
        cores = range(self.first, self.last or self.cores)
        for core, thread in product(cores, range(self.threads)):
            cpu = core * self.threads + thread if self.neighbours else thread * self.cores + core
            found[cpu] = core, (core - self.first) // self.cluster
        return found


FILE = Path(__file__).with_name("core_to_core.toml")
PARTS = [Part(**part) for part in tomllib.loads(FILE.read_text(encoding="utf-8"))["parts"]]


def latencies(lines: Iterable[str]) -> Iterator[tuple[int, int, float]]:
    """Two CPUs and their nanoseconds, from a matrix that is empty above its diagonal."""
    for one, row in enumerate(csv.reader(lines)):
        for other, cell in enumerate(row):
            if cell and other != one:
                yield one, other, float(cell)


def core_to_core_row(part: Part, found: Iterable[tuple[int, int, float]]) -> Sequence[str]:
    """Medians over pairs of cores of one cluster and of two; of a core's own threads none."""
    cpus, near, far = part.cpus(), [], []
    for one, other, ns in found:
        if one in cpus and other in cpus and cpus[one][0] != cpus[other][0]:
            (near if cpus[one][1] == cpus[other][1] else far).append(ns)
    texts = [part.name, str(len(near)), f"{median(near):.1f}", str(len(far))]
    return [*texts, f"{median(far):.1f}" if far else "", part.beyond]


CORE_TO_CORE_HEAD = ("processor", "near_pairs", "near", "far_pairs", "far", "far_is")


def _read(clone: str, revision: str, path: str) -> bytes:
    command = ("git", "-C", clone, "show", f"{revision}:{path}")
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def _lockhammer(clone: str) -> Iterator[Sequence[str]]:
    return lockhammer_table(runs(lzma.decompress(_read(clone, *LOCKHAMMER)).decode().splitlines()))


def _core_to_core(clone: str) -> Iterator[Sequence[str]]:
    yield CORE_TO_CORE_HEAD
    for part in PARTS:
        text = _read(clone, CORE_TO_CORE, f"results/{part.file}.csv").decode()
        yield core_to_core_row(part, latencies(text.splitlines()))


def main() -> None:
    """Write the table that is named, from the clone that is named."""
    makers = {"lockhammer": _lockhammer, "core_to_core": _core_to_core}
    if len(sys.argv) != 3 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    name, clone = sys.argv[1:]
    path = PAPER / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(makers[name](clone))
    print(path.relative_to(PAPER.parent.parent))


if __name__ == "__main__":
    main()
