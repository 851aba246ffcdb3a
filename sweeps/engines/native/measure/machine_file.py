"""Writes a measurement as a machine: sweeps/machines/<name>.toml, which every engine reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

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
    Figures,
    Machine,
    Memory,
    Ordering,
    OutOfOrder,
    load_machine,
    machines_like,
    options,
)
from sweeps.support.toml import pairs, parse

# The machine whose figures stand in for what was not measured, where none is of the host's kind.
_NEUTRAL = "generic"
_UNMEASURED = "not measured"
# Cycles of a hand-over beside its access and the end of the loop, on the embedded engine: the store
# retires and drains.
_RETIRED = 3
_HANDED_OVER = ("migratory", "lat_upgrade", "mispredict")  # figures of a hand-over
_PASSES = 0.5  # what hides more than this share of what could hide passes
_EARLY = ("atomic_result", "atomic_written")  # of what is there as soon as a load would be
# A store to an atomic's word that adds less was not waited for: it retires and drains in two.
_FORWARDED = 1
# Figures of the core and its window that are no host's: how the embedded engine is set up.
_SETTINGS = (set(Core.model_fields) - {"width", "taken_branch", "predictor_entries"}) | {
    "fetch_line",
    "front_end",
    "retire_delay",
    "squash_width",
    "lat_issue",
    "alias_bytes",
    "unpredicted_stores",
    "lat_oldest",
}
# Figures that are findings as they are.
_PLAIN = {
    "lat_mul": "mul",
    "lat_div": "div",
    "atomic_tail": "cas_before_load",
    "lat_l1": "load_l1",
}
_BEHIND_ATOMIC = ("cas_hides_nops", "cas_hides_stores")
# A behaviour -> the share that tells of it, and its names where what follows waits, or passes.
_SHARES = {
    "atomic_loads": ("cas_hides_loads", ("wait", "pass")),
    "atomic_result": ("cas_hides_result", ("at_end", "early")),
    "atomic_written": ("cas_hides_reload_adds", ("at_end", "early")),
    "full_fence": ("fence_hides_adds", ("serializing", "barrier")),
}
_JITTER = (0.1, 0.9)  # percentiles of hand-overs, a value a run, between which they vary
_MOST_JITTER = 0.1  # of what the line takes
_ADDS = 5 / 8  # of additions and loads in mixed_apart
_BELOW = 0.95  # of what ports allow: then something else is the bound, and it is the width
_RENAMED = 0.75  # cycles of a link below which it takes none
_DEARER = 2  # cycles by which a forward is, if only one address names its place as the store does


def _link(cycles: float) -> float:
    return 0 if cycles < _RENAMED else cycles


# Figures of the core and its window: the findings that they follow from, and how. What comes of it
# is rounded, and brought within the bounds of engines.
_FOLLOWS: Mapping[str, tuple[tuple[str, ...], Callable[..., float]]] = {
    "taken_branch": (("jump",), lambda jump: max(1, jump)),
    "taken_branches": (("jump",), lambda jump: 1 / jump),
    "taken_return": (("call", "jump"), lambda call, jump: call - 2 * jump),
    "zero_idioms": (("zero", "mul"), lambda zero, mul: zero < _RENAMED * mul),
    "move_elimination": (("move",), lambda move: move < _RENAMED),
    "taken_in_flight": (("branches_in_flight",), float),
    "predictor_history": (("loop_predicted",), float),
    "migratory": (
        ("upgrade_after_dirty", "upgrade", "load_dirty"),
        lambda after, shared, _: after < shared / 2,
    ),
    "ask_early": (
        ("store_dirty_apart", "add_dirty_apart", "load_dirty"),
        lambda store, add, load: max(store, add) < load / 2,
    ),
    "width": (
        ("width", "mixed_apart", "adds_apart", "loads_apart"),
        lambda nops, mixed, adds, loads: (
            mixed if mixed < _BELOW * min(adds / _ADDS, loads / (1 - _ADDS)) else nops
        ),
    ),
    "alu_ports": (("adds_apart",), float),
    "mul_ports": (("muls_apart",), float),
    "load_ports": (("loads_apart",), float),
    "store_ports": (("stores_apart",), float),
    "drain_width": (("stores_lines",), float),
    "lat_forward": (("store_forward_other",), _link),
    "lat_forward_part": (("store_forward_contained",), _link),
    "rename_memory": (
        ("store_forward", "store_forward_other"),
        lambda same, other: other - same > _DEARER,
    ),
    "forward_fail_byte": (
        ("store_forward_fails", "store_forward_byte_fails"),
        lambda fails, byte: byte - fails,
    ),
    "full_fence_hides": (
        ("fence_hidden", "fence_hides_adds"),
        lambda hidden, share: hidden if share <= _PASSES else 0,
    ),
}


@dataclass(frozen=True)
class _Figures:
    """Makes figures of what was found on a host. `stand_in`: the machine whose figures are taken
    where nothing was found. `measured_by`: the command, the day and the processor, for their
    sources."""

    host: Measurement
    stand_in: Machine
    measured_by: str

    def value(self, name: str) -> float | None:
        """A finding's value."""
        finding = self.host.found.get(name)
        return None if finding is None else finding.value

    def source(self, finding: Finding, how: str = "") -> str:
        """Where a figure is from, with its spread and its meaning."""
        return (
            f"measured: {self.measured_by}; spread {finding.spread:.3g}; {how or finding.meaning}"
        )

    def measured(self, key: str, name: str, less: float = 0, how: str = "") -> Figure:
        """The figure `key` from the finding `name`, less a part that engines add themselves."""
        finding = self.host.found.get(name)
        if finding is None:
            return self.neutral(key, self.host.left_out.get(name, _UNMEASURED))
        number = max(0, round(finding.value - less))
        return Figure(value=number, source=self.source(finding, how))

    def neutral(self, key: str, why: str = _UNMEASURED) -> Figure:
        """The stand-in's figure, as an assumption."""
        return Figure(
            assumption=self.same(key).number, why=f"{why}; as machine {self.stand_in.name}"
        )

    def same(self, key: str) -> Figure:
        """The stand-in's figure with its own reason."""
        known = self.stand_in
        return known.clock_mhz if key == CLOCK else known.figures(host_isa())[key]

    def table(self, model: type[Figures], own: dict[str, Figure]) -> dict[str, Figure]:
        """A table of the model: one's own figures; how the engine is set up, with the stand-in's
        reasons; of what was not measured the stand-in's as assumptions, if every machine has it."""
        return {
            name: own.get(name) or (self.same(name) if name in _SETTINGS else self.neutral(name))
            for name, field in model.model_fields.items()
            if name in own or field.is_required()
        }

    def following(self, key: str) -> Figure:
        """The figure `key` as it follows from findings, or the stand-in's."""
        names, how = _FOLLOWS[key]
        findings = [self.host.found[name] for name in names if name in self.host.found]
        if len(findings) < len(names):
            left_out = [why for name in names if (why := self.host.left_out.get(name))]
            return self.neutral(key, (*left_out, _UNMEASURED)[0])
        bounds = options()[key]
        number = min(
            bounds.high, max(bounds.low, round(how(*(finding.value for finding in findings))))
        )
        said = ", ".join(
            f"{name} {finding.value:.3g} (spread {finding.spread:.3g})"
            for name, finding in zip(names, findings, strict=True)
        )
        return Figure(value=number, source=f"measured: {self.measured_by}; {said}")

    def behaviour(self, name: str) -> Behaviour:
        """What a share says; the stand-in's, as an assumption, where there is none."""
        if name == "atomic_start" and {*_BEHIND_ATOMIC} <= {*self.host.found}:
            return self._atomic_start()
        share, names = _SHARES.get(name, ("", ()))
        if (finding := self.host.found.get(share)) is not None:
            source = f"{share} {finding.value:.2f}; {self.source(finding)}"
            could = self._hides_if_early() if name in _EARLY else 1
            return Behaviour(value=names[finding.value > _PASSES * could], source=source)
        known = BEHAVIOURS[name][self.same(name).number]
        return Behaviour(assumption=known, why=f"{_UNMEASURED}; as machine {self.stand_in.name}")

    def _hides_if_early(self) -> float:
        """The share of a CAS that hides behind work which needs its result, where that is there as
        soon as a load and an operation could have it."""
        cas, load = self.value("cas"), self.value("load_l1")
        return 1 if cas is None or load is None else max(0, cas - load - 1) / cas

    def atomic_forward(self, result: Behaviour, lat_l1: int) -> Figure:
        """What an atomic adds that takes its word from an older store, from a chain of both."""
        key, names = "atomic_forward", ("cas_before_own", "add_behind_own", "fetch_add")
        own, chain, add = (self.value(name) for name in names)
        if own is None or chain is None or add is None:
            return self.neutral(key)
        source = f"cas_before_own {own:.3g}; {self.source(self.host.found['add_behind_own'])}"
        if own >= _FORWARDED:
            return Figure(value=0, source=source)
        rest = 1 if result.stated == "early" else add - lat_l1
        less = f"less the {rest:.3g} until its result"
        return Figure(value=max(1, round(chain - rest)), source=f"{source}, {less}")

    def _atomic_start(self) -> Behaviour:
        """What retires behind an atomic adds to the next one's time where that waits until it is
        the oldest; stores to many lines add to it, too, where it waits until they have drained."""
        nops, stores = (self.host.found[name] for name in _BEHIND_ATOMIC)
        how = "when_oldest" if stores.value > _PASSES else "when_drained"
        source = (
            f"cas_hides_nops {nops.value:.2f}, cas_hides_stores {stores.value:.2f}; "
            f"{self.source(nops)}"
        )
        return Behaviour(value="at_once" if nops.value > _PASSES else how, source=source)

    def misprediction(self, mispredict: int) -> int:
        """What a misprediction costs on an engine: all from its execution to that of the right
        path."""
        return self.same("front_end").number + 1 + mispredict + 1


