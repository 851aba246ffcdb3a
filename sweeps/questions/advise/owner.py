"""The cost of a cancellation: a machine's charges for stopping an owner, by the state that owners
are in when another thread comes."""

from collections.abc import Mapping
from dataclasses import dataclass

from results.errors import LockcrossError, check_known
from sweeps.model.machine import STOPS, Figure, Machine

STATES = tuple(name.removeprefix("stop_") for name in STOPS)
UNTOLD = "untold"  # what a log does not tell: an owner that runs, or is blocked out of its sight
_RUNNING, _BLOCKED = STATES[:2]
_WHOLE = 0.005  # by which shares may miss 1
# Of an assumed cost: nothing to ten times, as measured costs of one state lie apart, on two CPUs
# and on sixteen.
_APART = 10


@dataclass(frozen=True)
class Cancellation:
    """Cycles that stopping an owner takes its requester: the mean over its states, and the
    interval that is left open."""

    cycles: int
    low: int
    high: int
    figures: tuple[Figure, ...]  # that it is made of
    words: str  # which state they are of, with the source


def states_of(text: str) -> dict[str, float]:
    """Return the share of each state as an option says them: `ended`, or
    `running=0.2,blocked=0.8`. Raises LockcrossError."""
    parts = [part.partition("=") for part in text.split(",")]
    check_known("--owner:", [name for name, _, _ in parts], STATES)
    try:
        shares = {name: float(share) if equals else 1.0 for name, equals, share in parts}
    except ValueError:
        shares = {}
    if min(shares.values(), default=-1) < 0 or abs(sum(shares.values()) - 1) > _WHOLE:
        raise LockcrossError(
            f"--owner {text}: give one state, or shares that make 1: running=0.2,blocked=0.8"
        )
    return shares


def cancellation(machine: Machine, shares: Mapping[str, float]) -> Cancellation:
    """Return the cost of a cancellation on a machine where so many owners are in each state. Where
    nothing is said, an owner runs, and may be in any state."""
    figures = {state: machine.charges.figure(f"stop_{state}") for state in STATES}
    ends = {state: _interval(figure) for state, figure in figures.items()}
    if not shares:
        low, high = min(end[0] for end in ends.values()), max(end[1] for end in ends.values())
        figure = figures[_RUNNING]
        words = f"owners may be in any state; running: {_source(figure)}"
        return Cancellation(figure.number, low, high, (figure,), words)
    untold = shares.get(UNTOLD, 0.0)
    known = {state: shares.get(state, 0.0) for state in STATES}
    known[_RUNNING] += untold
    either = (ends[_RUNNING], ends[_BLOCKED])
    # Of what is untold the whole interval from an owner that is blocked to one that runs.
    less = untold * (min(end[0] for end in either) - ends[_RUNNING][0])
    more = untold * (max(end[1] for end in either) - ends[_RUNNING][1])
    used = {state: share for state, share in known.items() if share}
    return Cancellation(
        round(sum(share * figures[state].number for state, share in used.items())),
        round(less + sum(share * ends[state][0] for state, share in used.items())),
        round(more + sum(share * ends[state][1] for state, share in used.items())),
        tuple(figures[state] for state in used),
        "; ".join(
            f"{100 * share:.3g} % {state}{_maybe(state, untold)}: {_source(figures[state])}"
            for state, share in used.items()
        ),
    )


def _maybe(state: str, untold: float) -> str:
    return f" ({100 * untold:.3g} % of them or blocked)" if state == _RUNNING and untold else ""


def _interval(figure: Figure) -> tuple[int, int]:
    """Return the interval that the machine leaves open for a cost; a plausible one for an
    assumption without an interval."""
    low, high = figure.interval
    if figure.assumption is not None and low == high:
        return 0, _APART * high
    return low, high


def _source(figure: Figure) -> str:
    return figure.source or figure.why or ""
