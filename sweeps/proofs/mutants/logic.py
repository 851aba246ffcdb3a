"""Logic mutants: steps of an algorithm left out or changed, by hand, in logic/*.toml."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from results.errors import LockcrossError
from sweeps.proofs.mutants.mutant import Mutant, line_of, source_of
from sweeps.proofs.mutants.targets import targets_of

TABLES = Path(__file__).parent / "logic"


def _mutant(file: str, entry: dict[str, Any]) -> Mutant:
    source, old, new = source_of(file), entry["old"].strip("\n"), entry["new"].strip("\n")
    name = f"{file.removesuffix('.h')}:{entry['name']}"
    found = source.count(old)
    if found != 1:
        raise LockcrossError(
            f"mutant {name}: its text stands {found} times in lockimpl/{file}, not once; mend "
            f"{TABLES.name}/*.toml, or take the mutant out if the step is gone"
        )
    start = source.index(old)
    return Mutant(
        name=name,
        kind="logic",
        file=file,
        where="",
        change=entry["why"],
        line=line_of(source, start),
        start=start,
        old=old,
        new=new,
        targets=tuple(entry.get("targets", ())) or targets_of(file, source, start),
        expected=entry["by"],
    )


def _entries() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(TABLES.glob("*.toml")):
        for header in tomllib.loads(path.read_text(encoding="utf-8"))["header"]:
            for entry in header["mutant"]:
                yield header["file"], entry


@cache
def logic_mutants() -> tuple[Mutant, ...]:
    """All of them. Raises LockcrossError for one that no longer applies."""
    return tuple(_mutant(file, entry) for file, entry in _entries())
