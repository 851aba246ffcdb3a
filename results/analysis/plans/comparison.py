"""Costs of a plan's runs along an axis or a key, side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from results.analysis.plans.sweep import Band, PlanRun, Value, order
from results.errors import LockcrossError
from results.model.cell import LATENCIES, option, values

LOCK = "lock"  # stands for the whole lock label, variant and fence kind included
_OF_LABEL = ("variant", "fence")


@dataclass(frozen=True)
class Panel:
    """One setting of all that is neither compared, nor the axis, nor a seed: what it differs in
    from the other panels, and a curve for each of what is compared: its cost by value of the
    axis."""

    place: dict[str, Value]
    curves: dict[Value, dict[Value, Band]]

    @property
    def title(self) -> str:
        """What it differs in, in words."""
        return ", ".join(f"{name}={value}" for name, value in self.place.items())

    @property
    def points(self) -> list[Value]:
        """Every value of the axis that a curve has."""
        return sorted({x for curve in self.curves.values() for x in curve}, key=order)


@dataclass(frozen=True)
class Comparison:
    """Costs by `by` along `along`, a panel for each setting of the rest. `same`: what is the same
    in all of them."""

    by: str
    along: str
    same: dict[str, Value]
    panels: list[Panel]


def axis_name(words: str) -> str:
    """The name of an axis or key that is given as in plans (`cas`) or as its option is called
    (`cas_latency`, `cas-latency`)."""
    name = words.removeprefix("--").replace("-", "_")
    for axis in LATENCIES:
        if name == option(axis).removeprefix("--").replace("-", "_"):
            return axis
    return name


def compare(
    runs: Iterable[PlanRun], by: str, along: str, only: Mapping[str, str] | None = None
) -> Comparison:
    """Compares the costs of runs; `only` has names and the values that runs must have. Raises
    LockcrossError for names that do not differ or are unknown."""
    by, along = axis_name(by), axis_name(along)
    only = {axis_name(name): value for name, value in (only or {}).items()}
    found = [
        (_places(run), run.cost) for run in runs if run.status == "ok" and run.cost is not None
    ]
    if not found:
        raise LockcrossError("none of the plan's runs has a cost per acquire-release pair")
    known = list(dict.fromkeys(name for place, _ in found for name in place))
    for what, name in (("--by", by), ("--along", along), *(("--only", name) for name in only)):
        if name not in known:
            raise LockcrossError(f"{what}: {name!r} is unknown; known are {', '.join(known)}")
    found = [
        (place, cost)
        for place, cost in found
        if all(_word(place.get(name)) == value for name, value in only.items())
    ]
    if not found:
        raise LockcrossError("--only: no run has these values")
    names = _differing([place for place, _ in found], known)
    if by == along or (along not in names and along != LOCK):
        rest = ", ".join(name for name in names if name != by) or "nothing"
        raise LockcrossError(f"--along: {along} is the same in all runs; {rest} differ")
    held = [name for name in names if name not in (by, along, "seed")]
    first = found[0][0]
    same = {name: first.get(name) for name in known if name not in names and name != by}
    return Comparison(by, along, _set(same), _panels(found, by, along, held))


def varied(runs: Iterable[PlanRun]) -> tuple[list[str], list[str]]:
    """What differs among runs with a cost, but for lock and seed: axes and keys of numbers, and
    those of texts. Raises LockcrossError where no run has a cost."""
    found = [_places(run) for run in runs if run.status == "ok" and run.cost is not None]
    if not found:
        raise LockcrossError("none of the plan's runs has a cost per acquire-release pair")
    names = _differing(found, dict.fromkeys(name for place in found for name in place))
    names = [name for name in names if name not in (LOCK, "seed")]
    texts = [name for name in names if any(isinstance(place.get(name), str) for place in found)]
    return [name for name in names if name not in texts], texts


def _places(run: PlanRun) -> dict[str, Value]:
    """Every value of a run, with the whole label as its lock."""
    every = values(run.cell)
    return {name: one for name, one in every.items() if name not in _OF_LABEL} | {
        LOCK: run.cell.label
    }


def _word(value: Value) -> str:
    return "" if value is None else str(value)


def _set(place: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in place.items() if value not in (None, "")}


def _differing(places: Sequence[Mapping[str, Value]], known: Iterable[str]) -> list[str]:
    return [name for name in known if len({place.get(name) for place in places}) > 1]


def _panels(
    found: Iterable[tuple[dict[str, Value], float]], by: str, along: str, held: Sequence[str]
) -> list[Panel]:
    costs: dict[tuple[Value, ...], dict[Value, dict[Value, list[float]]]] = {}
    for place, cost in found:
        panel = costs.setdefault(tuple(place.get(name) for name in held), {})
        panel.setdefault(place.get(by), {}).setdefault(place.get(along), []).append(cost)
    return [
        Panel(
            dict(zip(held, place, strict=True)),
            {
                one: {x: Band.of(some) for x, some in sorted(curve.items(), key=_first)}
                for one, curve in sorted(panel.items(), key=_first)
            },
        )
        for place, panel in sorted(costs.items(), key=lambda pair: [order(x) for x in pair[0]])
    ]


def _first(pair: tuple[Value, object]) -> tuple[int, int, str]:
    return order(pair[0])
