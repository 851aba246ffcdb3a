"""A mutation run: each mutant against the conformance kernel and the clients of the checker; what
is known of it is stored, and what nothing catches is explained (explanations.toml)."""

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import RootModel

from proofs import files
from proofs.mutants import catching
from proofs.mutants.catching import LONG, LONG_RUNS, QUICK, QUICK_RUNS
from proofs.mutants.mutants import Mutant, all_mutants
from proofs.own_checker import make_library
from results.errors import LockcrossError
from results.paths import REFERENCE, ROOT, WORK
from results.store.queries import Answer
from sweeps.model.label import LockLabel

STORED = REFERENCE / "mutants.csv"
_UNFINISHED = WORK / "build" / "proofs" / "mutants.csv"  # of runs so far, to be resumed
# What decides whether a mutant is caught, besides the header: clients, checker, conformance kernel.
_CATCHERS = (
    "proofs/clients/*.[ch]", "proofs/clients/clients.toml", "proofs/checker/*.h",
    "proofs/checker/src/**/*", "proofs/mutants/*.h", "workloads/kernels/conformance*.[ch]",
)  # fmt: skip
_NO_COMMENT = re.compile(r"/\*.*?\*/|\s+", re.DOTALL)


class Explanation(files.Entry):
    """`verdict`: unneeded, an order that nothing relies on; equivalent, a step whose change keeps
    every promise; outside, wrong, but only beyond what the checker can look at, and then `tried`
    says how far it looked."""

    mutants: tuple[str, ...]
    verdict: Literal["unneeded", "equivalent", "outside"]
    reason: str
    tried: str = ""


@cache
def explanations() -> dict[str, Explanation]:
    """By mutant. Raises LockcrossError for a file that cannot be read, or one explained twice."""
    file = Path(__file__).parent / "explanations.toml"
    kind = RootModel[dict[Literal["explanation"], tuple[Explanation, ...]]]
    known: dict[str, Explanation] = {}
    for one in files.registry(kind, file).root["explanation"]:
        for name in one.mutants:
            if name in known:
                raise LockcrossError(f"{file.name}: {name} is explained twice", exit_code=1)
            known[name] = one
    return known


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
    conformance: str = ""
    lock: str = ""
    client: str = ""
    model: str = ""
    way: str = ""
    checker: str = ""
    seconds: float = 0.0
    sources: str = ""
    reason: str = ""

    def explained(self) -> "Row":
        """With today's explanation, if nothing caught it."""
        if self.verdict == Verdict.CAUGHT:
            return replace(self, reason="")
        if (why := explanations().get(self.mutant)) is None:
            return replace(self, verdict=Verdict.SURVIVES, reason="")
        reason = f"{why.reason} Tried: {why.tried}." if why.tried else why.reason
        return replace(self, verdict=Verdict(why.verdict), reason=reason)


def sources(mutant: Mutant) -> str:
    """A digest of the header with the change and of the catchers, but for comments. Not of other
    headers: a lock that changes elsewhere would have all its mutants judged again."""
    return _digest(f"{_NO_COMMENT.sub(' ', mutant.text())}\0{_catchers()}")


