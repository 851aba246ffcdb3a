"""Write a measurement as a machine: sweeps/machines/<name>.toml, which every engine reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from inspect import signature
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
_LOAD_AND_STORE = 2  # micro-operations of an atomic that no addition's port executes
_DEARER = 2  # cycles by which a forward is, if only one address names its place as the store does


def _width(width: float, mixed_apart: float, adds_apart: float, loads_apart: float) -> float:
    ports = min(adds_apart / _ADDS, loads_apart / (1 - _ADDS))
    return mixed_apart if mixed_apart < _BELOW * ports else width


# Figures that are findings as they are.
_AS_FOUND = {
    "lat_mul": "mul",
    "lat_div": "div",
    "lat_l1": "load_l1",
    "atomic_tail": "cas_before_load",
    "taken_in_flight": "branches_in_flight",
    "predictor_history": "loop_predicted",
    "alu_ports": "adds_apart",
    "mul_ports": "muls_apart",
    "load_ports": "loads_apart",
    "store_ports": "stores_apart",
    "drain_width": "stores_lines",
}
# How others follow from findings, which are the arguments' names.
_FOLLOWS: Mapping[str, Callable[..., float]] = {
    "taken_branch": lambda jump: max(1, jump),
    "taken_branches": lambda jump: 1 / jump,
    "taken_return": lambda call, jump: call - 2 * jump,
    "zero_idioms": lambda zero, mul: zero < _RENAMED * mul,
    "move_elimination": lambda move: move < _RENAMED,
    "migratory": lambda upgrade_after_dirty, upgrade, load_dirty: upgrade_after_dirty < upgrade / 2,
    "ask_early": lambda store_dirty_apart, add_dirty_apart, load_dirty: (
        max(store_dirty_apart, add_dirty_apart) < load_dirty / 2
    ),
    "width": _width,
    "atomic_micro_ops": lambda cas_beside, adds_apart: cas_beside * adds_apart + _LOAD_AND_STORE,
    "rmw_micro_ops": lambda exchange_beside, adds_apart: (
        exchange_beside * adds_apart + _LOAD_AND_STORE
    ),
    "lat_forward": lambda store_forward_other: (
        0 if store_forward_other < _RENAMED else store_forward_other
    ),
    "lat_forward_part": lambda store_forward_contained: (
        0 if store_forward_contained < _RENAMED else store_forward_contained
    ),
    "rename_memory": lambda store_forward, store_forward_other: (
        store_forward_other - store_forward > _DEARER
    ),
    "forward_fail_byte": lambda store_forward_fails, store_forward_byte_fails: (
        store_forward_byte_fails - store_forward_fails
    ),
    "full_fence_hides": lambda fence_hidden, fence_hides_adds: (
        fence_hidden if fence_hides_adds <= _PASSES else 0
    ),
}
# What stopping an owner takes, by its state: HotSpot's own, and others that it may take.
_STOPS = {
    "stop_running": ("stop_hotspot17_running", "stop_hotspot17_running_2cpus"),
    "stop_blocked": ("stop_hotspot17_parked_anew", "stop_hotspot17_parked_40frames"),
    "stop_ended": ("stop_hotspot17_ended",),
}


@dataclass(frozen=True)
class _Figures:
    """Make figures of the findings on a host. `stand_in`: the machine that has them where
    nothing was found. `measured_by`: the command, the day and the processor, for their sources."""

    host: Measurement
    stand_in: Machine
    measured_by: str

    def value(self, name: str) -> float | None:
        finding = self.host.found.get(name)
        return None if finding is None else finding.value

    def source(self, *names: str, how: str = "") -> str:
        """Return where a figure is from: findings with their spreads, and `how` it follows."""
        found = {name: self.host.found[name] for name in names}
        words = (f"{name} {it.value:.3g} (spread {it.spread:.3g})" for name, it in found.items())
        return "; ".join(filter(None, (f"measured: {self.measured_by}", ", ".join(words), how)))

    def of(self, key: str, number: Callable[..., float], *names: str, how: str = "") -> Figure:
        """Return the figure `key` as it follows from findings, within the bounds of engines, or the
        stand-in's."""
        if missing := [name for name in names if name not in self.host.found]:
            reasons = [why for name in missing if (why := self.host.left_out.get(name))]
            return self.neutral(key, (*reasons, _UNMEASURED)[0])
        value = round(number(*(self.host.found[name].value for name in names)))
        bounds = options().get(key)
        value = min(bounds.high, max(bounds.low, value)) if bounds else value
        return Figure(value=value, source=self.source(*names, how=how))

    def measured(self, key: str, name: str, less: float = 0, what: str = "") -> Figure:
        """Return the figure `key` from one finding, `less` the part that engines add themselves;
        `what`: its meaning."""
        how = self.host.found[name].meaning if name in self.host.found else ""
        how += f", less {less:.3g} of {what}" if what else ""
        return self.of(key, lambda value: value - less, name, how=how)

    def following(self, key: str) -> Figure:
        return self.of(key, _FOLLOWS[key], *signature(_FOLLOWS[key]).parameters)

    def has(self, key: str) -> bool:
        """Tell whether a figure follows from the findings, or is the stand-in's: not every
        machine has all."""
        names = {*signature(_FOLLOWS[key]).parameters}
        return names <= {*self.host.found} or key in self.stand_in.figures(host_isa())

    def neutral(self, key: str, why: str = _UNMEASURED) -> Figure:
        """Return the stand-in's figure, as an assumption."""
        return Figure(
            assumption=self.same(key).number, why=f"{why}; as machine {self.stand_in.name}"
        )

    def same(self, key: str) -> Figure:
        """Return the stand-in's figure with its own reason."""
        known = self.stand_in
        return known.clock_mhz if key == CLOCK else known.figures(host_isa())[key]

    def table(self, model: type[Figures], known: dict[str, Figure]) -> dict[str, Figure]:
        """Return a table of the model: known figures; how the engine is set up, with the stand-in's
        reasons; for figures not measured the stand-in's as assumptions, if every machine has it.
        """
        return {
            name: known.get(name) or (self.same(name) if name in _SETTINGS else self.neutral(name))
            for name, field in model.model_fields.items()
            if name in known or field.is_required()
        }

    def behaviour(self, name: str) -> Behaviour:
        """Return the behaviour that a share shows; the stand-in's, as an assumption, where there is
        none."""
        if name == "atomic_start" and {*_BEHIND_ATOMIC} <= {*self.host.found}:
            return self._atomic_start()
        share, names = _SHARES.get(name, ("", ()))
        if (finding := self.host.found.get(share)) is not None:
            could = self._hides_if_early() if name in _EARLY else 1
            source = self.source(share, how=finding.meaning)
            return Behaviour(value=names[finding.value > _PASSES * could], source=source)
        known = BEHAVIOURS[name][self.same(name).number]
        return Behaviour(assumption=known, why=f"{_UNMEASURED}; as machine {self.stand_in.name}")

    def _hides_if_early(self) -> float:
        """Return the share of a CAS that hides behind work which needs its result, where that is
        there as soon as a load and an operation could have it."""
        cas, load = self.value("cas"), self.value("load_l1")
        return 1 if cas is None or load is None else max(0, cas - load - 1) / cas

    def atomic_forward(self, result: Behaviour, lat_l1: int) -> Figure:
        """Return the extra cost of an atomic that takes its word from an older store."""
        early = result.stated == "early"

        def added(store: float, chain: float, add: float) -> float:
            return 0 if store >= _FORWARDED else max(1, chain - (1 if early else add - lat_l1))

        how = "what the chain takes, less the atomic's time until its result"
        names = ("cas_before_own", "add_behind_own", "fetch_add")
        return self.of("atomic_forward", added, *names, how=how)

    def _atomic_start(self) -> Behaviour:
        """Return when an atomic starts. Instructions that retire behind one add to the next one's
        time where that waits until it is the oldest; stores to many lines add to it, too, where it
        waits until they have drained."""
        nops, stores = (self.host.found[name] for name in _BEHIND_ATOMIC)
        start = "when_oldest" if stores.value > _PASSES else "when_drained"
        source = self.source(*_BEHIND_ATOMIC, how=nops.meaning)
        return Behaviour(value="at_once" if nops.value > _PASSES else start, source=source)

    def misprediction(self, mispredict: int) -> int:
        """Return the cost of a misprediction on an engine, from its execution to the right
        path's."""
        return self.same("front_end").number + 1 + mispredict + 1


