"""An answer of `advise` in words and tables, for a terminal."""

from collections.abc import Sequence

from rich.table import Table

from results.text.terminal import console
from sweeps.questions.advise.answer import (
    ASKED,
    ASSUMED,
    MEASURED,
    USE_AXES,
    Advice,
    AxisAnswer,
    Change,
    Contended,
    Flip,
    Input,
    LockCost,
    why,
)

_MEASURED = ("cas", "fence_latency")  # axes whose values are not those that are set
_FEW = 10  # pairs of which no share is taken
_SMALL = 0.05  # cycles a pair that are not worth a word


def print_overview(answers: Sequence[Advice]) -> None:
    """Several machines, a line each."""
    table = Table("machine", "cheapest", box=None)
    for name in ("cycles a pair", "lead"):
        table.add_column(name, justify="right")
    table.add_column("over")
    table.add_column("depends on")
    for one in answers:
        win = one.win
        tied = "".join(f" = {lock.words()}" for lock in win.tied)
        decides = dict.fromkeys(name_of(flip.given.name) for flip in one.flips)
        table.add_row(
            str(one.setting["machine"]), win.lock.words() + tied,
            f"{one.beside_work(win.lock):.1f}",
            f"{100 * win.lead:.1f} %", win.runner_up.words(), ", ".join(decides) or "-",
        )  # fmt: skip
    console(fold=False).print(table, end="\n\n")


def print_advice(advice: Advice) -> None:
    """The verdict with its doubt, the locks in order, why, what would change it, what it rests
    on."""
    out = console(fold=False)
    out.print(headline(advice))
    for line in remarks(advice):
        out.print(line)
    out.print(setting(advice), end="\n\n")
    out.print(_locks(advice))
    if _works(advice):
        out.print("Causes count the program's own work, too: the core does both at once.")
    out.print("\n" + reason(advice), end="\n\n")
    out.print("How far one parameter would have to move for another lock to be as cheap:")
    out.print(_changes(advice))
    out.print("\nWhat this rests on:")
    out.print(_inputs(advice.inputs), end="\n\n")


def headline(advice: Advice) -> str:
    """The answer in one sentence."""
    win, cost = advice.win, advice.beside_work(advice.win.lock)
    words = f"{cost:.1f} cycles a pair"
    if works := _works(advice):
        words += f" beside the {advice.work:.1f} of the program itself"
    if advice.error is not None:
        low, high = (end * win.cost - advice.work for end in (advice.error.low, advice.error.high))
        words += f" ({max(low, 0):.0f} to {high:.0f})"
    depends = "It depends (see below). As things stand, " if advice.flips else ""
    without = ""
    if advice.contended is not None:
        without = f" without the {100 * advice.contended.share:.3g} % that find the lock held"
    named = f"{depends}{win.lock.words()} is the cheapest{without}"
    if win.tied:
        tied = ", ".join(lock.words() for lock in win.tied)
        return f"{named}, {words}, in a tie with {tied}: {_threshold(advice.tie)}"
    whole = " of all of it" * works
    return f"{named}: {words}, {100 * win.lead:.1f} %{whole} less than {win.runner_up.words()}"


def _works(advice: Advice) -> bool:
    """Whether the program does anything in or between its sections."""
    return bool(advice.setting["critical"] or advice.setting["think"])


def _threshold(tie: float) -> str:
    if tie >= 1:
        return "no lead was large enough to be in the right order nine times of ten"
    return f"leads below {100 * tie:.3g} % are within the error"


def remarks(advice: Advice) -> list[str]:
    """What must be known beside the answer: what it depends on, how sure it is, what its lock
    cannot do and the best without it."""
    names = dict.fromkeys(flip.given.name for flip in advice.flips)
    found = [decides([one for one in advice.flips if one.given.name == name]) for name in names]
    assumed = [one.name for one in advice.inputs if one.kind == ASSUMED]
    if others := [name for name in assumed if name not in names]:
        found.append(
            f"Assumed and not decisive, as far as their ranges are known: {len(others)} inputs "
            "(see the end)."
        )
    found.append(_sure(advice))
    found += _native(advice)
    if advice.contended is not None:
        found.append(_under_contention(advice.contended))
    other = advice.without_limits
    if (limit := advice.limits.get(advice.win.lock)) is not None:
        found.append(f"Mind: {advice.win.lock.words()}: {limit}")
        if other is not None:
            tied = "".join(f", in a tie with {lock.words()}" for lock in other.tied)
            found[-1] += (
                f". Without it: {other.lock.words()}, {advice.beside_work(other.lock):.1f} "
                f"cycles a pair{tied} "
                f"(lead {100 * other.lead:.1f} %)"
            )
    return [*found, *advice.notes]


def _sure(advice: Advice) -> str:
    """How sure the order of the first two is."""
    error = advice.error
    if error is None:
        return "How sure: nothing like this was compared with silicon or another simulator"
    alike = error.alike(advice.win.lead)
    words = f"How sure: {error.words}: median error {100 * error.median:.0f} %; "
    if alike.pairs >= _FEW:
        words += f"of {alike.pairs} pairs of locks with a lead like this, {alike.right} were in "
        words += "the right order"
    else:
        words += "too few pairs of locks had a lead like this"
    if _works(advice):
        words += "; none had work around the lock"
    if advice.setting["described"] == MEASURED:
        return words
    return f"{words}. {advice.setting['machine']} itself was compared with no silicon"


