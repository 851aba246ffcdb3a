"""Mutants as they are stored: what each changes, and what caught it or why nothing does."""

import csv
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.paths import REFERENCE, ROOT, WORK
from sweeps.proofs.mutants.explanations import explanations
from sweeps.proofs.mutants.mutant import Mutant

STORED = REFERENCE / "mutants.csv"
UNFINISHED = WORK / "build" / "proofs" / "mutants.csv"  # of runs so far, to be resumed
# What decides whether a mutant is caught, besides the header: clients, checker, conformance kernel.
_CATCHERS = (
    "proofs/clients/*.[ch]", "proofs/clients/clients.toml", "proofs/checker/*.h",
    "proofs/checker/src/**/*", "proofs/mutants/*.h", "workloads/kernels/conformance*.[ch]",
)  # fmt: skip
_NO_COMMENT = re.compile(r"/\*.*?\*/|\s+", re.DOTALL)


class Verdict(StrEnum):
    """What came of a mutant. The last: nothing catches it, and nobody has said why."""

    CAUGHT = "caught"
    UNNEEDED = "unneeded"
    EQUIVALENT = "equivalent"
    OUTSIDE = "outside"
    SURVIVES = "survives"


@dataclass(frozen=True)
class Row:
    """A row of mutants.csv. `conformance` and `checker`: what they say, if they catch it;
    `sources`: a digest of the changed header and of what looks for mutants."""

    mutant: str
    kind: str
    file: str
    line: int
    change: str
    verdict: Verdict
    conformance: str
    lock: str
    client: str
    model: str
    way: str
    checker: str
    seconds: float
    sources: str
    reason: str = ""


COLUMNS = tuple(field.name for field in fields(Row))


def sources(mutant: Mutant) -> str:
    """A digest of the header with the change and of the catchers, but for comments. Not of other
    headers: a lock that changes elsewhere would have all its mutants judged again."""
    return _digest(f"{_bare(mutant.text())}\0{_catchers()}")


@cache
def _catchers() -> str:
    files = sorted({path for pattern in _CATCHERS for path in ROOT.glob(pattern) if path.is_file()})
    return _digest("\0".join(_bare(path.read_text(encoding="utf-8")) for path in files))


def _bare(text: str) -> str:
    return _NO_COMMENT.sub(" ", text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def judged(name: str, caught: bool) -> tuple[Verdict, str]:
    """The verdict of a mutant, and the reason if nothing caught it."""
    if caught:
        return Verdict.CAUGHT, ""
    explanation = explanations().get(name)
    if explanation is None:
        return Verdict.SURVIVES, ""
    return Verdict(explanation.verdict), explanation.words


def read_rows(path: Path = STORED) -> dict[str, Row]:
    """The stored rows by mutant; none where there is no file. Raises LockcrossError for any other
    text."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            raise LockcrossError(f"{path.name}: its columns must be {', '.join(COLUMNS)}")
        try:
            return {row["mutant"]: _row(row) for row in rows}
        except (TypeError, ValueError) as error:
            raise LockcrossError(f"{path.name}: {error}") from None


def _row(row: Mapping[str, str]) -> Row:
    known = dict(row) | {"line": int(row["line"]), "seconds": float(row["seconds"])}
    return Row(**known | {"verdict": Verdict(row["verdict"])})  # type: ignore[arg-type]


def write_rows(rows: Iterable[Row], path: Path = STORED) -> None:
    """Writes rows, in the order given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(asdict(row) | {"seconds": f"{row.seconds:.1f}"})
    temporary.replace(path)
