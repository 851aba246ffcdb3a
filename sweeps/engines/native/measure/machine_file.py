"""Writes a measurement as a machine: sweeps/machines/<name>.toml, which every engine reads."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sweeps.engines.native import host
from sweeps.engines.native.measure import alone, together
from sweeps.engines.native.measure.finding import Finding
from sweeps.engines.native.measure.measure import CLOCK, Measurement
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
_BYTES = "bytes"
_WIDEST = 16  # of the core that engines read
# Cycles of a hand-over beside its access and the end of the loop, on the embedded engine: the store
# retires and drains.
_RETIRED = 3
_PASSES = 0.5  # what hides more than this share of its time passes
# Figures of the window that are no host's: how the embedded engine is set up.
_SETTINGS = (
    "fetch_line", "front_end", "predictor_history", "retire_delay", "squash_width", "lat_issue",
    "alias_bytes", "unpredicted_stores", "lat_oldest",
)  # fmt: skip
Tables = Mapping[str, Mapping[str, Figure | Behaviour]]


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

    def value(self, name: str) -> float | None:
        """A finding's value."""
        finding = self._found.findings.get(name)
        return None if finding is None else finding.value

    def finding(self, name: str) -> Finding | None:
        """A finding."""
        return self._found.findings.get(name)

    def source(self, finding: Finding, how: str = "") -> str:
        """Where a figure is from: the command, the day, the processor, the spread, its meaning."""
        return (
            f"measured: {self._origin.command}, {self._origin.when:%Y-%m-%d}, "
            f"{self._found.processor}; spread {finding.spread:.3g}; {how or finding.meaning}"
        )

    def measured(self, key: str, name: str, less: float = 0, how: str = "") -> Figure:
        """The figure `key` from the finding `name`, less a part that engines add themselves."""
        finding = self._found.findings.get(name)
        if finding is None:
            return self.neutral(key, self._found.findings.left_out.get(name, "not measured"))
        number = max(0, round(finding.value - less))
        return Figure(value=number, source=self.source(finding, how))

    def neutral(self, key: str, why: str) -> Figure:
        """The neutral machine's figure, as an assumption."""
        figure = self._neutral.figures(host_isa()).get(key, self._neutral.clock_mhz)
        reason = f"{why}; as machine {_NEUTRAL}"
        return Figure(assumption=figure.number, why=reason)

    def behaviour(self, name: str, finding: str, behaviours: tuple[str, str]) -> Behaviour:
        """The first of two behaviours if the finding, a share, says that what follows waits; the
        second if it passes."""
        found = self._found.findings.get(finding)
        if found is None:
            return self.neutral_behaviour(name)
        return Behaviour(
            value=behaviours[found.value > _PASSES],
            source=f"{finding} {found.value:.2f}; {self.source(found)}",
        )

    def neutral_behaviour(self, name: str) -> Behaviour:
        """The neutral machine's behaviour, as an assumption."""
        number = self._neutral.figures(host_isa())[name].number
        return Behaviour(
            assumption=BEHAVIOURS[name][number], why=f"not measured; as machine {_NEUTRAL}"
        )

    def same(self, key: str) -> Figure:
        """The neutral machine's figure with its own reason."""
        return self._neutral.figures(host_isa())[key]

    def system(self, number: int, what: str) -> Figure:
        """What the system says of a cache."""
        source = f"{what}, by the system; {self._origin.command}, {self._origin.when:%Y-%m-%d}"
        return Figure(value=number, source=f"{source}, {self._found.processor}")


def document(found: Measurement, origin: Origin) -> str:
    """The machine file's text, which the model of machines accepts.

    Raises ValueError when it does not: then the figures contradict one another.
    """
    make = _Figures(found, origin)
    core = _core(make)
    tables: Tables = {
        "core": core,
        "out_of_order": _out_of_order(make, core["width"].number),
        f"ordering.{host_isa()}": _ordering(make),
        "memory": _memory(make, found.caches, core["mispredict"].number),
        f"latency.{host_isa()}": _latency(make),
        "charges": _charges(make),
    }
    text = _text(found, origin, make.measured("clock_mhz", CLOCK), tables)
    parse(Machine, text)
    return text


def _core(make: _Figures) -> dict[str, Figure]:
    own = {
        "lat_alu": Figure(
            assumption=1, why="the unit of the measurement: a core cycle is what one of a chain of "
            "additions takes",
        ),
        "lat_mul": make.measured("lat_mul", "mul"),
        "lat_div": make.measured("lat_div", "div"),
        "mispredict": _mispredict(make),
    }  # fmt: skip
    if (width := make.value("width")) is not None:
        less = width - min(_WIDEST, max(1, width))  # so that the core can have it
        own["width"] = make.measured("width", "width", less)
    return {
        name: own.get(name) or _unmeasured(make, name)
        for name in Core.model_fields
    }  # fmt: skip