def _stand_in(processor: str) -> str:
    """The machine that names this kind of processor; without any the neutral one."""
    return next((name for name, all_of_it in machines_like(processor) if all_of_it), _NEUTRAL)


def document(measurement: Measurement, name: str, title: str, when: datetime) -> str:
    """The machine file's text, which the model of machines accepts. `when`: it was measured.

    Raises ValueError when it does not: then the figures contradict one another.
    """
    isa, command = host_isa(), f"./lockcross measure {name}"
    measured_by = f"{command}, {when:%Y-%m-%d}, {measurement.processor}"
    make = _Figures(measurement, load_machine(_stand_in(measurement.processor)), measured_by)
    own = {key: make.measured(key, finding) for key, finding in _PLAIN.items()}
    own |= {key: make.following(key) for key in _FOLLOWS}
    own |= _core(make, own["lat_l1"].number)
    own |= _memory(make, own["lat_l1"].number, own["mispredict"].number)
    every = (name for name, field in Ordering.model_fields.items() if field.is_required())
    behaviours = {name: make.behaviour(name) for name in every}
    own["atomic_forward"] = make.atomic_forward(behaviours["atomic_result"], own["lat_l1"].number)
    tables: dict[str, Mapping[str, Figure | Behaviour]] = {
        "core": make.table(Core, own),
        "out_of_order": make.table(OutOfOrder, own),
        f"ordering.{isa}": behaviours,
        "memory": make.table(Memory, own),
        f"latency.{isa}": _latency(make, own["lat_l1"].number, behaviours["atomic_result"]),
        "charges": _charges(make),
    }
    head = {"name": name, "title": title, "isas": [isa], "processor": measurement.processor}
    clock = make.measured(CLOCK, CLOCK).model_dump(exclude_none=True)
    lines = [
        f"# Written by {command}. Units: cycles, bytes, entries. Each figure has",
        "# its source, or is an assumption with its reason. An atomic's is the whole operation, as",
        "# often as one can follow another; a fence's what it adds to a loop of nothing else, less",
        "# what waits for it there. The core is taken to be out of order.",
        *(f"# {note}." for note in measurement.notes),
        *_hand_over(make, {name: own.get(name) or make.same(name) for name in _HANDED_OVER}),
        *pairs(head),
        f"measured_on = {when:%Y-%m-%dT%H:%M:%SZ}",
        *pairs({CLOCK: clock}),
    ]
    for table, figures in tables.items():
        dumped = {name: figure.model_dump(exclude_none=True) for name, figure in figures.items()}
        lines += ["", f"[{table}]", *pairs(dumped)]
    measured = {
        name: (
            float(f"{finding.value:.5g}"),
            float(f"{finding.spread:.3g}"),
            finding.unit,
            finding.meaning,
        )
        for name, finding in measurement.found.items()
    }
    for cache in measurement.caches:
        meaning = f"level {cache.level} cache, {cache.ways} ways, by the system"
        measured[f"l{cache.level}_size"] = (float(cache.size), 0.0, "bytes", meaning)
    names = ("value", "spread", "unit", "meaning")
    said = {name: dict(zip(names, values, strict=True)) for name, values in measured.items()}
    lines += ["", "# What engines do not read yet.", "[measured]", *pairs(said), ""]
    lines += [f"# {name} is left out: {why}" for name, why in sorted(measurement.left_out.items())]
    text = "\n".join(lines).rstrip() + "\n"
    parse(Machine, text)
    return text


