"""Metrics computed from an engine's counts, for the workloads that are made for this."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from results.model.cell import Cell
from sweeps.engines.base import PhaseCounts, RunOutcome
from sweeps.engines.guest import BadRunError, Metrics

PATHS = ("acquire", "nested_acquire", "nested_release", "release")
_OBJECTS = ("own", "foreign")
_PHASES = len(PATHS) + 1  # of an object: nothing, then its paths


def with_derived(cell: Cell, outcome: RunOutcome) -> RunOutcome:
    """An outcome with the metrics that its workload adds; failed where they contradict each
    other."""
    derive = _DERIVED.get(cell.workload)
    if outcome.cause or derive is None:
        return outcome
    try:
        return replace(outcome, metrics=outcome.metrics | derive(outcome.phases, cell.threads))
    except BadRunError as bad:
        return RunOutcome(str(bad))


def path_metrics(phases: Sequence[PhaseCounts], threads: int) -> Metrics:
    """`path_<object>_<path>_<count>`, and `path_<object>_<path>_fences_<kind>` for kinds that
    occur: what each uncontended path through a lock consists of (workload footprint).

    Raises BadRunError when a path is not the same each time.
    """
    totals = [mark.counts for mark in sorted(phases, key=lambda mark: mark.phase)]
    turn = threads * _PHASES + 1  # the last phase of a turn has the end of its loop too
    if not totals or len(totals) % turn or any(one.keys() != totals[0].keys() for one in totals):
        raise BadRunError(f"engine output: {len(totals)} phases, not a multiple of {turn}")
    steps = [{name: now[name] - before[name] for name in now} for before, now in pairwise(totals)]
    found: Metrics = {}
    for first in range(0, len(totals), turn):
        base = steps[first]
        for place, (item, path) in enumerate(
            (item, path) for item in _OBJECTS[:threads] for path in ("", *PATHS)
        ):
            counts = steps[first + place]
            for name in counts if path else ():
                key, value = f"path_{item}_{path}_{name}", counts[name] - base[name]
                if found.setdefault(key, (value, _unit(name)))[0] != value:
                    raise BadRunError(f"{key}: {found[key][0]:g} the first time, then {value}")
    return {key: value for key, value in found.items() if "_fences_" not in key or value[0]}


def _unit(name: str) -> str:
    return "instructions" if name == "instructions" else "count"


_DERIVED: dict[str, Callable[[Sequence[PhaseCounts], int], Metrics]] = {"footprint": path_metrics}