def _stand_in(processor: str) -> str:
    """Return the machine that names this kind of processor; without any the neutral one."""
    return next((name for name, all_of_it in machines_like(processor) if all_of_it), _NEUTRAL)


def document(measurement: Measurement, name: str, title: str, when: datetime) -> str:
    """Return the machine file's text, which the model of machines accepts. `when`: it was measured.

    Raises ValueError when it does not: then the figures contradict one another.
    """
    isa, command = host_isa(), f"./lockcross measure {name}"
    measured_by = f"{command}, {when:%Y-%m-%d}, {measurement.processor}"
    make = _Figures(measurement, load_machine(_stand_in(measurement.processor)), measured_by)
    known = {key: make.measured(key, finding) for key, finding in _AS_FOUND.items()}
    known |= {key: make.following(key) for key in _FOLLOWS if make.has(key)}
    nearest = known["lat_l1"].number
    known |= _core(make, nearest, known["width"])
    known |= _memory(make, nearest, known["mispredict"].number)
    stated = [name for name, field in Ordering.model_fields.items() if field.is_required()]
    behaviours = {name: make.behaviour(name) for name in stated}
    known["atomic_forward"] = make.atomic_forward(behaviours["atomic_result"], nearest)
    tables: dict[str, Mapping[str, Figure | Behaviour]] = {
        "core": make.table(Core, known),
        "out_of_order": make.table(OutOfOrder, known),
        f"ordering.{isa}": behaviours,
        "memory": make.table(Memory, known),
        f"latency.{isa}": _latency(make, nearest, behaviours["atomic_result"]),
        "charges": _charges(make),
    }
    head = {"name": name, "title": title, "isas": [isa], "processor": measurement.processor}
    lines = [
        f"# Written by {command}. Units: cycles, bytes, entries. Each figure has",
        "# its source, or is an assumption with its reason. An atomic's is the whole operation, as",
        "# often as one can follow another; a fence's what it adds to a loop of nothing else, less",
        "# what waits for it there. The core is taken to be out of order.",
        *(f"# {note}." for note in measurement.notes),
        *pairs(head),
        f"measured_on = {when:%Y-%m-%dT%H:%M:%SZ}",
        *_written({CLOCK: make.measured(CLOCK, CLOCK)}),
    ]
    for table, figures in tables.items():
        lines += ["", f"[{table}]", *_written(figures)]
    lines += ["", "# What engines do not read yet.", "[measured]", *_findings(measurement), ""]
    lines += [f"# {name} is left out: {why}" for name, why in sorted(measurement.left_out.items())]
    text = "\n".join(lines).rstrip() + "\n"
    parse(Machine, text)
    return text


