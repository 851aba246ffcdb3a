"""The counts of every way through every lock, kept in footprint.json.

`python -m tests.footprint_values` counts them anew: after a lock or a compiler has changed, with a
word in the commit about why they moved.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from results.store import Store
from sweeps.footprint import NUMBERS, Counts, Footprint, cells, measure
from sweeps.isa import ISAS
from sweeps.locks import load_locks
from sweeps.runner import Runner

FILE = Path(__file__).with_name("footprint.json")
Values = dict[str, dict[str, object]]  # of a row ("thin lock any"): its ways and sizes


def counted(flavour: str, folder: Path, jobs: int = 1) -> list[Footprint]:
    """Every lock in all that can be had of it with an atomic flavour."""
    isa = next(isa.name for isa in ISAS.values() if flavour in isa.flavours)
    wanted = [cell for cell in cells(load_locks().values(), [isa]) if cell.flavour == flavour]
    with Store(folder / "footprint.db") as store:
        return measure(Runner(store, jobs), wanted)


def values(found: list[Footprint]) -> Values:
    """As the file has them: zeros are left out."""
    return {
        f"{one.label} {one.cell.flavour} {one.by}": {
            **{
                way: {name: n for name, n in {**counts.numbers, **counts.fences}.items() if n}
                for way, counts in one.ways.items()
            },
            "bytes": [one.object_bytes, one.monitor_bytes],
        }
        for one in found
    }


def load() -> Values:
    """The file."""
    kept: Values = json.loads(FILE.read_text())
    return kept


def counts_of(row: dict[str, object], way: str) -> Counts:
    """Of a row of the file."""
    given = row[way]
    assert isinstance(given, dict)
    numbers = {name: given.get(name, 0) for name in NUMBERS}
    return Counts(numbers, {name: n for name, n in given.items() if name not in NUMBERS})


def main() -> None:
    """Writes the file."""
    with TemporaryDirectory(prefix="lockcross-") as folder:
        found = [
            one
            for isa in ISAS.values()
            for flavour in isa.flavours
            for one in counted(flavour, Path(folder), jobs=0)
        ]
    lines = [f"{json.dumps(key)}: {json.dumps(row)}" for key, row in values(found).items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{FILE.name}: {len(lines)} rows")


if __name__ == "__main__":
    main()
