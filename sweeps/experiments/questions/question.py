"""What `advise` is asked: a machine, its locks and how a program uses them; the rest is assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from results.errors import LockcrossError
from results.model.cell import Cell
from results.model.label import LockLabel
from sweeps.experiments.crossover.plan import load_study
from sweeps.experiments.questions.lines import check_cell, check_label, with_lock
from sweeps.model.isa import ISAS
from sweeps.model.machine import load_machine
from sweeps.model.workloads import with_defaults

if TYPE_CHECKING:
    from results.analysis.locality import Pattern

WORKLOAD = "lock_sequence"
STUDY = "crossover"  # whose locks are compared, and whose ties are ties
WHOLE = 1_000_000  # parts of an owner's share
OBJECTS, RUNS = 8, 20
_MOST_RUNS = 200  # where no log asks for more
_EXACT = 1e-3  # of a share
_CONTENDED = 0.02  # a share of operations that bears on the answer
_MOST_PAIRS = 40_000  # of a run: a fraction of a second
DEFAULTS: Mapping[str, tuple[float, str]] = {
    "owner_share": (0.9, "as on the winner map"),
    "run_length": (20, "as on the winner map"),
    "threads": (2, "as on the winner map"),
}


@dataclass(frozen=True)
class Use:
    """How a program uses its locks; None where nobody said. `owner_share`: of acquisitions;
    `run_length`: acquisitions in a row by one thread; `lifetime`: acquisitions of an object for
    each object that another thread takes; `contended`: the share of operations while others wait;
    `log`: the file that says so."""

    owner_share: float | None = None
    run_length: int | None = None
    threads: int | None = None
    lifetime: int | None = None
    contended: float = 0.0
    log: str = ""


def with_log(use: Use, found: "Pattern", name: str) -> Use:
    """What a program's log says, where nothing else was given."""
    alone = found.lifetime is None
    return Use(
        found.owner_share if use.owner_share is None else use.owner_share,
        max(round(found.run_length), 1) if use.run_length is None else use.run_length,
        max(found.threads, 1 if alone else 2) if use.threads is None else use.threads,
        None if found.lifetime is None else round(found.lifetime),
        found.contended, name,
    )  # fmt: skip


@dataclass(frozen=True)
class Latencies:
    """What an atomic, a full fence and stopping a thread take, in cycles as measured there; None:
    the machine's own."""

    cas: int | None = None
    fence: int | None = None
    cancel: int | None = None


@dataclass(frozen=True)
class Question:
    """`base`: the run of the first lock with the machine's own latencies, but for a cancellation's;
    `measured`: the latencies that are to be set so that they measure this. `assumed`: by name,
    value and reason in words; `notes`: sentences beside the answer."""

    base: Cell
    labels: tuple[LockLabel, ...]
    measured: Latencies
    assumed: Mapping[str, str]
    notes: tuple[str, ...] = ()


def ask(
    machine: str, isa: str, flavour: str, locks: Sequence[str], latencies: Latencies, use: Use
) -> Question:
    """The question in terms of cells. Raises LockcrossError for what cannot be run."""
    isa, flavour = _target(machine, isa, flavour)
    assumed: dict[str, str] = {}
    chosen = {}
    for name, (default, reason) in DEFAULTS.items():
        given = getattr(use, name)
        chosen[name] = default if given is None else given
        if given is None:
            assumed[name] = f"{default:g}: {reason}"
    labels = _labels(locks, assumed)
    threads = int(chosen["threads"])
    parameters = _parameters(
        chosen["owner_share"], int(chosen["run_length"]), threads, use, assumed
    )
    base = Cell(
        machine=machine, isa=isa, flavour=flavour, lock=labels[0].lock, workload=WORKLOAD,
        parameters=with_defaults(WORKLOAD, parameters), threads=threads, cancel=latencies.cancel,
    )  # fmt: skip
    for label in labels:
        check_cell(with_lock(base, label))
    _assume_machine(base, latencies, assumed)
    return Question(base, labels, latencies, assumed, _notes(use))


def _notes(use: Use) -> tuple[str, ...]:
    """What a log says that the answer cannot take in."""
    if not use.log:
        return ()
    if use.contended < _CONTENDED:
        return (f"Share, run length and threads are those of {use.log} where none were given.",)
    return (
        f"Mind: {100 * use.contended:.0f} % of the operations in {use.log} meet contention, and "
        "here nobody waits: `./lockcross run --workload threads` shows locks under contention.",
    )