def _core(make: _Figures, nearest: int) -> dict[str, Figure]:
    """Figures of the core and its window. `nearest`: cycles of a load from the first level."""
    mispredict = (
        f"the {make.value('mispredict') or 0:.3g} cycles of measured.mispredict are front_end + 1 "
        "+ mispredict + lat_alu"
    )
    fails = (
        f"{make.value('store_forward_fails') or 0:.3g} in all (measured.store_forward_fails), less "
        f"retirement and drain (2 cycles, 1 of them hidden) and the {nearest} of the first level"
    )
    chain = "the unit of the measurement: a core cycle is what one of a chain of additions takes"
    own = {
        "lat_alu": Figure(assumption=1, why=chain),
        # From the branch's execution to the fetch of the right path.
        "mispredict": make.measured("mispredict", "mispredict", make.misprediction(0), mispredict),
        "forward_fail": make.measured("forward_fail", "store_forward_fails", nearest + 1, fails),
    }
    if host_isa() == "x86_64":
        own["lat_pause"] = make.measured("lat_pause", "pause")
    own["width"] = make.following("width")
    no_ops = make.value("width")
    if no_ops is not None and own["width"].value is None:  # nothing but no-ops was measured
        most = options()["width"].high
        own["width"] = make.measured("width", "width", no_ops - min(most, max(1, no_ops)))
    width = own["width"].number
    for name in ("fetch_width", "retire_width"):
        if make.same(name).number < width:
            own[name] = Figure(assumption=width, why="not measured; no less than width")
    return own


