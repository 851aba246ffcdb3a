"""A mutation run: each mutant against the conformance kernel and the clients of the checker."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from proofs.mutants import checking, conformance
from proofs.mutants.checking import LONG, QUICK, Catch, Effort
from proofs.mutants.mutants import Mutant, logic_mutants, order_mutants
from proofs.mutants.stored import (
    STORED,
    UNFINISHED,
    Row,
    Verdict,
    explanations,
    judged,
    read_rows,
    sources,
    write_rows,
)
from proofs.own_checker import make_library


def all_mutants() -> tuple[Mutant, ...]:
    """Order mutants, then logic mutants."""
    return order_mutants() + logic_mutants()


class Campaign:
    """The mutants that are looked for in programs of some locks (all, without locks), and what is
    known of them: from the reference, and from runs that were stopped. `deep`: those that survive
    are tried again, with larger clients."""

    def __init__(self, locks: Sequence[str], deep: bool) -> None:
        self._deep = deep
        self._mutants = [
            mutant
            for mutant in all_mutants()
            if not locks or any(target.partition(":")[0] in locks for target in mutant.targets)
        ]
        self._known = {**read_rows(STORED), **read_rows(UNFINISHED)}
        self.missing = [mutant for mutant in self._mutants if not self._is_judged(mutant)]

    def _is_judged(self, mutant: Mutant) -> bool:
        row = self._known.get(mutant.name)
        if row is None or row.sources != sources(mutant):
            return False
        verdict = _explained(row).verdict
        return verdict == Verdict.CAUGHT or not (self._deep or verdict == Verdict.SURVIVES)

    def run(self, at_once: int) -> Iterator[Row]:
        """Judges what is missing, side by side; yields each row as it is known and kept."""
        if self.missing:
            make_library(at_once)
        with ThreadPoolExecutor(at_once) as pool:
            waiting = [pool.submit(judge, mutant, self._deep) for mutant in self.missing]
            try:
                for done in as_completed(waiting):
                    row = done.result()
                    self._known[row.mutant] = row
                    write_rows(self._known.values(), UNFINISHED)
                    yield row
            finally:
                pool.shutdown(cancel_futures=True)

    def rows(self) -> list[Row]:
        """What is known, in the order of the mutants, with today's explanations."""
        known = [self._known[one.name] for one in self._mutants if one.name in self._known]
        return [_explained(row) for row in known]

    def store(self) -> None:
        """Keeps all that is known of today's mutants as the reference."""
        names = (mutant.name for mutant in all_mutants())
        write_rows(_explained(self._known[name]) for name in names if name in self._known)


def _explained(row: Row) -> Row:
    verdict, reason = judged(row.mutant, row.verdict == Verdict.CAUGHT)
    return replace(row, verdict=verdict, reason=reason)


def judge(mutant: Mutant, deep: bool = False) -> Row:
    """What catches a mutant first, the quickest first. Orders are not for the conformance kernel:
    simulated cores are in order."""
    began = time.monotonic()
    said, catch = "", None
    if mutant.kind == "logic":
        said = _conformance(mutant, conformance.QUICK)
    if not said:
        catch = _checker(mutant, QUICK)
    if not said and not catch and mutant.kind == "logic":
        said = _conformance(mutant, conformance.LONG)
    if not said and not catch and (deep or mutant.name not in explanations()):
        catch = _checker(mutant, LONG)
    verdict, reason = judged(mutant.name, bool(said or catch))
    row = Row(
        mutant.name, mutant.kind, f"lockimpl/{mutant.file}", mutant.line, mutant.change, verdict,
        said, "", "", "", "", "", time.monotonic() - began, sources(mutant), reason,
    )  # fmt: skip
    if catch is None:
        return row
    return replace(
        row, lock=catch.lock, client=catch.client, model=catch.model, way=catch.way,
        checker=catch.said,
    )  # fmt: skip


def _conformance(mutant: Mutant, runs: Sequence[conformance.Run]) -> str:
    for target in mutant.targets:
        said = conformance.caught(target, mutant, runs)
        if said:
            return f"{target}: {said}"
    return ""


def _checker(mutant: Mutant, effort: Effort) -> Catch | None:
    for target in mutant.targets:
        with tempfile.TemporaryDirectory() as folder:
            catch = checking.caught(target, mutant, Path(folder), effort)
        if catch:
            return catch
    return None
