"""Mutants as tables: how many of each verdict, and what caught each."""

import csv
import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from proofs.mutants.mutants import Mutant
from results.errors import LockcrossError
from results.paths import REFERENCE, ROOT, WORK
from results.text.rows import Rows

_FILE = Path(__file__).parent / "explanations.toml"


class Explanation(BaseModel):
    """`verdict`: unneeded, an order that nothing relies on; equivalent, a step whose change keeps
    every promise; outside, wrong, but only beyond what the checker can look at, and then `tried`
    says how far it looked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mutants: tuple[str, ...]
    verdict: Literal["unneeded", "equivalent", "outside"]
    reason: str
    tried: str = ""

    @property
    def words(self) -> str:
        """The reason, and how far it was looked."""
        return f"{self.reason} Tried: {self.tried}." if self.tried else self.reason


@cache
def explanations() -> dict[str, Explanation]:
    """By mutant. Raises LockcrossError for a file that cannot be read, or one explained twice."""
    try:
        text = tomllib.loads(_FILE.read_text(encoding="utf-8"))
        known = TypeAdapter(tuple[Explanation, ...]).validate_python(text["explanation"])
    except (OSError, KeyError, ValueError, ValidationError) as error:
        raise LockcrossError(f"{_FILE.name}: {error}", exit_code=1) from None
    found: dict[str, Explanation] = {}
    for one in known:
        for name in one.mutants:
            if name in found:
                raise LockcrossError(f"{_FILE.name}: {name} is explained twice", exit_code=1)
            found[name] = one
    return found


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


KINDS = ("order", "logic")


def summary(rows: Sequence[Row]) -> Rows:
    """A row for each kind. `conformance`, `checker`: how many each of the two catches; the share is
    of those mutants that are wrong."""
    names = ("mutants", "all", *Verdict, "conformance", "checker", "caught of the wrong")
    records = []
    for kind in (*KINDS, "together"):
        found = [row for row in rows if kind in (row.kind, "together")]
        if found:
            values = (kind, len(found), *_counts(found), share(found))
            records.append(dict(zip(names, values, strict=True)))
    return Rows(records)


def _counts(rows: Sequence[Row]) -> list[int]:
    of_verdicts = [sum(row.verdict == verdict for row in rows) for verdict in Verdict]
    return [*of_verdicts, sum(bool(row.conformance) for row in rows),
            sum(bool(row.checker) for row in rows)]  # fmt: skip


def share(rows: Sequence[Row]) -> str:
    """How many are caught of those that are not shown to be no mistake."""
    wrong = [row for row in rows if row.verdict not in (Verdict.UNNEEDED, Verdict.EQUIVALENT)]
    caught = sum(row.verdict == Verdict.CAUGHT for row in wrong)
    return f"{100 * caught / len(wrong):.1f} %" if wrong else ""


def by_mutant(rows: Sequence[Row]) -> Rows:
    """A row for each mutant: what caught it first, or why nothing does."""
    records = []
    for row in rows:
        by = " ".join(filter(None, (row.lock, row.client))) or (
            "conformance" * bool(row.conformance)
        )
        records.append({
            "mutant": row.mutant, "line": row.line, "change": row.change, "verdict": row.verdict,
            "by": by, "model": row.model, "says": row.checker or row.conformance or row.reason,
            "seconds": row.seconds,
        })  # fmt: skip
    names = ("mutant", "line", "change", "verdict", "by", "model", "says")
    return Rows(records, {name: f"{{{name}}}" for name in names} | {"seconds": "{seconds:.1f}"})
