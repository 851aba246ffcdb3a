"""A mutation run: each mutant against all that may catch it. Verdicts are stored, and survivors
explained (explanations.toml)."""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import RootModel

from results.errors import LockcrossError
from results.paths import REFERENCE, ROOT, WORK
from results.store.queries import Answer
from sweeps.model.locks import LockLabel
from sweeps.questions.prove.mutants.catch import LONG, QUICK, Effort, by_checker, by_conformance
from sweeps.questions.prove.mutants.mutants import DATA, Mutant
from sweeps.questions.prove.mutants.operators import all_mutants
from sweeps.questions.prove.proofs.own_checker import make_library
from sweeps.support import csv_rows
from sweeps.support.toml import Entry, read_registry

STORED = REFERENCE / "mutants.csv"
_UNFINISHED = WORK / "build" / "proofs" / "mutants.csv"  # of runs so far, to be resumed
# What decides whether a mutant is caught, besides the header: clients, checker, conformance kernel.
_CATCHERS = (
    "proofs/clients/*.[ch]",
    "proofs/clients/clients.toml",
    "proofs/checker/*.h",
    "proofs/checker/src/**/*",
    "proofs/checker/liveness/*",
    "proofs/mutants/*.h",
    "workloads/kernels/conformance*.[ch]",
)
_NO_COMMENT = re.compile(r"/\*.*?\*/|\s+", re.DOTALL)


class Verdict(StrEnum):
    """The verdict on a mutant.

    Those that nothing catches: `unneeded` is an order that nothing relies on; `equivalent` a
    step whose change keeps every promise; `policy` one that keeps them in another way, which costs
    more or less; `outside` is wrong, but only beyond the checker's reach; `missed` is
    wrong and within it. `survives`: nobody has said why.
    """

    CAUGHT = "caught"
    UNNEEDED = "unneeded"
    EQUIVALENT = "equivalent"
    POLICY = "policy"
    OUTSIDE = "outside"
    MISSED = "missed"
    SURVIVES = "survives"


class Explanation(Entry):
    """Why nothing catches some mutants. `tried`: how far was looked for those that are wrong."""

    mutants: tuple[str, ...]
    verdict: Literal["unneeded", "equivalent", "policy", "outside", "missed"]
    reason: str
    tried: str = ""


@cache
def explanations() -> dict[str, Explanation]:
    """Return them by mutant. Raises LockcrossError for a file that cannot be read, or a mutant that
    is explained twice."""
    file = DATA / "explanations.toml"
    kind = RootModel[dict[Literal["explanation"], tuple[Explanation, ...]]]
    known: dict[str, Explanation] = {}
    for explanation in read_registry(kind, file).root["explanation"]:
        for name in explanation.mutants:
            if name in known:
                raise LockcrossError(f"{file.name}: {name} is explained twice", exit_code=1)
            known[name] = explanation
    return known


@dataclass(frozen=True)
class JudgedMutant:
    """A row of mutants.csv. `conformance` and `checker`: their words, if they catch it; `sources`:
    a digest of the changed header and of the programs that look for mutants."""

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

    def explained(self) -> "JudgedMutant":
        """Return it with today's explanation, if nothing caught it."""
        if self.verdict == Verdict.CAUGHT:
            return replace(self, reason="")
        if (explanation := explanations().get(self.mutant)) is None:
            return replace(self, verdict=Verdict.SURVIVES, reason="")
        tried = f" Tried: {explanation.tried}." if explanation.tried else ""
        reason = explanation.reason + tried
        return replace(self, verdict=Verdict(explanation.verdict), reason=reason)


def sources(mutant: Mutant) -> str:
    """Return a digest of the header with the change and of the catchers, without comments. Other
    headers are left out: a lock that changes elsewhere would have all its mutants judged again."""
    return _digest(f"{_NO_COMMENT.sub(' ', mutant.text())}\0{_catchers()}")


