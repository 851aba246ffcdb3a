"""The counts of every path through every lock, kept in footprint/ for each compiler.

`./lockcross python -m tests.locks.footprint_values` counts them anew for the compiler that is here:
after a lock has changed, with a word in the commit about why they moved, or for another compiler.
With names of locks behind it, it counts those alone: for a new lock.
"""

import json
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from results.store.queries import compiler_name
from results.store.store import Store
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.model.locks import Lock, load_locks
from sweeps.programs import TARGETS, compiler_version, find_compiler
from sweeps.questions.footprint.command import NUMBERS, Counts, Footprint, cells, measure
from sweeps.run.runner import Runner

FOLDER = Path(__file__).parents[1] / "footprint"
REFERENCE = "gcc-12"  # the compiler that stored results and reference cycles are of
Values = dict[str, dict[str, object]]  # of a row ("thin lock any"): its paths and sizes


def counted(
    flavour: str,
    locks: Collection[Lock],
    jobs: int = 1,
    wanted: Callable[[Cell], bool] = lambda _: True,
) -> list[Footprint]:
    """Locks in all that can be had of them with an atomic flavour, or in what is `wanted`."""
    isa = TARGETS[flavour].isa
    chosen = [cell for cell in cells(locks, [isa]) if cell.flavour == flavour and wanted(cell)]
    with TemporaryDirectory() as folder, Store(Path(folder) / "footprint.db") as store:
        return measure(Runner(store, jobs), chosen)


def values(footprints: list[Footprint]) -> Values:
    """As the file has them: zeros are left out."""
    return {
        f"{footprint.cell.label} {footprint.cell.flavour} {footprint.by}": {
            **{
                path: {name: n for name, n in {**counts.numbers, **counts.fences}.items() if n}
                for path, counts in footprint.paths.items()
            },
            "bytes": [footprint.object_bytes, footprint.monitor_bytes],
        }
        for footprint in footprints
    }


def kept_for() -> dict[str, Values]:
    """By compiler, as in gcc-12."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def compiler() -> str:
    """The one that is here: its family and its first number."""
    family, version = compiler_name(compiler_version(find_compiler("lock"))).split()
    return f"{family}-{version.partition('.')[0]}"


def counts_of(row: dict[str, object], path: str) -> Counts:
    """Return the counts of a row of the file."""
    given = row[path]
    assert isinstance(given, dict)
    numbers = {name: given.get(name, 0) for name in NUMBERS}
    return Counts(numbers, {name: n for name, n in given.items() if name not in NUMBERS})


def atomics(counts: Counts) -> int:
    """Atomic operations, those that lose too."""
    return sum(counts.numbers[name] for name in ("cas_won", "cas_lost", "rmw"))


def main(names: list[str]) -> None:
    """Write this compiler's file: the rows of all locks, or those of some anew."""
    locks = load_locks()
    file = FOLDER / f"{compiler()}.json"
    rows: Values = json.loads(file.read_text()) if names and file.exists() else {}
    wanted = [locks[name] for name in names or locks]
    for isa in ISAS.values():
        for flavour in isa.flavours:
            rows |= values(counted(flavour, wanted, jobs=0))
    lines = [f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items()]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{file.name}: {len(lines)} rows")


if __name__ == "__main__":
    main(sys.argv[1:])