def _written(figures: Mapping[str, Figure | Behaviour]) -> list[str]:
    return pairs({name: stated.model_dump(exclude_none=True) for name, stated in figures.items()})


def _findings(measurement: Measurement) -> list[str]:
    """Return every finding, and the sizes of the caches, as lines of the file."""
    found = dict(measurement.found)
    for cache in measurement.caches:
        meaning = f"level {cache.level} cache, {cache.ways} ways, by the system"
        found[f"l{cache.level}_size"] = Finding(cache.size, 0.0, meaning, "bytes")
    return pairs(
        {
            name: {
                "value": float(f"{finding.value:.5g}")
                if finding.unit != "bytes"
                else finding.value,
                "spread": float(f"{finding.spread:.3g}"),
                "unit": finding.unit,
                "meaning": finding.meaning,
            }
            for name, finding in found.items()
        }
    )


def _core(make: _Figures, nearest: int, width: Figure) -> dict[str, Figure]:
    """Return figures of the core and its window. `nearest`: cycles of a load from the L1."""
    chain = "the unit of the measurement: a core cycle is what one of a chain of additions takes"
    front = "front_end + 1 + lat_alu"
    drained = "retirement and drain (2, 1 of them hidden) and a load from the first level"
    core = {
        "lat_alu": Figure(assumption=1, why=chain),
        # From the branch's execution to the fetch of the right path.
        "mispredict": make.measured("mispredict", "mispredict", make.misprediction(0), front),
        "forward_fail": make.measured("forward_fail", "store_forward_fails", nearest + 1, drained),
    }
    if host_isa() == "x86_64":
        core["lat_pause"] = make.measured("lat_pause", "pause")
    if width.value is None:  # nothing but no-ops was measured
        core["width"] = width = make.measured("width", "width")
    for name in ("fetch_width", "retire_width"):
        if make.same(name).number < width.number:
            core[name] = Figure(assumption=width.number, why="not measured; no less than width")
    return core


