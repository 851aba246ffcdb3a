"""`lockcross footprint`: the operations of each uncontended path through a lock, as workload
footprint counts it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

from results.errors import check_known
from results.paths import DATABASE
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.accuracy import published as paper
from sweeps.cli import options
from sweeps.cli.options import Database, Jobs, NoServer, served
from sweeps.model.cell import Cell, unsupported_reason, usual
from sweeps.model.isa import ISAS
from sweeps.model.locks import Lock, Trait, load_locks
from sweeps.run.work import PATHS

if TYPE_CHECKING:
    from sweeps.run.runner import Runner

PLAN = "footprint"
TURNS = 2  # the engine refuses a path that is not the same in each
_SHOWN = ("acquire", "release", "nested_acquire", "nested_release")
NUMBERS = ("instructions", "loads", "stores", "cas_won", "cas_lost", "rmw")


def footprint(
    names: Annotated[
        list[str] | None, options.argument("Locks; default: all.", options.locks, "[LOCK]...")
    ] = None,
    isa: Annotated[str | None, options.isa("all")] = None,
    form: Format = Form.TABLE,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    db: Database = DATABASE,
) -> None:
    """Count what each uncontended path through a lock consists of, and the bytes of its state.

    Instructions, atomics, fences, loads and stores, by owner and others; the bytes of an object
    and of an inflated monitor.
    """
    from results.store.store import Store
    from sweeps.cli.progress import Bar
    from sweeps.run.runner import Runner

    known = load_locks()
    check_known("lock", names or (), known)
    isas = list(ISAS) if isa is None else [isa]
    check_known("isa", isas, ISAS)
    wanted = cells([known[name] for name in names or known], isas)
    with Store(db) as store, Bar() as progress:
        footprints = measure(Runner(store, jobs, progress, served(no_server)), wanted)
    if form == Form.TABLE:
        print_parts(form, *tables(footprints), fold=False)
    else:
        print_parts(form, Rows(list(records(footprints))))


@dataclass(frozen=True)
class Counts:
    """The counts of one path: `numbers` by the names in NUMBERS, and the fences that occur, by
    kind. A CAS that wins or loses, and any other atomic, is neither load nor store."""

    numbers: Mapping[str, int]
    fences: Mapping[str, int]

    def __add__(self, other: "Counts") -> "Counts":
        kinds = sorted({*self.fences, *other.fences})
        return Counts(
            {name: count + other.numbers[name] for name, count in self.numbers.items()},
            {kind: self.fences.get(kind, 0) + other.fences.get(kind, 0) for kind in kinds},
        )

    def __str__(self) -> str:
        named = (("CAS", "cas_won"), ("lost CAS", "cas_lost"), ("RMW", "rmw"))
        counted = {words: self.numbers[name] for words, name in named} | dict(self.fences)
        words = [f"{n} {name}" if n > 1 else name for name, n in counted.items() if n]
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
    def pair(self) -> Counts:
        return self.paths["acquire"] + self.paths["release"]

    @property
    def published(self) -> str:
        """Return a source's statement on the pair, with plain fences, or nothing."""
        if self.cell.fence == "rmw":
            return ""
        users = (self.by, "any") if self.by == "alone" else (self.by,)
        known = (_stated().get((self.cell.label.with_full_fences, user)) for user in users)
        return next(filter(None, known), "")


@cache
def _stated() -> Mapping[tuple[str, str], str]:
    """Return the sources' statements on acquire and release together: by lock, and by its user."""
    return {
        (
            str(row["lock"]),
            str(row["by"]),
        ): f"{row['stated']} ({table.entry.document} {row['place']})"
        for name in paper.index().table
        if name.endswith("_paths")
        for table in [paper.table(name)]
        for row in table.rows
    }


