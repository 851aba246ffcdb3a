"""Writes a measurement as a machine: sweeps/machines/<name>.toml, which every engine reads."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sweeps.engines.native import host
from sweeps.engines.native.measure import parts
from sweeps.engines.native.measure.programs import Finding
from sweeps.engines.native.measure.whole import CLOCK, Measurement
from sweeps.model.isa import ISAS, host_isa
from sweeps.model.machine import (
    ATOMICS,
    BEHAVIOURS,
    Behaviour,
    Charges,
    Core,
    Figure,
    Machine,
    Memory,
    OutOfOrder,
    load_machine,
)
from sweeps.support.toml import parse

_NEUTRAL = "generic"  # the machine whose figures stand in for what was not measured
_UNMEASURED = "not measured"
_BYTES = "bytes"
_WIDEST = 16  # of the core that engines read
# Cycles of a hand-over beside its access and the end of the loop, on the embedded engine: the store
# retires and drains.
_RETIRED = 3
_PASSES = 0.5  # what hides more than this share of its time passes
# Figures of the core and its window that are no host's: how the embedded engine is set up.
_CORE_SETTINGS = set(Core.model_fields) - {"width", "taken_branch", "predictor_entries"}
_SETTINGS = (
    "fetch_line", "front_end", "predictor_history", "retire_delay", "squash_width", "lat_issue",
    "alias_bytes", "unpredicted_stores", "lat_oldest",
)  # fmt: skip
Table = Mapping[str, Figure | Behaviour]


@dataclass(frozen=True)
class Origin:
    """Who measured when, for the sources."""

    name: str
    title: str
    when: datetime

    @property
    def command(self) -> str:
        """The command that measured it."""
        return f"./lockcross measure {self.name}"


class _Figures:
    """Makes figures of findings, with their sources."""

    def __init__(self, found: Measurement, origin: Origin) -> None:
        self._found, self._origin = found, origin
        self._neutral = load_machine(_NEUTRAL)
        self.finding = found.findings.get

    def value(self, name: str) -> float | None:
        """A finding's value."""
        finding = self.finding(name)
        return None if finding is None else finding.value

    def source(self, finding: Finding, how: str = "") -> str:
        """Where a figure is from: the command, the day, the processor, the spread, its meaning."""
        return (
            f"measured: {self._origin.command}, {self._origin.when:%Y-%m-%d}, "
            f"{self._found.processor}; spread {finding.spread:.3g}; {how or finding.meaning}"
        )

    def measured(self, key: str, name: str, less: float = 0, how: str = "") -> Figure:
        """The figure `key` from the finding `name`, less a part that engines add themselves."""
        finding = self.finding(name)
        if finding is None:
            return self.neutral(key, self._found.findings.left_out.get(name, _UNMEASURED))
        number = max(0, round(finding.value - less))
        return Figure(value=number, source=self.source(finding, how))

    def neutral(self, key: str, why: str = _UNMEASURED) -> Figure:
        """The neutral machine's figure, as an assumption."""
        figure = self._neutral.figures(host_isa()).get(key, self._neutral.clock_mhz)
        return Figure(assumption=figure.number, why=f"{why}; as machine {_NEUTRAL}")

    def same(self, key: str) -> Figure:
        """The neutral machine's figure with its own reason."""
        return self._neutral.figures(host_isa())[key]

    def table(
        self, names: Iterable[str], own: Mapping[str, Figure], same: Iterable[str] = ()
    ) -> dict[str, Figure]:
        """Figures of these names: one's own; of the settings `same` the neutral machine's with
        their reason; of what was not measured the neutral machine's as assumptions."""
        settings = {name: self.same(name) for name in same}
        return {name: own.get(name) or settings.get(name) or self.neutral(name) for name in names}

    def behaviour(self, name: str, share: str, behaviours: Sequence[str]) -> Behaviour:
        """The first of two behaviours if the finding `share` says that what follows waits, the
        second if it passes; the neutral machine's, as an assumption, where there is none."""
        if (finding := self.finding(share)) is not None:
            source = f"{share} {finding.value:.2f}; {self.source(finding)}"
            return Behaviour(value=behaviours[finding.value > _PASSES], source=source)
        neutral = BEHAVIOURS[name][self.same(name).number]
        return Behaviour(assumption=neutral, why=f"{_UNMEASURED}; as machine {_NEUTRAL}")

    def system(self, number: int, what: str) -> Figure:
        """What the system says of a cache."""
        source = f"{what}, by the system; {self._origin.command}, {self._origin.when:%Y-%m-%d}"
        return Figure(value=number, source=f"{source}, {self._found.processor}")

    def misprediction(self, mispredict: int) -> int:
        """What a misprediction costs on an engine: all from its execution to that of the right
        path."""
        return self.same("front_end").number + 1 + mispredict + 1


