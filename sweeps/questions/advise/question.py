"""What `advise` is asked: a machine, its locks and how a program uses them; the rest is assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.errors import LockcrossError
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel, cancels, load_locks
from sweeps.model.machine import load_machine, machine_names
from sweeps.plans.study import load_study
from sweeps.questions.advise.answer import ASKED, ASSUMED, MEASURED, QUOTED, STORE_FORWARD, Input
from sweeps.questions.advise.strata import USE, strata
from sweeps.questions.advise.use import LIVES, SHARES, Use, settle
from sweeps.search.lines import check_cell, check_label, own_latency, with_lock

STUDY = "crossover"  # whose locks are compared, and whose ties are ties
PRODUCTION = "rmw"  # how runtimes order a store before a load where a locked operation does it
BROKEN = "store forwarding orders nothing on the processors that were tried: not to be used"
_TWICE = 2  # an assumed latency may be half of it, or twice
_SIGNAL, _CLOCK = "stop_by_signal", 1e3  # a figure of measured machines; MHz in a GHz


@dataclass(frozen=True)
class Latencies:
    """What an atomic, a full fence and stopping a thread take, in cycles as measured there; None:
    the machine's own."""

    cas: int | None = None
    fence: int | None = None
    cancel: int | None = None


@dataclass(frozen=True)
class Question:
    """`base`: the use (a cell of workload USE) of the first lock, with the machine's own latencies,
    but for a cancellation's; `measured`: the latencies that are to be set so that they measure
    this. `inputs`: what the answer rests on; `limits`: of locks that cannot replace all others,
    what they cannot do. `contended`: the share of acquisitions that find the lock held; what they
    cost is answered beside the rest."""

    base: Cell
    labels: tuple[LockLabel, ...]
    measured: Latencies
    inputs: tuple[Input, ...]
    limits: Mapping[LockLabel, str]
    contended: float = 0.0

    @property
    def latencies(self) -> list[str]:
        """The axes of the latencies that any of its locks pays."""
        return _paid(self.labels)


def ask(
    machine: str, isa: str, flavour: str, locks: Sequence[str], fences: Sequence[str],
    latencies: Latencies, use: Use,
) -> Question:  # fmt: skip
    """The question in terms of cells. Raises LockcrossError for what cannot be run."""
    isas = load_machine(machine).isas
    if isa and isa not in isas:
        raise LockcrossError(f"--isa: {isa!r}: machine {machine} is {', '.join(isas)} only")
    isa = isa or isas[0]
    flavours = ISAS[isa].flavours
    if flavour and flavour not in flavours:
        raise LockcrossError(f"--flavour: {flavour!r}: {isa} has {', '.join(flavours)} only")
    study = load_study(STUDY)
    labels = _labels(locks or [*study.locks, *study.table_locks], fences, isa)
    use = use.at_clock(load_machine(machine).clock_mhz.number)
    settled = settle(use)
    base = Cell(
        machine=machine, isa=isa, flavour=flavour or flavours[0], lock=labels[0].lock, workload=USE,
        parameters={**settled.keys, "on_map": int(not use.given())},
        threads=settled.threads, cancel_latency=latencies.cancel,
    )  # fmt: skip
    for label in labels:
        for one in strata(base):
            check_cell(with_lock(one.cell, label))
    said = use.given()
    whence = dict.fromkeys(said, use.log)
    if use.locks_per_second is not None:
        whence["think"] = "from locks a second"
    inputs = [
        *_latencies(base, latencies, labels),
        *(Input(name, f"{value:,.10g}", ASKED, whence[name]) for name, value in said.items()),
        *(_assumed(base, name, words) for name, words in settled.assumed.items()),
    ]
    limits = {
        label: BROKEN if label.fence == STORE_FORWARD else study.limits[label.lock]
        for label in labels
        if label.fence == STORE_FORWARD or label.lock in study.limits
    }
    return Question(base, labels, latencies, tuple(inputs), limits, use.contended or 0)


