"""Answers of one question for several values of a latency, side by side."""

from collections.abc import Iterator, Mapping, Sequence

import typer
from rich.table import Table

from results.errors import LockcrossError
from results.text.terminal import console
from sweeps.model.axes import AXIS_WORDS
from sweeps.model.locks import LockLabel
from sweeps.questions.advise.advice import USE_AXES, Advice
from sweeps.questions.advise.text import MEASURED_AXES, change_in_words, decisive, headline, verdict
from sweeps.study.leads import Lead


class Cycles(tuple[int, ...]):
    """One value of a latency or several, in cycles."""

    most: int  # that may be given

    @classmethod
    def read(cls, text: str) -> "Cycles":
        """Return the values in a text. Raises BadParameter for a text without any."""
        values = [word.strip() for word in text.split(",")]
        if not all(word.isascii() and word.isdigit() and int(word) <= cls.most for word in values):
            raise typer.BadParameter(
                f"{text!r}: whole numbers from 0 to {cls.most} are expected, with commas between"
            )
        return cls(dict.fromkeys(map(int, values)))


class CyclesOfInstruction(Cycles):
    """Those of an atomic or a fence."""

    most = 10_000


class CyclesOfOthers(Cycles):
    """Those of stopping or asking other threads."""

    most = 10_000_000


def each_of(latencies: Mapping[str, Cycles | None]) -> list[dict[str, int | None]]:
    """Return the latencies of each question: one for each value of the one that has several.
    Raises LockcrossError where more than one has."""
    several = [axis for axis, values in latencies.items() if values and len(values) > 1]
    if len(several) > 1:
        words = " and ".join(
            f"--{'measured-' * (axis in MEASURED_AXES)}{axis.replace('_', '-')}" for axis in several
        )
        raise LockcrossError(f"{words}: one latency at a time may have several values")
    plain = {axis: values[0] if values else None for axis, values in latencies.items()}
    return [{**plain, axis: value} for axis in several for value in latencies[axis] or ()] or [
        plain
    ]


def print_values(answers: Sequence[Advice]) -> None:
    """Print for each machine the verdict for each value, what changes between them, and the costs
    of the locks side by side."""
    out = console(fold=False)
    machines = dict.fromkeys(str(advice.setting["machine"]) for advice in answers)
    for machine in machines:
        of_machine = [advice for advice in answers if advice.setting["machine"] == machine]
        if len(machines) > 1:
            out.print(f"== {machine}", style="bold")
        for line in _verdicts(of_machine):
            out.print(line)
        out.print()
        out.print(_table(of_machine), end="\n\n")
    out.print("One value alone shows what its answer rests on")


def _differing(answers: Sequence[Advice]) -> str:
    """Return the latency in which answers of one machine differ."""
    asked = [advice.asked for advice in answers]
    return next(axis for axis, value in asked[0].items() if asked[1][axis] != value)


def _verdicts(answers: Sequence[Advice]) -> Iterator[str]:
    """Yield the verdict for each value, and last what changes from the first to the others."""
    axis = _differing(answers)
    for advice in answers:
        yield f"{AXIS_WORDS[axis]} {advice.asked[axis]:,}: {verdict(advice)}. {headline(advice)}"
        yield from decisive(advice)
    first, *others = answers
    for advice in others:
        changes = "; ".join(_changes(first, advice))
        yield f"From {first.asked[axis]:,} to {advice.asked[axis]:,} cycles: {changes}"


def _changes(one: Advice, other: Advice) -> Iterator[str]:
    """Yield what differs between two answers: the cheapest lock, its ties, costs by more than a
    tie."""
    before, after = one.win, other.win
    if before.lock == after.lock:
        yield f"{after.lock.words()} stays the cheapest"
    else:
        tie = ", with which it ties" * (before.lock in after.tied)
        yield f"{after.lock.words()} is the cheapest in place of {before.lock.words()}{tie}"
    for label in sorted({*before.tied, *after.tied} - {before.lock, after.lock}):
        if (label in before.tied) != (label in after.tied):
            ties = "ties" if label in after.tied else "no longer ties"
            yield f"{label.words()} {ties} with the cheapest"
    for label in (lock.label for lock in one.locks):
        was, now = one.beside_work(label), other.beside_work(label)
        if not Lead(min(was, now), max(was, now), one.tie).is_tie:
            yield f"{label.words()} {was:.1f} to {now:.1f}"


def _table(answers: Sequence[Advice]) -> Table:
    """Return the costs of the locks, a column for each value, and below them from which value of
    each input on another lock is as cheap, where that differs."""
    axis = _differing(answers)
    shown = Table("cycles a pair", box=None)
    for advice in answers:
        shown.add_column(f"{AXIS_WORDS[axis]} {advice.asked[axis]:,}", justify="right")
    for lock in answers[0].locks:
        shown.add_row(lock.label.words(), *(_cost(advice, lock.label) for advice in answers))
    for place, along in enumerate(answers[0].axes):
        for upwards in (False, True):
            ends = [change_in_words(advice.axes[place], upwards) for advice in answers]
            if len(set(ends)) > 1:
                way = "upwards" if upwards else "downwards"
                shown.add_row(f"{USE_AXES.get(along.axis, along.axis)}, {way}", *ends)
    return shown


def _cost(advice: Advice, label: LockLabel) -> str:
    words = f"{advice.beside_work(label):.1f}"
    if label == advice.win.lock:
        return f"{words} cheapest"
    return f"{words} tie" if label in advice.win.tied else words