def document(found: Measurement, origin: Origin) -> str:
    """The machine file's text, which the model of machines accepts.

    Raises ValueError when it does not: then the figures contradict one another.
    """
    make = _Figures(found, origin)
    core = _core(make)
    tables: dict[str, Table] = {
        "core": core,
        "out_of_order": _out_of_order(make, core["width"].number),
        f"ordering.{host_isa()}": _ordering(make),
        "memory": _memory(make, found.caches, core["mispredict"].number),
        f"latency.{host_isa()}": _latency(make),
        "charges": _charges(make),
    }
    lines = [
        f"# Written by {origin.command}. Units: cycles, bytes, entries. Each figure has",
        "# its source, or is an assumption with its reason. An atomic's is the whole operation, as",
        "# often as one can follow another; a fence's what it adds to a loop of nothing else, less",
        "# what waits for it there. The core is taken to be out of order.",
        *(f"# {note}." for note in found.notes),
        f"name = {_toml(origin.name)}",
        f"title = {_toml(origin.title)}",
        f"isas = [{_toml(host_isa())}]",
        f"processor = {_toml(found.processor)}",
        f"measured_on = {origin.when:%Y-%m-%dT%H:%M:%SZ}",
        f"clock_mhz = {_inline(make.measured('clock_mhz', CLOCK))}",
    ]
    for table, figures in tables.items():
        lines += ["", f"[{table}]", *(f"{name} = {_inline(one)}" for name, one in figures.items())]
    lines += ["", "# What engines do not read yet.", "[measured]"]
    sizes = {
        f"l{cache.level}_size": Finding(
            cache.size, 0, f"level {cache.level} cache, {cache.ways} ways, by the system", _BYTES
        )
        for cache in found.caches
    }
    lines += [f"{name} = {_inline(one)}" for name, one in (found.findings.found | sizes).items()]
    left_out = sorted(found.findings.left_out.items())
    lines += ["", *(f"# {name} is left out: {why}" for name, why in left_out)]
    text = "\n".join(lines).rstrip() + "\n"
    parse(Machine, text)
    return text


def _inline(one: Figure | Behaviour | Finding) -> str:
    if isinstance(one, Finding):
        value = float(one.value if one.unit == _BYTES else f"{one.value:.5g}")
        known = {"value": value, "spread": float(f"{one.spread:.3g}")}
        shown = known | {"unit": one.unit, "meaning": one.meaning}
    else:
        shown = one.model_dump(exclude_none=True)
    return f"{{ {', '.join(f'{name} = {_toml(value)}' for name, value in shown.items())} }}"


def _toml(value: str | float) -> str:
    """A basic string or a number: JSON's are TOML's."""
    return json.dumps(value, ensure_ascii=False)


def _core(make: _Figures) -> dict[str, Figure]:
    own = {
        "lat_alu": Figure(
            assumption=1,
            why="the unit of the measurement: a core cycle is what one of a chain of additions "
            "takes",
        ),
        "lat_mul": make.measured("lat_mul", "mul"),
        "lat_div": make.measured("lat_div", "div"),
        # From the branch's execution to the fetch of the right path.
        "mispredict": make.measured(
            "mispredict",
            "mispredict",
            make.misprediction(0),
            f"the {make.value('mispredict') or 0:.3g} cycles of measured.mispredict are front_end "
            "+ 1 + mispredict + lat_alu",
        ),
    }
    if (width := make.value("width")) is not None:
        less = width - min(_WIDEST, max(1, width))  # so that the core can have it
        own["width"] = make.measured("width", "width", less)
    return make.table(Core.model_fields, own, _CORE_SETTINGS)


def _out_of_order(make: _Figures, width: int) -> dict[str, Figure]:
    nearest = make.measured("lat_l1", "load_l1").number
    fails = (
        f"{make.value('store_forward_fails') or 0:.3g} in all (measured.store_forward_fails), less "
        f"retirement and drain (2 cycles, 1 of them hidden) and the {nearest} of the first level"
    )
    own = {
        "lat_forward": make.measured("lat_forward", "store_forward"),
        "lat_forward_part": make.measured("lat_forward_part", "store_forward_contained"),
        "forward_fail": make.measured("forward_fail", "store_forward_fails", nearest + 1, fails),
        "atomic_tail": make.measured("atomic_tail", "cas_before_load"),
    }
    if host_isa() == "x86_64":
        own["lat_pause"] = make.measured("lat_pause", "pause")
    for name in ("fetch_width", "retire_width"):
        if make.same(name).number < width:
            own[name] = Figure(assumption=width, why="not measured; no less than width")
    return make.table(OutOfOrder.model_fields, own, _SETTINGS)


def _ordering(make: _Figures) -> dict[str, Behaviour]:
    shares = {
        "atomic_loads": ("cas_hides_loads", ("wait", "pass")),
        "full_fence": ("fence_hides_adds", ("serializing", "barrier")),
    }
    return {name: make.behaviour(name, *shares.get(name, ("", ()))) for name in BEHAVIOURS}


