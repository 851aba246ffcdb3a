"""Mutants as tables: how many of each verdict, and what caught each."""

from collections.abc import Sequence

from rich.table import Table

from sweeps.proofs.mutants.store import Row, Verdict

KINDS = ("order", "logic")


def summary(rows: Sequence[Row]) -> Table:
    """A row for each kind. `conformance`, `checker`: how many each of the two catches; the share is
    of those mutants that are wrong."""
    table = Table("mutants", "all", *Verdict, "conformance", "checker", "caught of the wrong",
                  box=None)  # fmt: skip
    for kind in (*KINDS, "together"):
        found = [row for row in rows if kind in (row.kind, "together")]
        if found:
            table.add_row(kind, str(len(found)), *map(str, _counts(found)), share(found))
    return table


def _counts(rows: Sequence[Row]) -> list[int]:
    of_verdicts = [sum(row.verdict == verdict for row in rows) for verdict in Verdict]
    return [*of_verdicts, sum(bool(row.conformance) for row in rows),
            sum(bool(row.checker) for row in rows)]  # fmt: skip


def share(rows: Sequence[Row]) -> str:
    """How many are caught of those that are not shown to be no mistake."""
    wrong = [row for row in rows if row.verdict not in (Verdict.UNNEEDED, Verdict.EQUIVALENT)]
    caught = sum(row.verdict == Verdict.CAUGHT for row in wrong)
    return f"{100 * caught / len(wrong):.1f} %" if wrong else ""


def by_mutant(rows: Sequence[Row]) -> Table:
    """A row for each mutant: what caught it first, or why nothing does."""
    table = Table("mutant", "line", "change", "verdict", "by", "model", "says", "seconds",
                  box=None)  # fmt: skip
    for row in rows:
        by = " ".join(filter(None, (row.lock, row.client))) or (
            "conformance" * bool(row.conformance)
        )
        table.add_row(
            row.mutant, str(row.line), row.change, row.verdict, by, row.model,
            row.checker or row.conformance or row.reason, f"{row.seconds:.1f}",
        )  # fmt: skip
    return table
