"""A proof as it is stored: what was checked, by which tool, under which model, and its verdict."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path

from results.errors import LockcrossError
from results.model.label import LockLabel
from results.paths import REFERENCE

STORED = REFERENCE / "proofs.csv"
OWN_CHECKER = "lockcross"  # the tool of proofs/checker


class Verdict(StrEnum):
    """What came of a proof.

    `assumed`: it fails under this model, which promises less than the lock relies on; the reason
    says what that is. `refused`: it was not tried, and the reason says why.
    """

    PROVED = "proved"
    FAILED = "failed"
    BOUND = "bound"
    ASSUMED = "assumed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Proof:
    """A row of proofs.csv. `sources` is a digest of what was checked."""

    lock: str
    variant: str
    fence: str
    client: str
    tool: str
    version: str
    model: str
    bound: str
    verdict: Verdict
    executions: int
    seconds: float
    sources: str
    reason: str = ""

    @property
    def label(self) -> str:
        """The lock, with its variant if that is not the default."""
        return LockLabel.of(self.lock, self.variant)

    @property
    def subject(self) -> tuple[str, str, str, str, str, str]:
        """What tells two rows apart."""
        return (self.lock, self.variant, self.fence, self.client, self.tool, self.model)


COLUMNS = tuple(field.name for field in fields(Proof))


def read_proofs(path: Path = STORED) -> list[Proof]:
    """The stored proofs; none where there is no file. Raises LockcrossError for any other text."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            raise LockcrossError(f"{path.name}: its columns must be {', '.join(COLUMNS)}")
        try:
            return [_proof(row) for row in rows]
        except (TypeError, ValueError) as error:
            raise LockcrossError(f"{path.name}: {error}") from None


def _proof(row: dict[str, str]) -> Proof:
    return Proof(
        row["lock"], row["variant"], row["fence"], row["client"], row["tool"], row["version"],
        row["model"], row["bound"], Verdict(row["verdict"]), int(row["executions"]),
        float(row["seconds"]), row["sources"], row["reason"],
    )  # fmt: skip


def write_proofs(proofs: Iterable[Proof], path: Path = STORED) -> None:
    """Writes proofs, in the order given."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for proof in proofs:
            writer.writerow(asdict(proof) | {"seconds": f"{proof.seconds:.1f}"})


def merged(stored: Sequence[Proof], new: Iterable[Proof]) -> list[Proof]:
    """Stored proofs, with new ones in the place of those of the same subject, or behind."""
    found = {proof.subject: proof for proof in stored}
    found.update({proof.subject: proof for proof in new})
    return list(found.values())