def _mispredict(make: _Figures) -> Figure:
    """From the branch's execution to the fetch of the right path."""
    how = (
        f"the {make.value('mispredict') or 0:.3g} cycles of measured.mispredict are front_end + 1 "
        "+ mispredict + lat_alu"
    )
    return make.measured("mispredict", "mispredict", _misprediction(make, 0), how)


def _misprediction(make: _Figures, mispredict: int) -> int:
    """What a misprediction costs on an engine: all from its execution to that of the right path."""
    return make.same("front_end").number + 1 + mispredict + 1


def _out_of_order(make: _Figures, width: int) -> dict[str, Figure]:
    nearest = make.measured("lat_l1", "load_l1").number
    fails = f"{make.value('store_forward_fails') or 0:.3g} in all (measured.store_forward_fails)"
    own = {
        "lat_forward": make.measured("lat_forward", "store_forward"),
        "lat_forward_part": make.measured("lat_forward_part", "store_forward_contained"),
        "forward_fail": make.measured(
            "forward_fail", "store_forward_fails", nearest + 1,
            f"{fails}, less retirement and drain (2 cycles, 1 of them hidden) and the {nearest} of "
            "the first level",
        ),
        "atomic_tail": make.measured("atomic_tail", "cas_before_load"),
    }  # fmt: skip
    if host_isa() == "x86_64":
        own["lat_pause"] = make.measured("lat_pause", "pause")
    for name in ("fetch_width", "retire_width"):
        if make.same(name).number < width:
            own[name] = Figure(assumption=width, why="not measured; no less than width")
    own |= {name: make.same(name) for name in _SETTINGS}
    return {
        name: own.get(name) or make.neutral(name, "not measured")
        for name in OutOfOrder.model_fields
    }  # fmt: skip


def _ordering(make: _Figures) -> dict[str, Behaviour]:
    own = {
        "atomic_loads": make.behaviour("atomic_loads", "cas_hides_loads", ("wait", "pass")),
        "full_fence": make.behaviour("full_fence", "fence_hides_adds", ("serializing", "barrier")),
    }
    return {name: own.get(name) or make.neutral_behaviour(name) for name in BEHAVIOURS}


def _unmeasured(make: _Figures, name: str) -> Figure:
    """A property of the engine's core model keeps its reason; one of the host was not measured."""
    if name in ("width", "taken_branch", "predictor_entries"):
        return make.neutral(name, "not measured")
    return make.same(name)