def _native(advice: Advice) -> list[str]:
    """What the host says, if it was asked."""
    costs = {one.label: one.native for one in advice.locks if one.native is not None}
    if not costs:
        return []
    best = min(costs, key=lambda label: (costs[label], label))
    same = best == advice.win.lock or best in advice.win.tied
    also = "too" if same else "which is another"
    return [f"On this host {best.words()} is the cheapest, {also}: {costs[best]:.1f} cycles a pair"]


def _under_contention(found: Contended) -> str:
    costs = ", ".join(
        f"{label.words()} {cost:,.0f}"
        for label, cost in sorted(found.costs.items(), key=lambda pair: pair[1])
    )
    return (
        f"Left out of all this: the {100 * found.share:.3g} % of acquisitions that find the lock "
        f"held. Where all threads want one object, {found.best.words()} is the cheapest (cycles a "
        f"pair, with work and waiting: {costs}); how many wait there differs from lock to lock"
    )


def decides(flips: Sequence[Flip]) -> str:
    """An assumption that decides, in a sentence; its flips, downwards and upwards."""
    axis, given = flips[0].axis, flips[0].given
    assert given.low is not None and given.high is not None  # else it decides nothing
    # No further than what was searched: a shared object lives long enough to be shared.
    low = value_words(axis, max(given.low, axis.low))
    high = value_words(axis, min(given.high, axis.high))
    changes = ", ".join(
        f"{flip.change.lock.words()} is as cheap "
        + ("from {} on" if flip.upwards else "up to {}").format(
            value_words(axis, flip.change.value)
        )
        for flip in flips
    )
    return (
        f"  {name_of(given.name)}: {value_words(axis, axis.now)} is assumed, {low} to {high} is "
        f"plausible; {changes}"
    )


def _from_or_to(upwards: bool) -> str:
    return "from" if upwards else "up to"


def name_of(axis: str) -> str:
    """An input or an axis in words."""
    return USE_AXES.get(axis, axis.replace("_", " "))


def setting(advice: Advice) -> str:
    """The processor, and what the answer is made of."""
    of = advice.setting
    parts = ", ".join(f"{100 * one.share:.4g} % {one.words}" for one in advice.parts)
    work = (
        f"; what a pair takes without a lock, {advice.work:.1f} cycles beside those of the "
        "simplest loop, is taken off"
    )
    return (
        f"{of['machine']}, {of['isa']} ({of['flavour']}), {of['threads']} threads: a CAS measures "
        f"{of['cas_measured']:.1f} cycles, a full fence {of['fence_measured']:.1f}. Acquisitions: "
        f"{parts}" + work * _works(advice)
    )


def _locks(advice: Advice) -> Table:
    best = advice.locks[0]
    causes = [cause for cause in best.causes if any(one.causes[cause] for one in advice.locks)]
    native = any(one.native is not None for one in advice.locks)
    table = Table("lock", box=None)
    for name in ("cycles a pair", "over the best", *["on this host"] * native, "seeds", *causes):
        table.add_column(name, justify="right")
    tied = advice.win.tied
    for one in advice.locks:
        more = "" if one is best else f"+{100 * (one.cost / best.cost - 1):.1f} %"
        here = ["-" if one.native is None else f"{one.native:.1f}"] * native
        table.add_row(
            one.label.words(), f"{one.cost:.1f}", more + " tie" * (one.label in tied), *here,
            str(one.seeds), *(f"{one.causes[cause]:.1f}" for cause in causes),
        )  # fmt: skip
    return table


def reason(advice: Advice) -> str:
    """Why the best is ahead of the next, by cause."""
    best, other = advice.locks[:2]
    differences = [pair for pair in why(best, other) if abs(pair[1]) >= _SMALL]
    dearer = ", ".join(f"{value:.1f} by {cause}" for cause, value in differences if value > 0)
    cheaper = ", ".join(f"{-value:.1f} by {cause}" for cause, value in differences if value < 0)
    words = f"Why: {other.label.words()} loses {dearer or 'nothing'}"
    return words + (f", and saves {cheaper}" if cheaper else "") + _noise(best)


def _noise(best: LockCost) -> str:
    return f" (cycles a pair, seed 1 of {best.seeds})" if best.seeds > 1 else " (cycles a pair)"


def _changes(advice: Advice) -> Table:
    table = Table("parameter", "now", "downwards", "upwards", box=None)
    for axis in advice.axes:
        table.add_row(
            "measured " * (axis.axis in _MEASURED) + name_of(axis.axis),
            value_words(axis, axis.now),
            _change(axis, axis.below, axis.low, "down"), _change(axis, axis.above, axis.high, "up"),
        )  # fmt: skip
    return table


def _change(axis: AxisAnswer, change: Change | None, end: float, word: str) -> str:
    if change is not None:
        towards = "from" if word == "up" else "to"
        return f"{change.lock.words()} {towards} {value_words(axis, change.value)}"
    return "-" if end == axis.now else f"none {word} to {value_words(axis, end)}"


def _inputs(inputs: Sequence[Input]) -> Table:
    """Those that were given last, without a source."""
    table = Table("input", "value", "known", "source", box=None)
    for one in sorted(inputs, key=lambda one: one.kind == ASKED):
        table.add_row(name_of(one.name), one.value, one.kind, one.source)
    return table


def value_words(axis: AxisAnswer, value: float) -> str:
    """A value of an axis with its unit."""
    if axis.unit == "share":
        return f"{100 * value:.4g} %"
    if axis.unit == "cycles":
        return f"{value:,.0f} cycles" if value >= 1000 else f"{value:.1f} cycles"
    return f"{value:.4g}" if value % 1 and value < 1000 else f"{value:,.0f}"