def _target(machine: str, isa: str, flavour: str) -> tuple[str, str]:
    isas = load_machine(machine).isas
    if isa and isa not in isas:
        raise LockcrossError(f"--isa: {isa!r}: machine {machine} is {', '.join(isas)} only")
    isa = isa or isas[0]
    flavours = ISAS[isa].flavours
    if flavour and flavour not in flavours:
        raise LockcrossError(f"--flavour: {flavour!r}: {isa} has {', '.join(flavours)} only")
    return isa, flavour or flavours[0]


def _labels(locks: Sequence[str], assumed: dict[str, str]) -> tuple[LockLabel, ...]:
    study = load_study(STUDY)
    names = list(locks) or [*study.locks, *study.table_locks]
    if not locks:
        assumed["locks"] = f"{', '.join(names)}: those of the main job"
    labels = tuple(dict.fromkeys(map(check_label, names)))
    if len(labels) < 2:
        raise LockcrossError("--locks: give two locks or more, e.g. --locks thin,reservation")
    return labels


def _parameters(
    share: float, run_length: int, threads: int, use: Use, assumed: dict[str, str]
) -> dict[str, int]:
    """The workload's keys. The owner's share must be a whole number of an object's runs, and these
    a divisor of a million, so that the share and its neighbours are exact."""
    if threads == 1 and share < 1:
        raise LockcrossError(
            "--threads 1: with one thread its share is 1; give --owner-share 1 or more threads"
        )
    runs = _runs(share, run_length, use.lifetime)
    owned = runs if share == 1 else min(max(round(share * runs), 1), runs - 1)
    if abs(owned / runs - share) > _EXACT:
        assumed["owner_share"] = (
            f"{owned / runs:.6g} in place of {share:.6g}: {owned} of {runs} runs"
        )
    objects = max(min(OBJECTS, _MOST_PAIRS // (runs * run_length)), 2, threads)
    assumed["runs"] = f"{runs} of each object, {runs * run_length:,} acquisitions"
    if use.lifetime is not None:
        assumed["runs"] += f"; in the log {use.lifetime:,} for each object that changes hands"
    assumed["objects"] = f"{objects}; a lock that cancels does so once for each" * (share < 1) or (
        f"{objects}, none of which changes hands"
    )
    assumed["critical, think"] = "0: nothing is done inside and between the sections"
    assumed["contention"] = "none: no two threads want a lock at once"
    return {
        "objects": objects, "runs": runs, "run_length": run_length,
        "owner_share": owned * (WHOLE // runs), "critical": 0, "think": 0,
    }  # fmt: skip


def _runs(share: float, run_length: int, lifetime: int | None) -> int:
    """How many runs an object has: so many that it is acquired as often as in the log, or as few
    as the share allows."""
    most = max(_MOST_PAIRS // (2 * run_length), RUNS)
    known = [n for n in range(2, most + 1) if WHOLE % n == 0]
    if lifetime is not None:
        return min(known, key=lambda n: (abs(n * run_length - lifetime), n))
    enough = [n for n in known if RUNS <= n <= _MOST_RUNS]
    return min(enough, key=lambda n: (abs(round(share * n) / n - share) > _EXACT, n))


def _assume_machine(base: Cell, latencies: Latencies, assumed: dict[str, str]) -> None:
    """What the machine's file assumes of the latencies that decide."""
    machine = load_machine(base.machine)
    figures = machine.figures(base.isa)
    for name, option, given in (
        ("CAS", "cas_success", latencies.cas),
        ("fence", ISAS[base.isa].full_fence, latencies.fence),
        ("cancellation", "charge_stop", latencies.cancel),
    ):
        figure = figures[option]
        if given is None and figure.why is not None:
            assumed[name] = f"{figure.number} cycles: {figure.why}"
    others = [name for name, figure in figures.items() if figure.why is not None]
    assumed["machine"] = (
        f"{base.machine}: {len(others)} of its {len(figures)} figures are assumptions "
        f"(`./lockcross machines {base.machine}` shows them)"
    )


def settled(question: Question, cas: int | None, fence: int | None) -> Cell:
    """The base with the latencies set that measure as asked."""
    return replace(question.base, cas=cas, fence_latency=fence)