def power_of_two_sets(cache: host.Cache) -> host.Cache:
    """The cache, or the largest below it whose sets are a power of two, as engines need them."""
    way = cache.ways * cache.line
    sets = max(1, cache.size // way)
    return host.Cache(cache.level, (1 << sets.bit_length() - 1) * way, cache.ways, cache.line)


def _cache(make: _Figures, cache: host.Cache, prefix: str) -> dict[str, Figure]:
    known = power_of_two_sets(cache)
    what = f"level {cache.level} cache"
    size = make.system(cache.size, what)
    if known != cache:
        why = f"{cache.size} bytes in {cache.ways} ways, by the system, rounded down: engines need "
        size = Figure(assumption=known.size, why=f"{why}a power of two of sets")
    return {f"{prefix}_size": size, f"{prefix}_ways": make.system(cache.ways, what)}


def _memory(make: _Figures, caches: Sequence[host.Cache], mispredict: int) -> dict[str, Figure]:
    own: dict[str, Figure] = {"lat_l1": make.measured("lat_l1", "load_l1")}
    nearest = make.value("load_l1") or own["lat_l1"].number
    added = f"less the {nearest:.3g} of the level 1 cache, which engines add"
    for cache, prefix in zip(caches[:2], ("l1", "l2"), strict=False):
        if cache.ways and cache.line:  # some systems say 0 for what they do not know
            own |= _cache(make, cache, prefix)
    if caches and caches[0].line:
        own["line"] = make.system(caches[0].line, "line of the level 1 cache")
    if len(caches) > 1:
        level = f"load_l{caches[1].level}"
        own["lat_l2"] = make.measured("lat_l2", level, nearest, _how(make, level, added))
    own["lat_memory"] = make.measured(
        "lat_memory", alone.MEMORY, nearest, _how(make, alone.MEMORY, added)
    )
    own |= _transfers(make, nearest, mispredict)
    warm = "not a property of the machine: figures on the host are taken after a warm-up, and so "
    own["warm"] = Figure(assumption=1, why=f"{warm}are these")
    return {
        name: own.get(name) or make.neutral(name, "not measured")
        for name in Memory.model_fields
    }  # fmt: skip


def _how(make: _Figures, name: str, added: str) -> str:
    finding = make.finding(name)
    return f"{finding.meaning}, {added}" if finding else ""


def _transfers(make: _Figures, nearest: float, mispredict: int) -> dict[str, Figure]:
    """So that workload transfer takes as long on an engine as it took here: there a hand-over is a
    load of the line (lat_l1 and lat_dirty), the end of a loop (a misprediction) and a store to a
    line that both have (lat_upgrade and lat_invalidate), which retires and drains."""
    after = max(0.0, make.value("upgrade_after_dirty") or 0.0)
    ends = _misprediction(make, mispredict) + _RETIRED
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
    if make.finding(together.TRANSFER) is None:
        invalidate = make.measured("lat_invalidate", together.TRANSFER)
    return {
        "lat_dirty": make.measured("lat_dirty", together.TRANSFER, less, dirty),
        "lat_upgrade": make.measured("lat_upgrade", "upgrade_after_dirty", 0, upgrade),
        "lat_invalidate": invalidate,
    }


def _latency(make: _Figures) -> dict[str, Figure]:
    findings = dict(zip(ATOMICS, ("cas", "cas_lost", "fetch_add"), strict=True))
    figures = {name: _atomic(make, name, finding) for name, finding in findings.items()}
    full = ISAS[host_isa()].full_fence
    for name in ISAS[host_isa()].fences:
        if name == full:  # the loop's safepoint is a load, which waits for it
            first = make.measured("lat_l1", "load_l1").number
            how = f"{make.value(name) or 0:.3g} in a loop whose safepoint then waits for it"
            figures[name] = make.measured(name, name, first + 1, how)
        else:
            figures[name] = make.measured(name, name)
    return figures


def _atomic(make: _Figures, name: str, finding: str) -> Figure:
    """What an atomic holds up others for. In a dependent chain its result takes longer: by as much
    as a CAS there takes longer than one whose result nothing needs."""
    chained, alone = make.value("cas"), make.value("cas_throughput")
    found = make.value(finding)
    if chained is None or alone is None or found is None or alone >= chained:
        return make.measured(name, finding)
    how = (
        f"{found:.3g} in a dependent chain (measured.{finding}), times {alone:.3g}/{chained:.3g} "
        "(measured.cas_throughput, measured.cas)"
    )
    return make.measured(name, finding, found - found * alone / chained, how)


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
    own = {"stop": Figure(assumption=0, why=why)}
    return own | {
        name: make.measured(f"charge_{name}", name)
        for name in Charges.model_fields
        if name not in own
    }


# Text


def _text(found: Measurement, origin: Origin, clock: Figure, tables: Tables) -> str:
    lines = [
        f"# Written by {origin.command}. Units: cycles, bytes, entries. Each figure has",
        "# its source, or is an assumption with its reason. An atomic's is the whole operation, as",
        "# often as one can follow another; a fence's what it adds to a loop of nothing else, less",
        "# what waits for it there. The core is taken to be out of order.",
    ]
    lines += [f"# {note}." for note in found.notes]
    lines += [
        f"name = {_string(origin.name)}",
        f"title = {_string(origin.title)}",
        f"isas = [{_string(host_isa())}]",
        f"processor = {_string(found.processor)}",
        f"measured_on = {origin.when:%Y-%m-%dT%H:%M:%SZ}",
        f"clock_mhz = {_inline(clock)}",
    ]
    for table, figures in tables.items():
        lines += ["", f"[{table}]", *(f"{name} = {_inline(one)}" for name, one in figures.items())]
    lines += ["", "# What engines do not read yet.", "[measured]"]
    lines += [f"{name} = {_measured(one)}" for name, one in _kept(found).items()]
    left_out = found.findings.left_out
    lines += [
        "",
        *(f"# {name} is left out: {why}" for name, why in sorted(left_out.items())),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _kept(found: Measurement) -> Mapping[str, Finding]:
    sizes = {
        f"l{cache.level}_size": Finding(
            cache.size, 0, f"level {cache.level} cache, {cache.ways} ways, by the system", _BYTES
        )
        for cache in found.caches
    }
    return found.findings.found | sizes


def _inline(figure: Figure | Behaviour) -> str:
    known = figure.value is not None
    number = figure.value if known else figure.assumption
    reason = figure.source if known else figure.why
    shown = _string(number) if isinstance(number, str) else number
    keys = ("value", "source") if known else ("assumption", "why")
    return f"{{ {keys[0]} = {shown}, {keys[1]} = {_string(reason or '')} }}"


def _measured(one: Finding) -> str:
    value = float(one.value if one.unit == _BYTES else f"{one.value:.5g}")
    return (
        f"{{ value = {value}, spread = {float(f'{one.spread:.3g}')}, "
        f"unit = {_string(one.unit)}, meaning = {_string(one.meaning)} }}"
    )


def _string(text: str) -> str:
    """A basic string: JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False)
