"""What `advise` is asked: a machine, its locks and how a program uses them, as people state it and
as the whole numbers that runs are made from; the rest is assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from results.errors import LockcrossError, check_known
from sweeps.model.axes import QUANTITIES
from sweeps.model.cell import Cell, usual
from sweeps.model.isa import ISAS
from sweeps.model.locks import FENCE_KINDS, FULL, LockLabel, cancels, load_locks
from sweeps.model.machine import Machine, load_machine, machine_names
from sweeps.plans.study import load_study
from sweeps.questions.advise.program import Program
from sweeps.questions.advise.strata import LIVES, PARTS, SHARES, USE, strata
from sweeps.search.lines import check_cell, check_label, own_latency, with_lock

if TYPE_CHECKING:
    from sweeps.search.locality import Pattern

STUDY = "crossover"  # whose locks are compared, and whose ties are ties
# How an input of an answer is known.
ASKED, MEASURED, QUOTED, ASSUMED = "asked", "measured", "quoted", "assumed"
STORE_FORWARD = "store_forward"  # fences of this kind are in no recommendation
_BROKEN = "store forwarding orders nothing on the processors that were tried: not to be used"
_PROCESS_WIDE = "membarrier"  # fences that the other side makes
_PRODUCTION = "rmw"  # how runtimes order a store before a load where a locked operation does it
_TWICE = 2  # an assumed latency may be half of it, or twice
_SIGNAL = "stop_by_signal"  # a figure of measured machines
_MOST_WORK = 100_000  # cycles between two sections
_LOGGED_WORK = 300  # cycles, of those that a log has: further ones change no cost of a lock
_LOGGED_THREADS = 8  # of those that a log has: locks cost the same with more, but for waiting
_MAP = ": as on the winner map"
_USUAL = {
    "owner_share": (0.9, _MAP),
    "run_length": (20, _MAP),
    "threads": (2, _MAP),
    "acquisitions": (
        369,
        " of an object: median of the ten programs of Kawachiya 2005, Tables 5.2 and 5.3",
    ),
}
_FEWEST_RUNS = 20  # of an object, as on the winner map
_MOST_RUNS = 200  # looked at for one of which the share is a whole number of runs
_APART = 0.005  # of what is given twice: a number of three digits
_LEAST = 1e-6  # of a share that is not zero


@dataclass(frozen=True)
class Use:
    """What is asked of the program; None where nobody said.

    shared_objects: share of the objects that another thread ever takes than their first, their
    owner. acquisitions: outermost ones of an object, in the mean of all; shared_acquisitions: of
    those that are shared. per_cancellation: acquisitions of all objects for each that is shared.
    owner_share: of all acquisitions, by the owner; first_share: of those of shared objects, by the
    owner before anybody else's. run_length: others' acquisitions in a row. nested: share of all
    acquisitions. contended: share of them that find the lock held, or others waiting. critical,
    think: cycles inside and between sections; locks_per_second: acquisitions a second of CPU time,
    from which think follows with a clock. `log`: the file that says so, `program`: what it says of
    the program's CPU time, `log_threads`: of its threads.
    """

    threads: int | None = None
    shared_objects: float | None = None
    acquisitions: float | None = None
    shared_acquisitions: float | None = None
    per_cancellation: float | None = None
    owner_share: float | None = None
    first_share: float | None = None
    run_length: float | None = None
    nested: float | None = None
    contended: float | None = None
    critical: int | None = None
    think: int | None = None
    locks_per_second: float | None = None
    log: str = ""
    log_threads: int = 0
    program: Program | None = None
    beside: frozenset[str] = frozenset()  # what was given, not read from the log

    def at_clock(self, mhz: float) -> "Use":
        """The use on a processor of a clock: how long the program works between sections. Raises
        LockcrossError for what cannot be run."""
        if self.locks_per_second is None:
            if self.program is None or self.think is not None:
                return self
            left = round(mhz * 1e6 * self.program.between) - (self.critical or 0)
            return replace(self, think=min(max(left, 0), _LOGGED_WORK))
        whole = mhz * 1e6 / self.locks_per_second
        left = round(whole - (self.critical or 0))
        if not 0 <= left <= _MOST_WORK:
            raise LockcrossError(
                f"--locks-per-second {self.locks_per_second:g}: that is {whole:,.0f} cycles for "
                f"each at {mhz:,.0f} MHz; between {self.critical or 0:,} (--critical) and "
                f"{_MOST_WORK:,} can be run"
            )
        return replace(self, think=left)

    def with_log(self, pattern: "Pattern", name: str, program: Program | None = None) -> "Use":
        """What a program's log says, but for what was given beside it."""
        said = dict(vars(pattern))
        # What happens less than once in a million times is no part of what can be run.
        for share in ("nested", "contended"):
            said[share] *= said[share] >= _LEAST
        if min(pattern.shared_objects, 1 - pattern.owner_share) < _LEAST:
            said |= {"shared_objects": 0.0, "owner_share": 1.0}
        if said["shared_objects"]:
            said["first_share"] = min(max(pattern.first_share, _LEAST), 1 - _LEAST)
            said["threads"] = min(max(pattern.threads, 2), _LOGGED_THREADS)
        else:
            del said["shared_acquisitions"], said["first_share"], said["run_length"]
            said["threads"] = min(pattern.threads, _LOGGED_THREADS)
        beside = self.given()
        return Use(
            **said | beside,
            log=name,
            log_threads=pattern.threads,
            program=program,
            beside=frozenset(beside),
        )

    def given(self) -> dict[str, float]:
        """What was said, by name."""
        about = ("log", "log_threads", "program", "beside")
        names = (one.name for one in fields(self) if one.name not in about)
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Settled:
    """A use with all that follows from it or must be assumed. Raises LockcrossError for what
    contradicts itself.

    `keys`: in whole numbers, of what is in PARTS so many parts; acquisitions are of a shared
    object, local_acquisitions of another, first_share of a shared object's acquisitions (-1 where
    others' runs are evenly spread, each behind an equal part of the owner's); critical and think in
    cycles. `assumed`: what nobody said, in words.
    """

    def __init__(self, use: Use) -> None:
        self._use = use
        self.assumed: dict[str, str] = {}
        self.threads = int(self._said_or_usual("threads"))
        self._check_alone()
        if use.shared_objects == 0 or use.owner_share == 1 or self.threads == 1:
            mean = _exact(self._said_or_usual("acquisitions"))
            exact = {
                "shared_objects": Fraction(0),
                "acquisitions": mean,
                "local_acquisitions": mean,
                "owner_share": Fraction(1),
                "run_length": Fraction(1),
            }
        else:
            exact = self._shared()
        for name, words in (
            ("critical", "0 cycles: the program does nothing there"),
            ("think", "0 cycles: the program does nothing there"),
            ("contended", "0: no two threads want a lock at once"),
            ("nested", "0: no thread takes a lock that it holds"),
        ):
            if getattr(use, name) is None:
                self.assumed[name] = words
        exact["nested"] = _exact(use.nested or 0)
        self.keys = {
            name: round(exact[name] * whole) if name in exact else -1
            for name, whole in PARTS.items()
        } | {"critical": use.critical or 0, "think": use.think or 0}

    def _said_or_usual(self, name: str) -> float:
        said: float | None = getattr(self._use, name)
        if said is not None:
            return said
        value, words = _USUAL[name]
        self.assumed[name] = f"{value:g}{words}"
        return value

    def _check_alone(self) -> None:
        use = self._use
        for name in ("shared_objects", "owner_share", "first_share", "nested", "contended"):
            share = getattr(use, name)
            if share is not None and 0 < min(share, 1 - share) < _LEAST:
                raise LockcrossError(
                    f"--{name.replace('_', '-')} {share:g}: shares are exact to {_LEAST:g}; give "
                    "0, 1 or what lies further inside"
                )
        others = (use.owner_share or 1) < 1
        shared = bool(use.shared_objects) or use.per_cancellation is not None
        for wrong, words in (
            (
                self.threads == 1 and (shared or others),
                "--threads 1: with one thread nothing is shared; give more threads, or "
                "--shared-objects 0",
            ),
            (
                self.threads == 1 and use.contended,
                "--contended: one thread never waits; give --threads 2 or more",
            ),
            (
                use.shared_objects == 0 and (others or use.per_cancellation),
                "--shared-objects 0: then every acquisition is the owner's; leave out "
                "--owner-share and --per-cancellation",
            ),
            (
                use.owner_share == 1 and use.shared_objects,
                "--owner-share 1: then no object is shared; leave out --shared-objects",
            ),
        ):
            if wrong:
                raise LockcrossError(words)

    def _shared(self) -> dict[str, Fraction]:
        """The exact keys of objects some or all of which change hands."""
        share, mean = self._share_and_mean()
        length = _exact(self._said_or_usual("run_length"))
        if share == 1:
            owner = _exact(self._said_or_usual("owner_share"))
            life = local = self._life(owner, length) if mean is None else mean
            foreign = life * (1 - owner)
        else:
            mean = _exact(self._said_or_usual("acquisitions")) if mean is None else mean
            foreign, life = self._foreign_and_life(share, mean)
            local = (mean - share * life) / (1 - share)
            if local < 1:
                raise LockcrossError(
                    f"the shared objects alone have {float(share * life):.4g} acquisitions for "
                    f"each object, of {float(mean):.4g} in all: too few are left for the others; "
                    "give more --acquisitions, or a larger --owner-share"
                )
        exact = {
            "shared_objects": share,
            "acquisitions": life,
            "local_acquisitions": local,
            "owner_share": 1 - foreign / life,
            "run_length": self._fitting(length, foreign, life),
        }
        if (said := self._use.first_share) is None:
            self.assumed["first_share"] = (
                "others come evenly spread, each time behind an equal part of the owner's"
            )
            return exact
        if _exact(said) * life + foreign > life:
            raise LockcrossError(
                f"--first-share {said:g}: with the owner's share there are "
                f"{float(1 - foreign / life):.6g} of a shared object's acquisitions at most"
            )
        return exact | {"first_share": _exact(said)}

    def _share_and_mean(self) -> tuple[Fraction, Fraction | None]:
        """The share of objects that are shared, and the mean acquisitions of an object where
        somebody said them."""
        use = self._use
        share, mean, each = use.shared_objects, use.acquisitions, use.per_cancellation
        if each is None or mean is None:
            if share is None:
                self.assumed["shared_objects"] = "1: every object is taken by another thread"
                share = 1.0
            if each is not None:
                return _exact(share), _exact(share) * _exact(each)
            return _exact(share), None if mean is None else _exact(mean)
        if share is None:
            if each < mean:
                raise LockcrossError(
                    f"--per-cancellation {each:g}: less than --acquisitions {mean:g} of one object"
                )
            return _exact(mean) / _exact(each), _exact(mean)
        if abs(mean / share - each) > _APART * each:
            raise LockcrossError(
                f"--per-cancellation {each:g}: --acquisitions {mean:g} and --shared-objects "
                f"{share:g} make it {mean / share:.6g}; leave one of them out"
            )
        return _exact(share), _exact(mean)

    def _life(self, owner: Fraction, length: Fraction) -> Fraction:
        """Acquisitions of each object where all are shared and nobody said how many: so few that
        the share is a whole number of runs, if there is such a number."""
        enough = range(_FEWEST_RUNS, _MOST_RUNS + 1)
        whole = [runs for runs in enough if (owner * runs).denominator == 1 and owner * runs < runs]
        runs = Fraction(whole[0]) if whole else max(Fraction(_FEWEST_RUNS), 1 / (1 - owner))
        self.assumed["acquisitions"] = (
            f"{float(runs * length):,.6g} of an object, {float(runs * (1 - owner)):.4g} runs of "
            "which are others'"
        )
        return runs * length

    def _foreign_and_life(self, share: Fraction, mean: Fraction) -> tuple[Fraction, Fraction]:
        """Others' acquisitions of each shared object and all of them, where some are not shared."""
        owner, said = self._use.owner_share, self._use.shared_acquisitions
        if owner is not None:
            foreign = (1 - _exact(owner)) * mean / share
        else:
            usual = _exact(_USUAL["owner_share"][0])
            self.assumed["owner_share"] = (
                f"{float(usual):g} of a shared object: as on the winner map"
            )
            foreign = (mean if said is None else _exact(said)) * (1 - usual)
        if said is None:
            life = max(mean, 2 * foreign)
            like = "as of all" if life == mean else "twice those of others"
            self.assumed["shared_acquisitions"] = f"{float(life):,.6g} of a shared object: {like}"
            return foreign, life
        if _exact(said) <= foreign:
            raise LockcrossError(
                f"--shared-acquisitions {said:g}: others alone make {float(foreign):.6g} of them, "
                "by --owner-share"
            )
        return foreign, _exact(said)

    def _fitting(self, length: Fraction, foreign: Fraction, life: Fraction) -> Fraction:
        """A run is no longer than all that others do with an object; they take it once at least,
        and its owner, who is its first, too."""
        all_of_them = f"others make {float(foreign):.4g} acquisitions of a shared object: "
        if foreign < 1:
            raise LockcrossError(
                f"{all_of_them}it is not shared with less than one; say that fewer are "
                "(--shared-objects), that objects live longer (--acquisitions), or that others "
                "take more (--owner-share)"
            )
        if life - foreign < 1:
            raise LockcrossError(
                f"{all_of_them}of {float(life):.4g} in all its owner makes less than one, the "
                "first; give more --acquisitions or a larger --owner-share"
            )
        if length <= foreign:
            return length
        if self._use.run_length is not None:
            raise LockcrossError(
                f"--run-length {self._use.run_length:g}: {all_of_them}give {float(foreign):.4g} at "
                "most, or longer lives (--acquisitions)"
            )
        self.assumed["run_length"] = f"{float(foreign):.4g}: all that others do with an object"
        return foreign