def power_of_two_sets(cache: host.Cache) -> host.Cache:
    """The cache, or the largest below it whose sets are a power of two, as engines need them."""
    way = cache.ways * cache.line
    sets = max(1, cache.size // way)
    return host.Cache(cache.level, (1 << sets.bit_length() - 1) * way, cache.ways, cache.line)


def _memory(make: _Figures, lat_l1: int, mispredict: int) -> dict[str, Figure]:
    """Figures of the caches and the memory behind them."""

    def system(number: int, what: str) -> Figure:
        return Figure(value=number, source=f"{what}, by the system; {make.measured_by}")

    caches = make.host.caches
    nearest = make.value("load_l1") or lat_l1
    own = {}
    for cache, prefix in zip(caches[:2], ("l1", "l2"), strict=False):
        if not cache.ways or not cache.line:  # some systems say 0 for what they do not know
            continue
        what, rounded = f"level {cache.level} cache", power_of_two_sets(cache)
        own[f"{prefix}_size"] = system(cache.size, what)
        own[f"{prefix}_ways"] = system(cache.ways, what)
        if rounded != cache:
            why = (
                f"{cache.size} bytes in {cache.ways} ways, by the system, rounded down: engines "
                "need a power of two of sets"
            )
            own[f"{prefix}_size"] = Figure(assumption=rounded.size, why=why)
    if caches and caches[0].line:
        own["line"] = system(caches[0].line, "line of the level 1 cache")
    levels = {"lat_memory": parts.MEMORY}
    if len(caches) > 1:
        levels["lat_l2"] = f"load_l{caches[1].level}"
    for key, level in levels.items():
        finding = make.host.found.get(level)
        less = f"less the {nearest:.3g} of the level 1 cache, which engines add"
        how = f"{finding.meaning}, {less}" if finding else ""
        own[key] = make.measured(key, level, nearest, how)
    warm = "not a property of the machine: figures on the host are taken after a warm-up, and so "
    own["warm"] = Figure(assumption=1, why=f"{warm}are these")
    if make.value("load_dirty") is None:
        return own | _fitted_transfers(make, nearest, mispredict)
    return own | _transfers(make, nearest)


def _transfers(make: _Figures, nearest: float) -> dict[str, Figure]:
    """Single accesses to lines that another CPU has, which engines give time of flight."""
    flight = (
        "not measured: requests take time to travel on every processor, and single accesses were "
        "measured, which contain it"
    )
    text = f"{make.host.found['load_dirty'].meaning}, less the {nearest:.3g} of the first level"
    own = {
        "time_of_flight": Figure(assumption=1, why=flight),
        "lat_dirty": make.measured("lat_dirty", "load_dirty", nearest, text),
        "lat_upgrade": make.measured("lat_upgrade", "upgrade"),
    }
    if make.value("upgrade") is not None:
        own["lat_invalidate"] = Figure(assumption=0, why="contained in lat_upgrade")
    return own | {"lat_jitter": _jitter(make, own["lat_dirty"].number)}


def _jitter(make: _Figures, dirty: int) -> Figure:
    """`dirty`: cycles that a line takes."""
    ranges = []
    for runs in make.host.matrix.values():
        ordered = sorted(runs)
        low, high = (ordered[round(share * (len(ordered) - 1))] for share in _JITTER)
        ranges.append(high - low)
    if not ranges:
        return Figure(assumption=0, why="not measured: it takes hand-overs between two CPUs")
    apart, most = median(ranges), _MOST_JITTER * dirty
    source = (
        f"measured: {make.measured_by}; hand-overs of workload transfer, a value a run, differ by "
        f"{apart:.3g} between the 10th and the 90th percentile; at most a tenth of lat_dirty"
    )
    return Figure(value=round(min(apart, most)), source=source)


def _hand_over(make: _Figures, figures: Mapping[str, Figure]) -> list[str]:
    """What says how far a hand-over is from the figures it is made of, none of which follows from
    it: a line of the file, where both were measured."""
    transfer, load = make.value(parts.TRANSFER), make.value("load_dirty")
    if transfer is None or load is None:
        return []
    upgrade = 0 if figures["migratory"].number else figures["lat_upgrade"].number
    ends = make.misprediction(figures["mispredict"].number) + _RETIRED
    total = load + upgrade + ends
    return [
        f"# A check, from which no figure follows: a hand-over of workload transfer took "
        f"{transfer:.0f} cycles.",
        f"# By these figures it is a load of {load:.0f}, an upgrade of {upgrade} and {ends} of the "
        f"ends of a loop and",
        f"# a store: {total:.0f}, less what overlaps.",
    ]


def _fitted_transfers(make: _Figures, nearest: float, mispredict: int) -> dict[str, Figure]:
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
    if make.value(parts.TRANSFER) is None:
        invalidate = make.measured("lat_invalidate", parts.TRANSFER)
    return {
        "lat_dirty": make.measured("lat_dirty", parts.TRANSFER, less, dirty),
        "lat_upgrade": make.measured("lat_upgrade", "upgrade_after_dirty", 0, upgrade),
        "lat_invalidate": invalidate,
    }


def _latency(make: _Figures, lat_l1: int, result: Behaviour) -> dict[str, Figure]:
    """Of an atomic: what it holds up others for. In a dependent chain its result takes longer: by
    as much as a CAS there takes longer than one whose result nothing needs. Where the result is
    early that is what a comparison takes, and an addition has none."""
    figures = {}
    chained, apart = make.value("cas"), make.value("cas_throughput")
    for name, finding in zip(ATOMICS, ("cas", "cas_lost", "fetch_add"), strict=True):
        less, how = 0.0, ""
        value = make.value(finding)
        compares = finding != "fetch_add" or result.stated != "early"
        if compares and chained and apart is not None and value is not None and apart < chained:
            less = value - value * apart / chained
            how = (
                f"{value:.3g} in a dependent chain (measured.{finding}), times "
                f"{apart:.3g}/{chained:.3g} (measured.cas_throughput, measured.cas)"
            )
        figures[name] = make.measured(name, finding, less, how)
    isa = ISAS[host_isa()]
    figures |= {name: make.measured(name, name) for name in isa.fences}
    # The loop's safepoint is a load, which waits for the full fence.
    full = isa.full_fence
    how = f"{make.value(full) or 0:.3g} in a loop whose safepoint then waits for it"
    return figures | {full: make.measured(full, full, lat_l1 + 1, how)}


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
    charges = {
        name: make.measured(f"charge_{name}", name)
        for name, field in Charges.model_fields.items()
        if field.is_required()
    }
    # A state of the sleeper whose threshold is too noisy is not told from the usual one.
    for state, threshold in (("awake", "falls_asleep"), ("long", "sleeps_long")):
        names = (threshold, f"unpark_{state}", f"wake_{state}")
        if all(make.value(name) is not None for name in names):
            charges |= {name: make.measured(f"charge_{name}", name) for name in names}
    found = {"barrier": parts.BASE, "barrier_core": parts.EACH, "interrupt": parts.LOST}
    if all(make.value(name) is not None for name in found.values()):
        charges |= {key: make.measured(f"charge_{key}", name) for key, name in found.items()}
    return charges | {"stop": Figure(assumption=0, why=why)}