@cache
def _catchers() -> str:
    paths = sorted({path for pattern in _CATCHERS for path in ROOT.glob(pattern) if path.is_file()})
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return _digest("\0".join(_NO_COMMENT.sub(" ", text) for text in texts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_rows(path: Path = STORED) -> dict[str, Row]:
    """The stored rows by mutant; none where there is no file. Raises LockcrossError for any other
    text."""
    return {row.mutant: row for row in files.read_rows(Row, path)}


class Campaign:
    """The mutants that are looked for in programs of some locks (all, without locks), and what is
    known of them: from the reference, and from runs that were stopped. `deep`: those that survive
    are tried again, with larger clients."""

    def __init__(self, locks: Sequence[str], deep: bool) -> None:
        self._deep = deep
        self._names = {
            mutant.name
            for mutant in all_mutants()
            if not locks or any(LockLabel(target).lock in locks for target in mutant.targets)
        }
        self._known = {**read_rows(), **read_rows(_UNFINISHED)}
        every = [mutant for mutant in all_mutants() if mutant.name in self._names]
        self.missing = [mutant for mutant in every if not self._is_judged(mutant)]

    def _is_judged(self, mutant: Mutant) -> bool:
        row = self._known.get(mutant.name)
        if row is None or row.sources != sources(mutant):
            return False
        verdict = row.explained().verdict
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
                    files.write_rows(Row, self._known.values(), _UNFINISHED)
                    yield row
            finally:
                pool.shutdown(cancel_futures=True)

    def rows(self) -> list[Row]:
        """What is known, in the order of the mutants, with today's explanations."""
        return [row for row in self._every() if row.mutant in self._names]

    def store(self) -> None:
        """Keeps all that is known of today's mutants as the reference."""
        files.write_rows(Row, self._every(), STORED)

    def _every(self) -> list[Row]:
        known = (self._known.get(mutant.name) for mutant in all_mutants())
        return [row.explained() for row in known if row]


def judge(mutant: Mutant, deep: bool = False) -> Row:
    """What catches a mutant first, the quickest first. Orders are not for the conformance kernel:
    simulated cores are in order."""
    began = time.monotonic()

    def conformance(runs: Sequence[catching.Run]) -> dict[str, str]:
        for target in mutant.targets if mutant.kind == "logic" else ():
            if said := catching.by_conformance(target, mutant, runs):
                return {"conformance": f"{target}: {said}"}
        return {}

    def checker(effort: catching.Effort) -> dict[str, str]:
        catches = (catching.by_checker(target, mutant, effort) for target in mutant.targets)
        return next(filter(None, catches), {})

    catch = conformance(QUICK_RUNS) or checker(QUICK) or conformance(LONG_RUNS)
    if not catch and (deep or mutant.name not in explanations()):
        catch = checker(LONG)
    return Row(
        mutant.name, mutant.kind, f"lockimpl/{mutant.file}", mutant.line, mutant.change,
        Verdict.CAUGHT if catch else Verdict.SURVIVES, seconds=time.monotonic() - began,
        sources=sources(mutant), **catch,
    ).explained()  # fmt: skip


def share(rows: Sequence[Row]) -> str:
    """How many are caught of those that are not shown to be no mistake."""
    wrong = [row for row in rows if row.verdict not in (Verdict.UNNEEDED, Verdict.EQUIVALENT)]
    caught = sum(row.verdict == Verdict.CAUGHT for row in wrong)
    return f"{100 * caught / len(wrong):.1f} %" if wrong else ""


def summary(rows: Sequence[Row]) -> Answer:
    """A row for each kind. `conformance`, `checker`: how many each of the two catches; the share is
    of those mutants that are wrong."""
    head = ["mutants", "all", *Verdict, "conformance", "checker", "caught of the wrong"]
    answer = Answer(head, [])
    for kind in ("order", "logic", "together"):
        if of_kind := [row for row in rows if kind in (row.kind, "together")]:
            verdicts = [row.verdict for row in of_kind]
            answer.rows.append((
                kind, len(of_kind), *map(verdicts.count, Verdict),
                sum(bool(row.conformance) for row in of_kind),
                sum(bool(row.checker) for row in of_kind), share(of_kind),
            ))  # fmt: skip
    return answer


def by_mutant(rows: Sequence[Row]) -> Answer:
    """A row for each mutant: what caught it first, or why nothing does."""
    answer = Answer("mutant line change verdict by model says seconds".split(), [])
    for row in rows:
        by = f"{row.lock} {row.client}".strip() or "conformance" * bool(row.conformance)
        says = row.checker or row.conformance or row.reason
        described = (row.mutant, row.line, row.change, row.verdict.value)
        answer.rows.append((*described, by, row.model, says, row.seconds))
    return answer