def _exact(value: float) -> Fraction:
    """A number as people write it: 0.9 is nine tenths, and a third one."""
    return Fraction(value).limit_denominator(10**9)


@dataclass(frozen=True)
class Input:
    """What an answer rests on: its name (of an axis, where it is one), its value in words, how it
    is known and whence. `low` and `high`: the range of an assumption, in the terms of its axis;
    None where none is known."""

    name: str
    value: str
    kind: str
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Question:
    """`base`: the use (a cell of workload USE) of the first lock, with the machine's own
    latencies, but for a cancellation's; `searched`: the labels that what would change the
    answer is searched among, beside the cheapest; `measured`: the latencies, in cycles by their
    axes, that are to be set so that they measure this. `inputs`: what the answer rests on;
    `limits`: of locks that cannot replace all others, what they cannot do. `contended`: the
    share of acquisitions that find the lock held; what they cost is answered beside the rest.
    `program`: whose use it is, where it was recorded."""

    base: Cell
    labels: tuple[LockLabel, ...]
    searched: tuple[LockLabel, ...]
    measured: Mapping[str, int]
    inputs: tuple[Input, ...]
    limits: Mapping[LockLabel, str]
    contended: float = 0.0
    program: Program | None = None

    @property
    def latencies(self) -> list[str]:
        """The axes of the latencies that any of its locks pays."""
        return _paid(self.labels)


