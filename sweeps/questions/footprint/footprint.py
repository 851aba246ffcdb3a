"""What each uncontended path through a lock consists of, as workload footprint counts it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from rich.table import Column, Table

from results import published as paper
from results.store.records import StoredRun
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.cells import unsupported_reason
from sweeps.model.isa import ISAS
from sweeps.model.locks import Lock, Trait
from sweeps.run.runner import Runner
from sweeps.run.work import PATHS

PLAN = "footprint"
TURNS = 2  # the engine refuses a path that is not the same in each
COLUMNS = (
    "lock", "variant", "fence", "isa", "flavour", "threads", "by", "path", "instructions", "loads",
    "stores", "cas_won", "cas_lost", "rmw", "fences", "object_bytes", "monitor_bytes", "published",
)  # fmt: skip
NUMBERS = ("instructions", "loads", "stores", "cas_won", "cas_lost", "rmw")


@dataclass(frozen=True)
class Counts:
    """What one path consists of: `numbers` by the names in NUMBERS, and the fences that occur, by
    kind. A CAS that wins or loses, and any other atomic, is neither load nor store."""

    numbers: Mapping[str, int]
    fences: Mapping[str, int]

    def __add__(self, other: "Counts") -> "Counts":
        kinds = sorted({*self.fences, *other.fences})
        return Counts(
            {name: count + other.numbers[name] for name, count in self.numbers.items()},
            {kind: self.fences.get(kind, 0) + other.fences.get(kind, 0) for kind in kinds},
        )

    @property
    def atomics(self) -> int:
        """Atomic operations, those that lose too."""
        return sum(self.numbers[name] for name in ("cas_won", "cas_lost", "rmw"))

    def __str__(self) -> str:
        words = [
            name if count == 1 else f"{count} {name}"
            for name, count in (
                ("CAS", self.numbers["cas_won"]), ("lost CAS", self.numbers["cas_lost"]),
                ("RMW", self.numbers["rmw"]), *self.fences.items(),
            )
            if count
        ]  # fmt: skip
        for name in ("loads", "stores"):
            if count := self.numbers[name]:
                words.append(f"{count} {name if count > 1 else name[:-1]}")
        return ": ".join(filter(None, [str(self.numbers["instructions"]), ", ".join(words)]))


@dataclass(frozen=True)
class Footprint:
    """A lock as built for one cell, used by one kind of thread: `owner` and `other`, or `any` where
    they are the same, or `alone` in a program of one thread."""

    cell: Cell
    by: str
    paths: Mapping[str, Counts]
    object_bytes: int
    monitor_bytes: int  # of each inflated object; 0: it has none, or it is part of the object

    @property
    def label(self) -> str:
        """The lock label."""
        return self.cell.label

    @property
    def pair(self) -> Counts:
        """Acquire and release together."""
        return self.paths["acquire"] + self.paths["release"]

    @property
    def published(self) -> str:
        """What a source states of the pair, or nothing. The sources count with plain fences."""
        if self.cell.fence == "rmw":
            return ""
        lock = self.cell.label.with_full_fences
        of_any = _stated().get((lock, "any"), "") if self.by == "alone" else ""
        return _stated().get((lock, self.by), of_any)


@cache
def _stated() -> Mapping[tuple[str, str], str]:
    """What the sources state of acquire and release together, with the place: by lock, and by who
    uses it."""
    tables = [paper.table(name) for name in paper.index().table if name.endswith("_paths")]
    return {
        (str(row["lock"]), str(row["by"])): f"{row['stated']} ({one.entry.document} {row['place']})"
        for one in tables
        for row in one.rows
    }


def cells(locks: Iterable[Lock], isas: Iterable[str] = tuple(ISAS)) -> list[Cell]:
    """A cell for each variant, flavour and fence kind of the locks: with two threads, or with one
    where two are not supported."""
    found: list[Cell] = []
    for lock, isa in product(locks, isas):
        for variant, flavour, fence in product(
            ("", *lock.variants[1:]), ISAS[isa].flavours, lock.fence_kinds
        ):
            one, two = (_cell(lock.name, variant, fence, isa, flavour, n) for n in (1, 2))
            possible = [cell for cell in (one, two) if not unsupported_reason(cell)]
            # What is chosen for programs of one thread is measured with one, too.
            found += possible if lock.has(Trait.AT_START, variant) else possible[-1:]
    return found


def _cell(lock: str, variant: str, fence: str, isa: str, flavour: str, threads: int) -> Cell:
    parameters: dict[str, int | str] = {"iterations": TURNS}
    return Cell(
        engine=engines.DEFAULT, machine="generic", isa=isa, flavour=flavour, lock=lock,
        variant=variant, fence=fence, workload="footprint", threads=threads,
        parameters=parameters,
    )  # fmt: skip


def measure(runner: Runner, wanted: Sequence[Cell]) -> list[Footprint]:
    """Runs what is not stored yet. Raises LockcrossError for a run that failed."""
    found: list[Footprint] = []
    for cell, run in zip(wanted, runner.require(wanted, PLAN), strict=True):
        found += footprints(cell, run)
    return found


def footprints(cell: Cell, run: StoredRun) -> list[Footprint]:
    """What a run says about its lock."""
    sizes = [int(run.metrics[name]) for name in ("object_bytes", "monitor_bytes")]
    own = _paths(run.metrics, "own")
    if cell.threads == 1:
        return [Footprint(cell, "alone", own, *sizes)]
    foreign = _paths(run.metrics, "foreign")
    if own == foreign:
        return [Footprint(cell, "any", own, *sizes)]
    return [Footprint(cell, "owner", own, *sizes), Footprint(cell, "other", foreign, *sizes)]


def _paths(metrics: Mapping[str, float], item: str) -> dict[str, Counts]:
    return {path: _counts(metrics, f"path_{item}_{path}_") for path in PATHS}


def _counts(metrics: Mapping[str, float], prefix: str) -> Counts:
    fences = f"{prefix}fences_"
    return Counts(
        {name: int(metrics[prefix + name]) for name in NUMBERS},
        {
            name.removeprefix(fences): int(value)
            for name, value in sorted(metrics.items())
            if name.startswith(fences)
        },
    )


def rows(found: Iterable[Footprint]) -> Iterator[list[str | int]]:
    """The values of COLUMNS, a row a path."""
    for one in found:
        cell = one.cell
        for path, counts in one.paths.items():
            fences = " ".join(f"{kind}={count}" for kind, count in counts.fences.items())
            yield [
                cell.lock, cell.variant, cell.fence, cell.isa, cell.flavour, cell.threads, one.by,
                path, *counts.numbers.values(), fences, one.object_bytes,
                one.monitor_bytes, one.published if path == "acquire" else "",
            ]  # fmt: skip


def tables(found: Sequence[Footprint]) -> Iterator[Table]:
    """A table a flavour, and what the sources say beside what was counted."""
    flavours = dict.fromkeys((one.cell.isa, one.cell.flavour) for one in found)
    for isa, flavour in flavours:
        table = Table(
            _lock_column(), "by", "acquire", "release", "nested acquire", "nested release",
            "bytes: object", "monitor", title=f"{isa} {flavour}: instructions, and among them",
            title_justify="left", box=None, padding=(0, 2, 0, 0),
        )  # fmt: skip
        for one in found:
            if (one.cell.isa, one.cell.flavour) == (isa, flavour):
                paths = (one.paths[w] for w in ("acquire", "release", *PATHS[1:3]))
                sizes = (str(one.object_bytes), str(one.monitor_bytes or "-"))
                table.add_row(_broken(one.label), one.by, *map(str, paths), *sizes)
        yield table
    yield _beside(found)


def _beside(found: Iterable[Footprint]) -> Table:
    table = Table(
        _lock_column(), "flavour", "by", "counted", "published",
        title="acquire and release together", title_justify="left", box=None, padding=(0, 2, 0, 0),
    )  # fmt: skip
    for one in found:
        if one.published:
            label = _broken(one.label)
            table.add_row(label, one.cell.flavour, one.by, str(one.pair), one.published)
    return table


def _lock_column() -> Column:
    return Column("lock", no_wrap=True)


def _broken(label: str) -> str:
    """A lock label in lines: cut off by a narrow terminal, variants could not be told apart."""
    return label.replace(":", "\n:").replace("/", "\n/")