def power_of_two_sets(cache: host.Cache) -> host.Cache:
    """The cache, or the largest below it whose sets are a power of two, as engines need them."""
    way = cache.ways * cache.line
    sets = max(1, cache.size // way)
    return host.Cache(cache.level, (1 << sets.bit_length() - 1) * way, cache.ways, cache.line)


def _memory(make: _Figures, caches: Sequence[host.Cache], mispredict: int) -> dict[str, Figure]:
    own: dict[str, Figure] = {"lat_l1": make.measured("lat_l1", "load_l1")}
    nearest = make.value("load_l1") or own["lat_l1"].number
    for cache, prefix in zip(caches[:2], ("l1", "l2"), strict=False):
        if not cache.ways or not cache.line:  # some systems say 0 for what they do not know
            continue
        what, rounded = f"level {cache.level} cache", power_of_two_sets(cache)
        own[f"{prefix}_size"] = make.system(cache.size, what)
        own[f"{prefix}_ways"] = make.system(cache.ways, what)
        if rounded != cache:
            why = (
                f"{cache.size} bytes in {cache.ways} ways, by the system, rounded down: engines "
                "need a power of two of sets"
            )
            own[f"{prefix}_size"] = Figure(assumption=rounded.size, why=why)
    if caches and caches[0].line:
        own["line"] = make.system(caches[0].line, "line of the level 1 cache")
    levels = {"lat_memory": parts.MEMORY}
    if len(caches) > 1:
        levels["lat_l2"] = f"load_l{caches[1].level}"
    for key, level in levels.items():
        if finding := make.finding(level):
            added = f"less the {nearest:.3g} of the level 1 cache, which engines add"
            how = f"{finding.meaning}, {added}"
        own[key] = make.measured(key, level, nearest, how if finding else "")
    own |= _transfers(make, nearest, mispredict)
    warm = "not a property of the machine: figures on the host are taken after a warm-up, and so "
    own["warm"] = Figure(assumption=1, why=f"{warm}are these")
    return make.table(Memory.model_fields, own)


def _transfers(make: _Figures, nearest: float, mispredict: int) -> dict[str, Figure]:
    """So that workload transfer takes as long on an engine as it took here: there a hand-over is a
    load of the line (lat_l1 and lat_dirty), the end of a loop (a misprediction) and a store to a
    line that both have (lat_upgrade and lat_invalidate), which retires and drains."""
    after = max(0.0, make.value("upgrade_after_dirty") or 0.0)
    ends = make.misprediction(mispredict) + _RETIRED
    less = nearest + ends + after
    dirty = (
        f"a hand-over of workload transfer, less {nearest:.3g} (lat_l1), {ends} (a misprediction "
        f"and the store's end) and {after:.3g} (lat_upgrade), so that it takes as long on an "
        "engine; measured.load_dirty is a single load"
    )
    upgrade = (
        "an atomic add to a line that was just read from the CPU that wrote it, less one to an own "
        "line, as in a hand-over; measured.upgrade is that of a line which both only read"
    )
    why = "contained in lat_upgrade: a hand-over shows only the sum"
    invalidate = Figure(assumption=0, why=why)
    if make.finding(parts.TRANSFER) is None:
        invalidate = make.measured("lat_invalidate", parts.TRANSFER)
    return {
        "lat_dirty": make.measured("lat_dirty", parts.TRANSFER, less, dirty),
        "lat_upgrade": make.measured("lat_upgrade", "upgrade_after_dirty", 0, upgrade),
        "lat_invalidate": invalidate,
    }


def _latency(make: _Figures) -> dict[str, Figure]:
    """Of an atomic: what it holds up others for. In a dependent chain its result takes longer: by
    as much as a CAS there takes longer than one whose result nothing needs."""
    figures = {}
    chained, apart = make.value("cas"), make.value("cas_throughput")
    for name, finding in zip(ATOMICS, ("cas", "cas_lost", "fetch_add"), strict=True):
        less, how = 0.0, ""
        value = make.value(finding)
        if chained is not None and apart is not None and value is not None and apart < chained:
            less = value - value * apart / chained
            how = (
                f"{value:.3g} in a dependent chain (measured.{finding}), times "
                f"{apart:.3g}/{chained:.3g} (measured.cas_throughput, measured.cas)"
            )
        figures[name] = make.measured(name, finding, less, how)
    full = ISAS[host_isa()].full_fence
    for name in ISAS[host_isa()].fences:
        figures[name] = make.measured(name, name)
        if name == full:  # the loop's safepoint is a load, which waits for it
            first = make.measured("lat_l1", "load_l1").number
            how = f"{make.value(name) or 0:.3g} in a loop whose safepoint then waits for it"
            figures[name] = make.measured(name, name, first + 1, how)
    return figures


def _charges(make: _Figures) -> dict[str, Figure]:
    stops = [
        f"measured.{name} is {value:.0f}"
        for name in ("stop_by_handshake", "stop_by_signal")
        if (value := make.value(name)) is not None
    ]
    why = (
        "the default cancellation is a handshake, whose loads and stores engines time themselves; "
        f"{' and '.join(stops) or 'neither it nor a stop by signal was measured'}"
    )
    others = [name for name in Charges.model_fields if name != "stop"]
    measured = {name: make.measured(f"charge_{name}", name) for name in others}
    return {"stop": Figure(assumption=0, why=why)} | measured