def ask(
    machine: str,
    isa: str,
    flavour: str,
    locks: Sequence[str],
    fences: Sequence[str],
    latencies: Mapping[str, int | None],
    use: Use,
) -> Question:
    """The question in terms of cells. `latencies`: by their axes, cycles as measured on the
    processor, of a cancellation as set; what is not given is the machine's own. Raises
    LockcrossError for what cannot be run."""
    described = load_machine(machine)
    isa = isa or described.isas[0]
    if isa not in described.isas:
        only = ", ".join(described.isas)
        raise LockcrossError(f"--isa: {isa!r}: machine {machine} is {only} only")
    flavours = ISAS[isa].flavours
    if flavour and flavour not in flavours:
        raise LockcrossError(f"--flavour: {flavour!r}: {isa} has {', '.join(flavours)} only")
    study = load_study(STUDY)
    asked = use.given()
    use = use.at_clock(described.clock_mhz.number)
    settled, said = Settled(use), use.given()
    compared = locks or [*study.locks, *study.table_locks]
    searched = labels = _labels(compared, fences, isa)
    if said and not locks:
        labels = _labels([*compared, *runtime_locks(described, isa)], fences, isa)
    base = usual(
        machine,
        flavour or flavours[0],
        USE,
        {**settled.keys, "on_map": int(not said)},
        lock=labels[0].lock,
        threads=settled.threads,
        cancel_latency=latencies.get("cancel_latency"),
    )
    for label in labels:
        for stratum in strata(base):
            check_cell(with_lock(stratum.cell, label))
    measured = {axis: cycles for axis, cycles in latencies.items() if cycles is not None}
    source = {name: "" if name in use.beside else use.log for name in said}
    if use.log_threads > _LOGGED_THREADS and source.get("threads"):
        source["threads"] += f", which has {use.log_threads}"
    if use.program is not None and "think" not in asked:
        clock = described.clock_mhz.number * 1e6
        whole = clock * use.program.between
        source["think"] = f"{use.log}: {whole:,.0f} cycles of CPU time for each"
        if use.program.own:
            source["think"] += f", without {clock * use.program.own:,.0f} of its own lock"
        if whole > _LOGGED_WORK:
            source["think"] += f"; beyond {_LOGGED_WORK} they change no cost of a lock"
    if use.locks_per_second is not None:
        source["think"] = "from locks a second"
    inputs = (
        *(_latency(base, axis, measured.get(axis)) for axis in _paid(labels)),
        *(Input(name, f"{value:,.10g}", ASKED, source[name]) for name, value in said.items()),
        *(_assumed(base, name, words) for name, words in settled.assumed.items()),
    )
    limits = {
        label: _BROKEN if label.fence == STORE_FORWARD else study.limits[label.lock]
        for label in labels
        if label.fence == STORE_FORWARD or label.lock in study.limits
    }
    contended = use.contended or 0
    return Question(base, labels, searched, measured, inputs, limits, contended, use.program)


