"""Crossings in rows and words: where locks change places, within which values that is known, and
which is the cheapest along the axis."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from results.store.records import CrossoverRecord
from sweeps.model.cell import digest
from sweeps.study.lines import FIRST_SEED
from sweeps.study.untold import Untold, interval, rounding, untold_of

_SHOWN = ("machine", "isa", "flavour", "workload", "axis")


def _written(row: Mapping[str, Any]) -> Callable[[float], str]:
    known = Untold(row["known_low"], row["known_high"]) if row["within"] else None
    return rounding(row["value"], known)


def _value(row: Mapping[str, Any]) -> str:
    return "" if row["value"] is None else _written(row)(row["value"])


def _seeds(row: Mapping[str, Any]) -> str:
    """Return the least and the greatest value of several seeds, as far as their digits are known,
    and how many they are."""
    count = str(row["seeds"])
    if row["value"] is None or row["seeds"] == 1:
        return count
    return f"{count}: {_written(row)(row['least'])} to {_written(row)(row['greatest'])}"


ENGINE = (
    "engine: within these values the engine cannot tell the two locks apart "
    "(`./lockcross validate --errors`); empty where nothing like them was compared"
)
TABLE: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    **{name: f"{{{name}}}" for name in (*_SHOWN, "cheaper")},
    "value": _value,
    "engine": "{within}",
    "seeds": _seeds,
    "unit": "{unit}",
    "setting": "{setting}",
    "series": "{series}",
}


def row_of(series: str, crossover: CrossoverRecord) -> dict[str, Any]:
    """Return a crossing, or that there is none."""
    values = [seed.value for seed in crossover.seeds if seed.value is not None]
    other = crossover.lock_b if crossover.below == crossover.lock_a else crossover.lock_a
    cheaper = {
        "crosses": f"{crossover.below} below, {other} above",
        "tie": "the same everywhere",
    }.get(
        crossover.verdict, f"{crossover.below} everywhere from {crossover.low} to {crossover.high}"
    )
    value, known = crossover.value, known_at(crossover)
    ends = (crossover.low, crossover.high)
    within = interval(known, ends, rounding(value, known)) if known and value is not None else ""
    return {
        **{name: getattr(crossover, name) for name in _SHOWN},
        "cheaper": cheaper,
        "value": value,
        "within": within,
        "known_low": known and known.low,
        "known_high": known and known.high,
        "bracket_low": crossover.bracket_low,
        "bracket_high": crossover.bracket_high,
        "least": min(values, default=None),
        "greatest": max(values, default=None),
        "seeds": len(crossover.seeds),
        "unit": crossover.unit,
        "setting": ", ".join(f"{key}={value}" for key, value in crossover.setting.items()),
        "series": series,
    }


def known_at(crossover: CrossoverRecord) -> Untold | None:
    """Return within which values a crossing lies, by the engine's error."""
    runs = [(one.lock, one.x, one.cost) for one in crossover.runs if one.seed == FIRST_SEED]
    return untold_of(runs, crossover, crossover.engine, crossover.workload)


def cheapest_along(crossovers: Sequence[CrossoverRecord]) -> list[tuple[str, float, float]]:
    """Return which lock is the cheapest from which value of the axis to which, by the crossings of
    each two of them in one setting."""
    low, high = crossovers[0].low, crossovers[0].high
    values = sorted({low, high, *(one.value for one in crossovers if one.value is not None)})
    along: list[tuple[str, float, float]] = []
    for begin, end in itertools.pairwise(values):
        wins = Counter(_cheaper(crossovers, (begin + end) / 2))
        best = max(wins, key=lambda lock: (wins[lock], lock))
        begins = along.pop()[1] if along and along[-1][0] == best else begin
        along.append((best, begins, end))
    return along


def _cheaper(crossovers: Sequence[CrossoverRecord], x: float) -> Iterator[str]:
    """Yield the cheaper of each two locks at a value."""
    by_pair: dict[tuple[str, str], list[CrossoverRecord]] = {}
    for one in crossovers:
        by_pair.setdefault((one.lock_a, one.lock_b), []).append(one)
    for pair, found in by_pair.items():
        found.sort(key=lambda one: one.value or 0)
        beyond = next((one for one in found if one.value is None or one.value > x), None)
        if beyond is not None:
            yield beyond.below
        else:
            yield pair[pair[0] == found[-1].below]


def cheapest_words(crossovers: Sequence[CrossoverRecord], locks: int) -> list[str]:
    """Return in a line for each setting which of more than two locks is the cheapest along the
    axis."""
    if locks == 2:
        return []
    settings: dict[str, list[CrossoverRecord]] = {}
    for one in crossovers:
        place = (one.machine, one.isa, one.flavour, one.workload, one.setting)
        settings.setdefault(digest(place), []).append(one)
    lines = []
    for found in settings.values():
        parts = (
            f"{lock or 'all the same'} {float(f'{low:.3g}'):,g} to {float(f'{high:.3g}'):,g}"
            for lock, low, high in cheapest_along(found)
        )
        of = found[0]
        where = f" ({of.machine}, {of.flavour}: {dict(of.setting)})" * (len(settings) > 1)
        lines.append(f"Cheapest along {of.axis}{where}: {'; '.join(parts)}")
    return lines
