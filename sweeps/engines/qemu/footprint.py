"""What workload footprint is made of: the counts of each way through a lock."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from sweeps.engines.guest import BadRunError, Metrics
from sweeps.engines.qemu.report import PhaseMark

WAYS = ("acquire", "nested_acquire", "nested_release", "release")
_OBJECTS = ("own", "foreign")
_PHASES = len(WAYS) + 1  # of an object: nothing, then its ways


def way_metrics(marks: Sequence[PhaseMark], threads: int) -> Metrics:
    """`way_<object>_<way>_<count>`, and `way_<object>_<way>_fences_<kind>` for kinds that occur.

    Raises BadRunError when a way is not the same each time.
    """
    totals = [_counts(mark) for mark in sorted(marks, key=lambda mark: mark.phase)]
    turn = threads * _PHASES + 1  # the last phase of a turn has the end of its loop too
    if not totals or len(totals) % turn or any(one.keys() != totals[0].keys() for one in totals):
        raise BadRunError(f"engine output: {len(totals)} phases, which are no turns of {turn} each")
    phases = [{name: now[name] - before[name] for name in now} for before, now in pairwise(totals)]
    found: Metrics = {}
    for first in range(0, len(totals), turn):
        base = phases[first]
        for place, (item, way) in enumerate(
            (item, way) for item in _OBJECTS[:threads] for way in ("", *WAYS)
        ):
            counts = phases[first + place]
            for name in counts if way else ():
                key, value = f"way_{item}_{way}_{name}", counts[name] - base[name]
                if found.setdefault(key, (value, _unit(name)))[0] != value:
                    raise BadRunError(f"{key}: {found[key][0]:g} the first time, then {value}")
    return {key: value for key, value in found.items() if "_fences_" not in key or value[0]}


def _counts(mark: PhaseMark) -> Mapping[str, int]:
    fences = {f"fences_{kind}": count for kind, count in mark.fences.items()}
    return {
        "instructions": mark.instructions, "loads": mark.loads, "stores": mark.stores,
        "cas_won": mark.cas.won, "cas_lost": mark.cas.lost, "rmw": mark.rmw, **fences,
    }  # fmt: skip


def _unit(name: str) -> str:
    return "instructions" if name == "instructions" else "count"
