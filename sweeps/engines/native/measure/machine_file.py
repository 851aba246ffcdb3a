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
from sweeps.model.machine import Charges, Core, Figure, Machine, Memory, load_machine
from sweeps.support.toml import parse

_NEUTRAL = "generic_inorder"  # the machine whose figures stand in for what was not measured
_BYTES = "bytes"
_WIDEST = 2  # of the core that engines read
Tables = dict[str, dict[str, Figure]]


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
    tables: Tables = {
        "core": _core(make),
        "memory": _memory(make, found.caches),
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
        "mispredict": make.measured("mispredict", "mispredict"),
    }  # fmt: skip
    width = make.value("width")
    if width is not None:
        why = f"{width:.1f} instructions in a cycle were measured; the engine's widest core has "
        number = min(_WIDEST, max(1, round(width)))
        own["width"] = Figure(assumption=number, why=f"{why}{_WIDEST}")
    return {
        name: own.get(name) or _unmeasured(make, name)
        for name in Core.model_fields
    }  # fmt: skip


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


def _memory(make: _Figures, caches: Sequence[host.Cache]) -> dict[str, Figure]:
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
    own |= _transfers(make, nearest)
    warm = "not a property of the machine: figures on the host are taken after a warm-up, and so "
    own["warm"] = Figure(assumption=1, why=f"{warm}are these")
    return {
        name: own.get(name) or make.neutral(name, "not measured")
        for name in Memory.model_fields
    }  # fmt: skip


def _how(make: _Figures, name: str, added: str) -> str:
    finding = make.finding(name)
    return f"{finding.meaning}, {added}" if finding else ""


def _transfers(make: _Figures, nearest: float) -> dict[str, Figure]:
    """So that workload transfer takes as long on an engine as it took here: there a hand-over is a
    load of the line (lat_l1 and lat_dirty), the end of a loop (mispredict) and a store to a line
    that both have (lat_upgrade and lat_invalidate)."""
    after = max(0.0, make.value("upgrade_after_dirty") or 0.0)
    ends = make.value("mispredict") or make.measured("mispredict", "mispredict").number
    less = nearest + ends + after
    dirty = (
        f"a hand-over of workload transfer, less {nearest:.3g} (lat_l1), {ends:.3g} (mispredict) "
        f"and {after:.3g} (lat_upgrade), so that it takes as long on an engine; measured.load_dirty"
        " is a single load"
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
    own = {
        "cas_success": make.measured("cas_success", "cas"),
        "cas_failure": make.measured("cas_failure", "cas_lost"),
        "rmw": make.measured("rmw", "fetch_add"),
    }
    return own | {name: make.measured(name, name) for name in ISAS[host_isa()].fences}


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
        "# its source, or is an assumption with its reason. An atomic's: latency of the whole",
        "# operation in a dependent chain, a fence's what it adds to a loop of nothing else (its",
        "# throughput). What workload calibrate shows of a CAS is its throughput on one line.",
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


def _inline(figure: Figure) -> str:
    if figure.source is not None:
        return f"{{ value = {figure.value}, source = {_string(figure.source)} }}"
    return f"{{ assumption = {figure.assumption}, why = {_string(figure.why or '')} }}"


def _measured(one: Finding) -> str:
    value = float(one.value if one.unit == _BYTES else f"{one.value:.5g}")
    return (
        f"{{ value = {value}, spread = {float(f'{one.spread:.3g}')}, "
        f"unit = {_string(one.unit)}, meaning = {_string(one.meaning)} }}"
    )


def _string(text: str) -> str:
    """A basic string: JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False)
