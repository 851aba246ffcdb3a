"""How well a crossing is known: around it the engine cannot tell which of the two locks is the
cheaper one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import floor, log10

from results.store.records import FirstSeeds
from sweeps.model.cell import NO_LOCK, Cell
from sweeps.model.locks import LockLabel
from sweeps.model.workloads import WORKLOADS, with_defaults
from sweeps.study.leads import Rule

_DIGITS = 3  # of a value of which no error is known


@dataclass(frozen=True)
class Untold:
    """Where along an axis the lead of either lock is within the engine's error, around a crossing;
    None at an end: as far as was searched."""

    low: float | None
    high: float | None


def untold(
    a: Mapping[float, float], b: Mapping[float, float], value: float, least: float | None
) -> Untold | None:
    """Return where two locks cannot be told apart around the value at which they cost the same.
    `a`, `b`: costs by value of the axis; `least`: the least lead that is reliable; None: nothing is
    known of it."""
    if least is None:
        return None
    leads = [(x, abs(a[x] - b[x]) / max(a[x], b[x])) for x in sorted(a.keys() & b.keys())]

    def end(away: Iterable[tuple[float, float]]) -> float | None:
        before, lead_before = value, 0.0
        for x, lead in away:
            if lead >= least > lead_before:
                return before + (x - before) * (least - lead_before) / (lead - lead_before)
            before, lead_before = x, lead
        return None

    below = [(x, lead) for x, lead in reversed(leads) if x < value]
    return Untold(end(below), end((x, lead) for x, lead in leads if x > value))


def untold_of(
    runs: Iterable[tuple[str, float, float]], found: FirstSeeds, engine: str, workload: str
) -> Untold | None:
    """Return the same for a stored crossing, if it is one, by the runs of one seed: lock, value of
    the axis, cost."""
    if found.value is None or workload not in WORKLOADS:
        return None
    a, b = LockLabel(found.lock_a), LockLabel(found.lock_b)
    costs: dict[str, dict[float, float]] = {a: {}, b: {}}
    for lock, x, cost in runs:
        costs[lock][x] = cost
    setting = Cell(
        engine=engine,
        machine=found.machine,
        isa=found.isa,
        flavour=found.flavour,
        lock=NO_LOCK,
        workload=workload,
        parameters=with_defaults(workload, {}),
        threads=int(found.setting.get("threads", WORKLOADS[workload].min_threads)),
    )
    return untold(costs[a], costs[b], found.value, Rule.of(setting).reliable_from(a, b))


def rounding(
    value: float, known: Untold | None, shown: Callable[[float], float] = lambda x: x
) -> Callable[[float], str]:
    """Return the function that writes values of an axis with as many digits as are known at a
    crossing: two of the width within which it lies. `shown`: makes a value the one that is read."""
    at = abs(shown(value))
    ends = [abs(at - shown(x)) for x in (known.low, known.high) if x is not None] if known else []
    if width := sum(ends) * 2 / len(ends) if ends else 0.0:
        digits = 1 - floor(log10(width))
    else:
        digits = _DIGITS - 1 - floor(log10(at)) if at else 0
    digits = min(digits, 0 if at >= 1000 else 4)
    return lambda x: f"{round(shown(x), digits):,.{max(digits, 0)}f}"


def interval(known: Untold, ends: tuple[float, float], written: Callable[[float], str]) -> str:
    """Return in words within which values a crossing lies, of those from one end of the axis to the
    other."""
    if known.low is None and known.high is None:
        return "the two are not told apart"
    low = f"{written(ends[0])} or less" if known.low is None else written(known.low)
    high = f"{written(ends[1])} or more" if known.high is None else written(known.high)
    return f"{low} to {high}"
