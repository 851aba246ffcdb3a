"""The region of interest: who says when it begins and ends, and what the clock showed then."""

import m5
from _m5.stats import ScalarInfo
from m5.objects import PcCountTracker, PcCountTrackerManager
from m5.params import PcCountPair

from lockcross_gem5.exits import WATCHED, announced, classify

SYMBOLS = {"begin": "runtime_region_begin", "phase": "runtime_phase", "end": "runtime_region_end"}


class Watch:
    """Watches for the addresses of the runtime's region functions, a tracker a core, so that the
    program needs no instruction of its own for it. `addresses`: begin, phase, end."""

    def __init__(self, system, addresses, phases):
        self._addresses = addresses
        self._seen = []
        targets = [PcCountPair(addresses["begin"], 1), PcCountPair(addresses["end"], 1)]
        if phases:
            targets += [PcCountPair(addresses["phase"], n + 1) for n in range(phases)]
        else:  # a manager knows the addresses of its targets only
            self._addresses = {k: v for k, v in addresses.items() if k != "phase"}
        for cpu in system.cpu:
            cpu.region = PcCountTrackerManager(targets=targets)
            cpu.region_tracker = PcCountTracker(targets=targets, core=cpu, ptmanager=cpu.region)
            self._seen.append({})

    def events(self, system):
        """What has been reached since the last call: (kind, core, phase)."""
        found = []
        for core, cpu in enumerate(system.cpu):
            for kind, address in self._addresses.items():
                count = cpu.region.getPcCount(address)
                if count != self._seen[core].get(kind, 0):
                    self._seen[core][kind] = count
                    found.append((kind, core, count if kind == "phase" else 0))
        return found


def scalars(group, path):
    """Every scalar that is not zero below a group of statistics: name -> value and unit."""
    found = {}
    for statistic in group.getStats():
        statistic.prepare()
        if isinstance(statistic, ScalarInfo) and statistic.value:
            name = f"{path}.{statistic.name}"
            found[name] = {"value": statistic.value, "unit": statistic.unit}
    for name, inner in group.getStatGroups().items():
        found.update(scalars(inner, f"{path}.{name}"))
    return found


def simulate(root, watch, limit):
    """Runs to the end, or for `limit` ticks: a livelock must not run for ever.

    Returns the events (kind, core, phase, tick), the region's statistics, and how the simulation
    ended: cause, code, class.
    """
    events, statistics = [], {}
    cores = len(root.system.cpu)
    while True:
        end = m5.simulate(limit - m5.curTick())
        cause, code = end.getCause(), end.getCode()
        if watch is not None and cause == WATCHED:
            found = watch.events(root.system)
        elif (one := announced(cause, code)) is not None:
            found = [one]
        else:
            break
        if found and not events:
            m5.stats.reset()
        events += [(*event, m5.curTick()) for event in found]
        if sum(event[0] == "end" for event in events) == cores and not statistics:
            m5.stats.prepare()
            statistics = scalars(root.system, "system")
    return events, statistics, {"cause": cause, "code": code, "class": classify(cause, code)}
