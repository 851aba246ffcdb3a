"""An answer of `advise` in words and tables, for a terminal."""

from rich.table import Table

from results.analysis.advice import Advice, AxisAnswer, Change, LockCost, why
from results.analysis.summary import AXES
from results.report.terminal import console

_PPM = 10_000  # parts per million of a percent
_MEASURED = ("cas", "fence_latency")  # axes whose values are not those that are set
_SMALL = 0.05  # cycles a pair that are not worth a word


def print_advice(advice: Advice) -> None:
    """The locks in order, why, what would change the answer, what was assumed."""
    out = console(fold=False)
    out.print(headline(advice))
    for line in remarks(advice):
        out.print(line)
    out.print(_setting(advice), end="\n\n")
    out.print(_locks(advice))
    out.print("\n" + reason(advice), end="\n\n")
    out.print("How far one parameter would have to move for another lock to be the cheapest:")
    out.print(_changes(advice))
    out.print("\nAssumed:")
    for name, value in advice.assumed.items():
        out.print(f"  {name}: {value}")


def remarks(advice: Advice) -> list[str]:
    """What must be known beside the answer: what its lock cannot do, and the best without it."""
    found = list(advice.notes)
    other = advice.without_limits
    if (limit := advice.limits.get(advice.win.lock.lock)) is not None:
        found.insert(0, f"Mind: {advice.win.lock.words()}: {limit}")
        if other is not None:
            tied = "".join(f", in a tie with {lock.words()}" for lock in other.tied)
            found[0] += (
                f". Without it: {other.lock.words()}, {other.cost:.1f} cycles a pair{tied} "
                f"(lead {100 * other.lead:.1f} %)"
            )
    return found


def headline(advice: Advice) -> str:
    """The answer in one sentence."""
    win = advice.win
    lead = f"{100 * win.lead:.1f} %"
    if win.tied:
        tied = ", ".join(lock.words() for lock in win.tied)
        return (
            f"{win.lock.words()} is the cheapest, {win.cost:.1f} cycles a pair, in a tie with "
            f"{tied}: leads below {100 * advice.tie:g} % ({advice.tie_why}) are within the error"
        )
    return (
        f"{win.lock.words()} is the cheapest: {win.cost:.1f} cycles a pair, {lead} less than "
        f"{win.runner_up.words()}"
    )


def _setting(advice: Advice) -> str:
    of = advice.setting
    return (
        f"{of['machine']}, {of['isa']} ({of['flavour']}): a CAS measures {of['cas_measured']:.1f} "
        f"cycles, a full fence {of['fence_measured']:.1f}, stopping a thread is set to "
        f"{of['cancel']:,}; owner's share {of['owner_share'] / _PPM:g} %, runs of "  # type: ignore[operator]
        f"{of['run_length']}, {of['threads']} threads"
    )


def _locks(advice: Advice) -> Table:
    best = advice.locks[0]
    causes = [cause for cause in best.causes if any(one.causes[cause] for one in advice.locks)]
    table = Table("lock", box=None)
    for name in ("cycles a pair", "over the best", "seeds", *causes):
        table.add_column(name, justify="right")
    tied = advice.win.tied
    for one in advice.locks:
        more = "" if one is best else f"+{100 * (one.cost / best.cost - 1):.1f} %"
        table.add_row(
            one.label.words(), f"{one.cost:.1f}", more + " tie" * (one.label in tied),
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
            "measured " * (axis.axis in _MEASURED) + AXES.get(axis.axis, axis.axis),
            value_words(axis, axis.now),
            _change(axis, axis.below, axis.low, "to"), _change(axis, axis.above, axis.high, "from"),
        )  # fmt: skip
    return table


def _change(axis: AxisAnswer, change: Change | None, end: float, word: str) -> str:
    if change is not None:
        return f"{change.lock.words()} {word} {value_words(axis, change.value)}"
    return "-" if end == axis.now else f"never as far as {value_words(axis, end)}"


def value_words(axis: AxisAnswer, value: float) -> str:
    """A value of an axis with its unit."""
    if axis.unit == "ppm":
        return f"{value / _PPM:g} %"
    if axis.unit == "cycles":
        return f"{value:,.0f} cycles" if value >= 1000 else f"{value:.1f} cycles"
    return f"{value:.4g}" if value % 1 else f"{value:,.0f}"