@cache
def _catchers() -> str:
    paths = sorted({path for pattern in _CATCHERS for path in ROOT.glob(pattern) if path.is_file()})
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return _digest("\0".join(_NO_COMMENT.sub(" ", text) for text in texts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_judged(path: Path = STORED) -> dict[str, JudgedMutant]:
    """Return the stored rows by mutant; none where there is no file. Raises LockcrossError for any
    other text."""
    return {row.mutant: row for row in csv_rows.read_rows(JudgedMutant, path)}


class Campaign:
    """The mutants that are looked for in programs of some locks (all, without locks), and their
    known verdicts: from the reference, and from runs that were stopped. `deep`: those that survive
    are tried again, with larger clients."""

    def __init__(self, locks: Sequence[str], deep: bool) -> None:
        self._deep = deep
        self._known = {**read_judged(), **read_judged(_UNFINISHED)}
        chosen = [
            mutant
            for mutant in all_mutants()
            if not locks or any(LockLabel(target).lock in locks for target in mutant.targets)
        ]
        self._names = {mutant.name for mutant in chosen}
        self.missing = [mutant for mutant in chosen if not self._is_judged(mutant)]

    def _is_judged(self, mutant: Mutant) -> bool:
        row = self._known.get(mutant.name)
        if row is None or row.sources != sources(mutant):
            return False
        verdict = row.explained().verdict
        return verdict == Verdict.CAUGHT or not (self._deep or verdict == Verdict.SURVIVES)

    def run(self, at_once: int) -> Iterator[JudgedMutant]:
        """Judge the missing ones, side by side; yield each row once it is known and saved."""
        if self.missing:
            make_library(at_once)
        with ThreadPoolExecutor(at_once) as pool:
            waiting = [pool.submit(judge, mutant, self._deep) for mutant in self.missing]
            try:
                for done in as_completed(waiting):
                    row = done.result()
                    self._known[row.mutant] = row
                    csv_rows.write_rows(JudgedMutant, self._known.values(), _UNFINISHED)
                    yield row
            finally:
                pool.shutdown(cancel_futures=True)

    def rows(self) -> list[JudgedMutant]:
        """Return the known rows, in the order of the mutants, with today's explanations."""
        return [row for row in self._all_rows() if row.mutant in self._names]

    def store(self) -> None:
        """Keep all that is known of today's mutants as the reference."""
        csv_rows.write_rows(JudgedMutant, self._all_rows(), STORED)

    def _all_rows(self) -> list[JudgedMutant]:
        known = (self._known.get(mutant.name) for mutant in all_mutants())
        return [row.explained() for row in known if row]


def judge(mutant: Mutant, deep: bool = False) -> JudgedMutant:
    """Find the check that catches a mutant: the conformance kernel and the clients, each by itself,
    the cheapest first; where neither does, with more effort. Orders are not for the kernel:
    simulated cores are in order."""
    began = time.monotonic()

    def conformance(effort: Effort) -> dict[str, str]:
        for target in mutant.targets if mutant.kind != "order" else ():
            if complaint := by_conformance(target, mutant, effort):
                return {"conformance": f"{target}: {complaint}"}
        return {}

    def checker(effort: Effort) -> dict[str, str]:
        catches = (by_checker(target, mutant, effort) for target in mutant.targets)
        return next(filter(None, catches), {})

    catch = conformance(QUICK) | checker(QUICK)
    catch = catch or conformance(LONG)
    if not catch and (deep or mutant.name not in explanations()):
        catch = checker(LONG)
    return JudgedMutant(
        mutant.name,
        mutant.kind,
        f"lockimpl/{mutant.file}",
        mutant.line,
        mutant.change,
        Verdict.CAUGHT if catch else Verdict.SURVIVES,
        seconds=time.monotonic() - began,
        sources=sources(mutant),
        **catch,
    ).explained()


def caught_share(
    rows: Sequence[JudgedMutant],
    is_caught: Callable[[JudgedMutant], object] = lambda row: row.verdict == Verdict.CAUGHT,
) -> str:
    """Return how many are caught of those that are wrong, in percent; "" where none is."""
    harmless = Verdict.UNNEEDED, Verdict.EQUIVALENT, Verdict.POLICY
    wrong = [row for row in rows if row.verdict not in harmless]
    caught = sum(bool(is_caught(row)) for row in wrong)
    return f"{100 * caught / len(wrong):.1f} %" if wrong else ""


def summary(rows: Sequence[JudgedMutant]) -> Answer:
    """Return one row per kind: how many the proofs catch, the conformance kernel, and both; the
    shares are of those mutants that are wrong."""
    heads = ["mutants", "all", *Verdict, "by proofs", "by conformance", "by both"]
    heads += ["proofs", "conformance", "either"]
    answer = Answer(heads, [])
    for kind in (*dict.fromkeys(row.kind for row in rows), "together"):
        of_kind = [row for row in rows if kind in (row.kind, "together")]
        verdicts = [row.verdict for row in of_kind]
        counts = (
            len(of_kind),
            *map(verdicts.count, Verdict),
            sum(bool(row.checker) for row in of_kind),
            sum(bool(row.conformance) for row in of_kind),
            sum(bool(row.checker and row.conformance) for row in of_kind),
        )
        shares = (
            caught_share(of_kind, lambda row: row.checker),
            caught_share(of_kind, lambda row: row.conformance),
            caught_share(of_kind),
        )
        answer.rows.append((kind, *counts, *shares))
    return answer


def by_mutant(rows: Sequence[JudgedMutant]) -> Answer:
    """Return one row per mutant: the check that catches it, or why none does."""
    answer = Answer("mutant line change verdict by model says seconds".split(), [])
    for row in rows:
        catchers = f"{row.lock} {row.client}".strip(), "conformance" * bool(row.conformance)
        by = ", ".join(filter(None, catchers))
        says = row.checker or row.conformance or row.reason
        described = (row.mutant, row.line, row.change, row.verdict.value)
        answer.rows.append((*described, by, row.model, says, row.seconds))
    return answer