def _labels(locks: Sequence[str], fences: Sequence[str], isa: str) -> tuple[LockLabel, ...]:
    """Every lock with each kind of fence: that of its name, or those asked for, or the one that
    runtimes use."""
    refused = ISAS[isa].refused_fence_kinds
    if unknown := [kind for kind in fences if kind not in FENCE_KINDS]:
        raise LockcrossError(
            f"--fences: {unknown[0]!r} is unknown; known are {', '.join(FENCE_KINDS)}"
        )
    found = []
    for name in locks:
        label = check_label(name.removesuffix(f"/{FULL}"))
        kinds = [one for one in load_locks()[label.lock].fence_kinds if one not in refused]
        if "/" in name:
            if label.fence not in kinds:
                raise LockcrossError(f"lock {name}: {isa} has {', '.join(kinds)} only")
            found.append(label)
            continue
        usual = PRODUCTION if PRODUCTION in kinds else FULL
        wanted = [kind for kind in fences if kind in kinds] or [usual]
        found += [LockLabel.of(label.lock, label.variant, kind) for kind in wanted]
    labels = tuple(dict.fromkeys(found))
    if sum(label.fence != STORE_FORWARD for label in labels) < 2:
        raise LockcrossError(
            "--locks: give two locks or more, e.g. --locks thin,reservation; those with store "
            "forwarding do not count, since it orders nothing"
        )
    return labels


def _paid(labels: Sequence[LockLabel]) -> list[str]:
    full = any(
        label.fence == FULL and len(load_locks()[label.lock].fence_kinds) > 1 for label in labels
    )
    stops = any(map(cancels, labels))
    return ["cas_latency", *["fence_latency"] * full, *["cancel_latency"] * stops]


def _latencies(base: Cell, given: Latencies, labels: Sequence[LockLabel]) -> list[Input]:
    """What the processor's latencies rest on."""
    figures = load_machine(base.machine).figures(base.isa)
    found = []
    for axis, option, asked in (
        ("cas_latency", "cas_success", given.cas),
        ("fence_latency", ISAS[base.isa].full_fence, given.fence),
        ("cancel_latency", "charge_stop", given.cancel),
    ):
        if axis not in _paid(labels):
            continue
        figure, value = figures[option], own_latency(base, axis)
        if asked is not None:
            found.append(Input(axis, f"{asked:,} cycles", ASKED, ""))
        elif figure.why is None:
            source = figure.source or ""
            kind = MEASURED if source.startswith("measured") else QUOTED
            found.append(Input(axis, f"{figure.number:,} cycles", kind, source))
        else:
            low, high = _plausible(base, axis, value)
            found.append(Input(axis, f"{figure.number:,} cycles", ASSUMED, figure.why, low, high))
    return found


def _plausible(base: Cell, axis: str, value: int) -> tuple[int, int]:
    """The range of an assumed latency: half to twice; of a cancellation from a handshake, whose
    loads and stores the run makes itself, to the dearest signal that was measured."""
    if axis != "cancel_latency":
        return value // _TWICE, value * _TWICE
    clock = load_machine(base.machine).clock_mhz.number
    signals = [
        one.measured[_SIGNAL].value / one.clock_mhz.number
        for one in map(load_machine, machine_names())
        if _SIGNAL in one.measured
    ]
    return 0, max(value, round(max(signals, default=0) * clock))


def _assumed(base: Cell, name: str, words: str) -> Input:
    """An assumption about the use, with the range within which it may well lie."""
    keys = {key: int(value) for key, value in base.parameters.items()}
    owner = keys["owner_share"]
    ranges: dict[str, tuple[int, int]] = {
        "owner_share": (SHARES // 2, SHARES * 999 // 1000),
        "first_share": (owner // 100, owner),
        "run_length": (LIVES, 100 * LIVES),
        "threads": (2, 8),
        "acquisitions": (10 * LIVES, 100_000 * LIVES),
        "shared_objects": (SHARES // 10_000, SHARES),
        "think": (0, 1_000),
    }
    if name not in ranges or (name != "think" and not keys["shared_objects"]):
        return Input(name, words, ASSUMED, "")
    return Input(name, words, ASSUMED, "", *ranges[name])
