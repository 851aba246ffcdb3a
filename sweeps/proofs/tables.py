"""Proofs as tables: what was proved, what was not and why, and the interleaving of a failure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.table import Table

from results.model.proof import Proof, Verdict
from sweeps.proofs.job import Step
from sweeps.proofs.models import MODELS
from sweeps.proofs.proving import Outcome

_ORDER = (Verdict.FAILED, Verdict.BOUND, Verdict.PROVED, Verdict.ASSUMED, Verdict.REFUSED)


def by_client(outcomes: Sequence[Outcome]) -> Table:
    """A row for each proof."""
    table = Table("lock", "client", "model", "verdict", "bound", "states", "seconds", "reason",
                  box=None)  # fmt: skip
    for one in outcomes:
        proof = one.proof
        ran = proof.verdict != Verdict.REFUSED
        table.add_row(
            one.job.program.label, proof.client, proof.model, proof.verdict, proof.bound,
            str(one.found.states or one.found.executions) if ran else "",
            f"{proof.seconds:.1f}" if ran else "", proof.reason,
        )  # fmt: skip
    return table


def by_lock(outcomes: Sequence[Outcome]) -> Table:
    """A row for each lock and model: what came of all its clients together."""
    table = Table("lock", "model", "verdict", "clients", "bound", "states", "seconds", "reason",
                  box=None)  # fmt: skip
    for (label, model), group in groupby(sorted(outcomes, key=_place), key=_place):
        found = list(group)
        verdict = min((one.proof.verdict for one in found), key=_ORDER.index)
        same = [one for one in found if one.proof.verdict == verdict]
        reasons = dict.fromkeys(one.proof.reason for one in same if one.proof.reason)
        table.add_row(
            label, model, verdict, f"{len(same)} of {len(found)}", _bounds(found),
            str(sum(one.found.states or one.found.executions for one in found)),
            f"{sum(one.proof.seconds for one in found):.1f}", "; ".join(reasons),
        )  # fmt: skip
    return table


def _place(one: Outcome) -> tuple[str, str]:
    return one.job.program.label, one.proof.model


def _bounds(outcomes: Iterable[Outcome]) -> str:
    return "; ".join(sorted({one.proof.bound for one in outcomes if one.proof.bound}))


def legend(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What the models are."""
    for name in dict.fromkeys(one.proof.model for one in outcomes):
        if name in MODELS:
            yield f"{name}: {MODELS[name].says}"


def interleaving(steps: Sequence[Step]) -> Table:
    """A counterexample, step by step. What is in a buffer has not become visible to others."""
    table = Table("", "thread", "line", "function", "access", "object", "value", "buffered",
                  box=None)  # fmt: skip
    for number, step in enumerate(steps, 1):
        table.add_row(
            str(number), str(step.thread), step.place, step.function, step.access, step.object,
            step.value, step.buffer,
        )  # fmt: skip
    return table


def headline(outcomes: Sequence[Outcome]) -> str:
    """How many of each verdict."""
    proofs: list[Proof] = [one.proof for one in outcomes]
    counts = [(verdict, sum(one.verdict == verdict for one in proofs)) for verdict in Verdict]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