def runtime_locks(machine: Machine, isa: str) -> list[str]:
    """The Java locks that today's runtimes ship, and an asymmetric lock whose owner has no fence,
    as runtimes have them where they are not locks, if the machine says what that costs."""
    shipped = [lock.name for lock in load_locks().values() if lock.ships_in and lock.java]
    barrier = "charge_barrier" in machine.figures(isa)
    return [*shipped, *[f"asym_tasuki/{_PROCESS_WIDE}"] * barrier]


def _labels(locks: Sequence[str], fences: Sequence[str], isa: str) -> tuple[LockLabel, ...]:
    """Every lock with each kind of fence: that of its name, or those asked for, or the one that
    runtimes use."""
    refused = ISAS[isa].refused_fence_kinds
    check_known("--fences:", fences, FENCE_KINDS)
    labels = []
    for name in locks:
        label = check_label(name.removesuffix(f"/{FULL}"))
        kinds = [kind for kind in load_locks()[label.lock].fence_kinds if kind not in refused]
        if "/" in name:
            if label.fence not in kinds:
                raise LockcrossError(f"lock {name}: {isa} has {', '.join(kinds)} only")
            wanted = [label.fence]
        else:
            usual = _PRODUCTION if _PRODUCTION in kinds else FULL
            wanted = [kind for kind in fences if kind in kinds] or [usual]
        labels += [LockLabel.of(label.lock, label.variant, kind) for kind in wanted]
    if sum(label.fence != STORE_FORWARD for label in dict.fromkeys(labels)) < 2:
        raise LockcrossError(
            "--locks: give two locks or more, e.g. --locks thin,reservation; those with store "
            "forwarding do not count, since it orders nothing"
        )
    return tuple(dict.fromkeys(labels))