def power_of_two_sets(cache: host.Cache) -> host.Cache:
    """Return the cache, or the largest below it with a power of two of sets, as engines need."""
    way = cache.ways * cache.line
    sets = max(1, cache.size // way)
    return host.Cache(cache.level, (1 << sets.bit_length() - 1) * way, cache.ways, cache.line)


def _memory(make: _Figures, lat_l1: int, mispredict: int) -> dict[str, Figure]:
    """Return figures of the caches and the memory behind them."""

    def system(number: int, what: str) -> Figure:
        return Figure(value=number, source=f"{what}, by the system; {make.measured_by}")

    caches = make.host.caches
    nearest = make.value("load_l1") or lat_l1
    memory = {}
    for cache, prefix in zip(caches[:2], ("l1", "l2"), strict=False):
        if not cache.ways or not cache.line:  # some systems say 0 for what they do not know
            continue
        what, rounded = f"level {cache.level} cache", power_of_two_sets(cache)
        memory[f"{prefix}_size"] = system(cache.size, what)
        memory[f"{prefix}_ways"] = system(cache.ways, what)
        if rounded != cache:
            why = (
                f"{cache.size} bytes in {cache.ways} ways, by the system, rounded down: engines "
                "need a power of two of sets"
            )
            memory[f"{prefix}_size"] = Figure(assumption=rounded.size, why=why)
    if caches and caches[0].line:
        memory["line"] = system(caches[0].line, "line of the level 1 cache")
    levels = {"lat_memory": parts.MEMORY}
    if len(caches) > 1:
        levels["lat_l2"] = f"load_l{caches[1].level}"
    for key, level in levels.items():
        memory[key] = make.measured(key, level, nearest, "the level 1 cache, which engines add")
    warm = "not a property of the machine: figures on the host are taken after a warm-up, and so "
    memory["warm"] = Figure(assumption=1, why=f"{warm}are these")
    if make.value("load_dirty") is None:
        return memory | _fitted_transfers(make, nearest, mispredict)
    return memory | _transfers(make, nearest)


def _transfers(make: _Figures, nearest: float) -> dict[str, Figure]:
    """Return single accesses to lines that another CPU has, which engines give time of flight."""
    flight = (
        "not measured: requests take time to travel on every processor, and single accesses were "
        "measured, which contain it"
    )
    lines = {
        "time_of_flight": Figure(assumption=1, why=flight),
        "lat_dirty": make.measured("lat_dirty", "load_dirty", nearest, "the level 1 cache"),
        "lat_upgrade": make.measured("lat_upgrade", "upgrade"),
    }
    if make.value("upgrade") is not None:
        lines["lat_invalidate"] = Figure(assumption=0, why="contained in lat_upgrade")
    return lines | {"lat_jitter": _jitter(make, lines["lat_dirty"].number)}


def _jitter(make: _Figures, dirty: int) -> Figure:
    """Return by how much hand-overs vary. `dirty`: cycles that a line takes."""
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


def _fitted_transfers(make: _Figures, nearest: float, mispredict: int) -> dict[str, Figure]:
    """Return transfers with which workload transfer takes as long on an engine as it took here.
    There a hand-over is a load of the line (lat_l1 and lat_dirty), the end of a loop (a
    misprediction) and a store to a line that both have (lat_upgrade and lat_invalidate), which
    retires and drains."""
    after = max(0.0, make.value("upgrade_after_dirty") or 0.0)
    ends = make.misprediction(mispredict) + _RETIRED
    rest = (
        f"{nearest:.3g} (lat_l1), {ends} (a misprediction and the store's end) and {after:.3g} "
        "(lat_upgrade), so that it takes as long on an engine; measured.load_dirty is a single load"
    )
    why = "contained in lat_upgrade: a hand-over shows only the sum"
    invalidate = Figure(assumption=0, why=why)
    if make.value(parts.TRANSFER) is None:
        invalidate = make.measured("lat_invalidate", parts.TRANSFER)
    return {
        "lat_dirty": make.measured("lat_dirty", parts.TRANSFER, nearest + ends + after, rest),
        "lat_upgrade": make.measured("lat_upgrade", "upgrade_after_dirty"),
        "lat_invalidate": invalidate,
    }


def _latency(make: _Figures, lat_l1: int, result: Behaviour) -> dict[str, Figure]:
    """Return the cost of atomics and fences: for an atomic, the time for which it holds up others.
    In a dependent chain its result takes longer: by as much as a CAS there takes longer than one
    whose result nothing needs. Where the result is early that is the time of a comparison, and an
    addition has none."""
    figures = {}
    chained, apart = make.value("cas"), make.value("cas_throughput")
    for name, finding in zip(ATOMICS, ("cas", "cas_lost", "fetch_add"), strict=True):
        less, what = 0.0, ""
        value = make.value(finding)
        compares = finding != "fetch_add" or result.stated != "early"
        if compares and chained and apart is not None and value is not None and apart < chained:
            less = value - value * apart / chained
            what = f"its result, of which a CAS takes {chained - apart:.3g} of {chained:.3g}"
        figures[name] = make.measured(name, finding, less, what)
    isa = ISAS[host_isa()]
    figures |= {name: make.measured(name, name) for name in isa.fences}
    full = isa.full_fence
    waits = "the loop's safepoint, a load, which waits for it"
    return figures | {full: make.measured(full, full, lat_l1 + 1, waits)}


def _stop(make: _Figures, charge: str) -> Figure:
    """Return the cost of a runtime's way of stopping an owner beyond the accesses of a
    handshake, which engines time themselves: from a handshake alone to the dearest that was
    measured."""
    name, *others = _STOPS[charge]
    handshake = make.value(f"stop_handshake_{charge.removeprefix('stop_')}") or 0.0
    if make.value(name) is None:
        known = ("stop_by_handshake", "stop_by_signal")
        stops = [f"measured.{it} is {value:.0f}" for it in known if (value := make.value(it))]
        why = (
            "no JVM with biased locking was measured; a cancellation is taken to be a handshake, "
            "whose loads and stores engines time themselves; "
            f"{' and '.join(stops) or 'neither it nor a stop by signal was measured'}"
        )
        return Figure(assumption=0, why=why)
    figure = make.measured(f"charge_{charge}", name, handshake, "a handshake, which engines add")
    dearer = [found for it in others if (found := make.value(it)) is not None]
    high = max(figure.number, *(round(value - handshake) for value in dearer), 0)
    return figure.model_copy(update={"low": 0, "high": high})


def _charges(make: _Figures) -> dict[str, Figure]:
    charges = {
        name: make.measured(f"charge_{name}", name)
        for name, field in Charges.model_fields.items()
        if field.is_required() and name not in _STOPS
    }
    # A state of the sleeper whose threshold is too noisy is not told from the usual one.
    for state, threshold in (("awake", "falls_asleep"), ("long", "sleeps_long")):
        names = (threshold, f"unpark_{state}", f"wake_{state}")
        if all(make.value(name) is not None for name in names):
            charges |= {name: make.measured(f"charge_{name}", name) for name in names}
    found = {"barrier": parts.BASE, "barrier_core": parts.EACH, "interrupt": parts.LOST}
    if all(make.value(name) is not None for name in found.values()):
        charges |= {key: make.measured(f"charge_{key}", name) for key, name in found.items()}
    return charges | {charge: _stop(make, charge) for charge in _STOPS}
