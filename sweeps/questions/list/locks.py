"""How each lock can be built: its fence kinds by atomic flavour, and why not the others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from rich.table import Column, Table

from proofs.stored import read_proofs, standing
from sweeps.engines import refusal
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.cells import unsupported_reason
from sweeps.model.isa import FENCE_KINDS, ISAS
from sweeps.model.label import LockLabel
from sweeps.model.locks import Lock
from sweeps.model.workloads import with_defaults

_WORKLOAD = "threads"  # runs with any lock, alone or not
_FLAVOURS = tuple((isa.name, flavour) for isa in ISAS.values() for flavour in isa.flavours)
_SHORT = {"full": "f", "rmw": "r", "store_forward": "s"}
_LEGEND = "f: full fence, r: locked read-modify-write, s: store forwarding; java: wait and notify"
_STANDINGS = (
    f"proof: on {', '.join(ISAS)}; p: every execution of small clients within bounds was looked at "
    "(`./lockcross locks NAME`), a: that, under an assumption of the hardware, t: tested only"
)


@dataclass(frozen=True)
class Offer:
    """A lock in one variant. `kinds`: by flavour, the fence kinds it can be built with; `missing`:
    what is not available ("fence: rmw on ppc64le") and why, in the order found."""

    label: LockLabel
    kinds: dict[str, tuple[str, ...]]
    missing: dict[str, str]


def offers(lock: Lock) -> list[Offer]:
    """One for each variant of a lock, its default first."""
    return [_offer(lock, variant) for variant in ("", *lock.variants[1:])]


def _offer(lock: Lock, variant: str) -> Offer:
    offer = Offer(LockLabel.of(lock.name, variant), {}, {})
    for isa, flavour in _FLAVOURS:
        kinds = []
        for fence in (kind for kind in FENCE_KINDS if kind in lock.fence_kinds):
            reasons = list(_reasons(lock, variant, isa, flavour, fence))
            if not reasons[0]:
                kinds.append(fence)
            for reason in filter(None, reasons):
                what, _, why = reason.rpartition(": ")
                offer.missing.setdefault(what, why)
        offer.kinds[flavour] = tuple(kinds)
    return offer


def _reasons(lock: Lock, variant: str, isa: str, flavour: str, fence: str) -> Iterator[str]:
    """Why it does not run with one thread, with two, with two on one core; "" where it does."""
    parameters = with_defaults(_WORKLOAD, {})
    for threads, cores in ((1, None), (2, None), (2, 1)):
        cell = Cell(
            engine=engines.DEFAULT, machine="generic", isa=isa, flavour=flavour, lock=lock.name,
            variant=variant, fence=fence, workload=_WORKLOAD, threads=threads, cores=cores,
            parameters=parameters,
        )  # fmt: skip
        yield unsupported_reason(cell) or refusal(cell)


def overview(locks: Iterable[Lock]) -> Iterator[Table | str]:
    """A row a lock with the fence kinds of its default variant; below, what is not available."""
    columns = map("\n".join, _FLAVOURS)  # one is called as the column of locks
    table = Table("lock", "java", "threads", *columns, "proof", "summary", box=None)
    proofs = read_proofs()
    every: list[Offer] = []
    for lock in locks:
        of_lock = offers(lock)
        every += of_lock
        given = ["".join(map(_SHORT.__getitem__, kinds)) for kinds in of_lock[0].kinds.values()]
        summary = lock.summary + f"\nvariants: {' '.join(lock.variants)}" * bool(lock.variants)
        java, most = "yes" if lock.java else "no", str(lock.threads or "any")
        own = [one for one in proofs if one.lock == lock.name]
        rests = " ".join(standing(own, LockLabel(lock.name), isa).kind[0] for isa in ISAS)
        table.add_row(lock.name, java, most, *given, rests, summary)
    yield table
    yield _LEGEND
    yield _STANDINGS
    yield "not available:"
    for (what, why), labels in _missing(every).items():
        yield f"  {what} ({', '.join(labels)}): {why}"


def details(lock: Lock) -> Iterator[Table | str]:
    """Everything the registry says about a lock."""
    yield f"{lock.name}: {lock.paper_name}; {lock.source}"
    yield lock.summary
    yield f"object header: {8 + 8 * lock.words} bytes; threads: {lock.threads or 'any number'}"
    yield "wait, notify, notify_all: " + ("yes" if lock.java else "none")
    for number, variant in enumerate(lock.variant_lines):
        yield f"variant {variant.name}{'' if number else ' (the default)'}: {variant.summary}"
    of_lock, proofs = offers(lock), read_proofs()
    for offer, isa in product(of_lock, ISAS.values()):  # what it rests on, as it is built
        for fence in sorted({kind for one in isa.flavours for kind in offer.kinds[one]}):
            label = LockLabel.of(lock.name, offer.label.variant, fence)
            rests = standing(proofs, label, isa.name)
            words = f": {rests.words}" if rests.words else ""
            yield f"{label} on {isa.name}: {rests.kind}{words}"
    first = Column("variant", no_wrap=True)
    table = Table(first, *(f"{isa} {flavour}" for isa, flavour in _FLAVOURS), box=None)
    for offer in of_lock:
        table.add_row(offer.label, *(" ".join(kinds) for kinds in offer.kinds.values()))
    yield table
    for (what, why), labels in _missing(of_lock).items():
        whose = "" if len(labels) == len(of_lock) else f" ({', '.join(labels)})"
        yield f"not available: {what}{whose}: {why}"


def _missing(every: Iterable[Offer]) -> dict[tuple[str, str], list[str]]:
    """What is not available and why: the labels that this holds for."""
    labels: dict[tuple[str, str], list[str]] = {}
    for offer in every:
        for place in offer.missing.items():
            labels.setdefault(place, []).append(offer.label)
    return labels