def _paid(labels: Sequence[LockLabel]) -> list[str]:
    full = any(
        label.fence == FULL and len(load_locks()[label.lock].fence_kinds) > 1 for label in labels
    )
    stops = any(map(cancels, labels))
    return ["cas_latency", *["fence_latency"] * full, *["cancel_latency"] * stops]


def _latency(base: Cell, axis: str, asked: int | None) -> Input:
    """What a latency of the processor rests on. An assumed one may be half of it or twice; a
    cancellation from a handshake, whose loads and stores the run makes itself, to the dearest
    signal that was measured."""
    if asked is not None:
        return Input(axis, f"{asked:,} cycles", ASKED, "")
    machine, value = load_machine(base.machine), own_latency(base, axis)
    figure = machine.figures(base.isa)[QUANTITIES[axis].figure or ISAS[base.isa].full_fence]
    words = f"{figure.number:,} cycles"
    if figure.why is None:
        source = figure.source or ""
        return Input(axis, words, MEASURED if source.startswith(MEASURED) else QUOTED, source)
    if axis != "cancel_latency":
        return Input(axis, words, ASSUMED, figure.why, value // _TWICE, value * _TWICE)
    signals = [
        known.measured[_SIGNAL].value / known.clock_mhz.number
        for known in map(load_machine, machine_names())
        if _SIGNAL in known.measured
    ]
    dearest = round(max(signals, default=0) * machine.clock_mhz.number)
    return Input(axis, words, ASSUMED, figure.why, 0, max(value, dearest))


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
    }
    # What is of no shared object has no range in a use without any.
    ranges = {"think": (0, 1_000), **(ranges if keys["shared_objects"] else {})}
    return Input(name, words, ASSUMED, "", *ranges.get(name, (None, None)))