def cells(locks: Iterable[Lock], isas: Iterable[str] = tuple(ISAS)) -> list[Cell]:
    """Return a cell for each variant, flavour and fence kind of the locks: with two threads, or
    with one where two are not supported."""
    chosen: list[Cell] = []
    for lock, isa in product(locks, isas):
        kinds = (("", *lock.variants[1:]), ISAS[isa].flavours, lock.fence_kinds)
        for variant, flavour, fence in product(*kinds):
            built = {"lock": lock.name, "variant": variant, "fence": fence}
            alone = usual("generic", flavour, "footprint", {"iterations": TURNS}, **built)
            both = (alone, replace(alone, threads=2))
            possible = [cell for cell in both if not unsupported_reason(cell)]
            # What is chosen for programs of one thread is measured with one, too.
            chosen += possible if lock.has(Trait.AT_START, variant) else possible[-1:]
    return chosen


def measure(runner: "Runner", wanted: Sequence[Cell]) -> list[Footprint]:
    """Run the cells that are not stored. Raises LockcrossError for a run that failed."""
    counted = []
    for cell, run in zip(wanted, runner.require(wanted, PLAN), strict=True):
        sizes = [int(run.metrics[name]) for name in ("object_bytes", "monitor_bytes")]
        by = {"alone": _paths(run.metrics, "own")}
        if cell.threads > 1:
            by = {"owner": by["alone"], "other": _paths(run.metrics, "foreign")}
            if by["owner"] == by["other"]:
                by = {"any": by["owner"]}
        counted += [Footprint(cell, who, paths, *sizes) for who, paths in by.items()]
    return counted


def _paths(metrics: Mapping[str, float], item: str) -> dict[str, Counts]:
    paths = {}
    for path in PATHS:
        before = f"path_{item}_{path}_"
        fences = sorted(name for name in metrics if name.startswith(f"{before}fences_"))
        paths[path] = Counts(
            {name: int(metrics[before + name]) for name in NUMBERS},
            {name.removeprefix(f"{before}fences_"): int(metrics[name]) for name in fences},
        )
    return paths


def records(footprints: Iterable[Footprint]) -> Iterator[dict[str, Any]]:
    for footprint in footprints:
        cell = footprint.cell
        for path, counts in footprint.paths.items():
            yield {
                **{name: getattr(cell, name) for name in ("lock", "variant", "fence")},
                **{name: getattr(cell, name) for name in ("isa", "flavour", "threads")},
                "by": footprint.by,
                "path": path,
                **counts.numbers,
                "fences": " ".join(f"{kind}={count}" for kind, count in counts.fences.items()),
                "object_bytes": footprint.object_bytes,
                "monitor_bytes": footprint.monitor_bytes,
                "published": footprint.published if path == "acquire" else "",
            }


def tables(footprints: Sequence[Footprint]) -> Iterator[Rows | str]:
    """Yield a table per flavour, and the sources' statements beside the counts."""

    def table(title: str, rows: Sequence[Mapping[str, Any]]) -> Rows:
        return Rows(rows, None, title, {"padding": (0, 2, 0, 0)}, {"lock": {"no_wrap": True}})

    def broken(footprint: Footprint) -> str:
        """Return a lock label in lines: a narrow terminal would cut variants off."""
        return footprint.cell.label.replace(":", "\n:").replace("/", "\n/")

    for isa, flavour in dict.fromkeys((each.cell.isa, each.cell.flavour) for each in footprints):
        counted = [
            {
                "lock": broken(footprint),
                "by": footprint.by,
                **{path.replace("_", " "): str(footprint.paths[path]) for path in _SHOWN},
                "bytes: object": footprint.object_bytes,
                "monitor": footprint.monitor_bytes or "-",
            }
            for footprint in footprints
            if footprint.cell.flavour == flavour
        ]
        yield table(f"{isa} {flavour}: instructions, and among them", counted)
        yield ""
    stated = [
        {
            "lock": broken(footprint),
            "flavour": footprint.cell.flavour,
            "by": footprint.by,
            "counted": str(footprint.pair),
            "published": footprint.published,
        }
        for footprint in footprints
        if footprint.published
    ]
    yield table("acquire and release together", stated)
    yield ""
