"""How each lock can be built: its fence kinds by atomic flavour, and why not the others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from proofs.stored import read_proofs, standing
from results.text.rows import Rows
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

    label: str
    kinds: dict[str, tuple[str, ...]]
    missing: dict[str, str]


def offers(lock: Lock) -> list[Offer]:
    """One for each variant of a lock, its default first."""
    parameters = with_defaults(_WORKLOAD, {})
    every = []
    for variant in ("", *lock.variants[1:]):
        offer = Offer(LockLabel.of(lock.name, variant), {}, {})
        for isa, flavour in _FLAVOURS:
            kinds = []
            for fence in (kind for kind in FENCE_KINDS if kind in lock.fence_kinds):
                # Why it does not run with one thread, with two, with two on one core.
                cells = [
                    Cell(
                        engine=engines.DEFAULT, machine="generic", isa=isa, flavour=flavour,
                        lock=lock.name, variant=variant, fence=fence, workload=_WORKLOAD,
                        threads=threads, cores=cores, parameters=parameters,
                    )
                    for threads, cores in ((1, None), (2, None), (2, 1))
                ]  # fmt: skip
                reasons = [unsupported_reason(cell) or refusal(cell) for cell in cells]
                if not reasons[0]:
                    kinds.append(fence)
                for reason in filter(None, reasons):
                    what, _, why = reason.rpartition(": ")
                    offer.missing.setdefault(what, why)
            offer.kinds[flavour] = tuple(kinds)
        every.append(offer)
    return every


def overview(locks: Iterable[Lock]) -> Iterator[Rows | str]:
    """A row a lock with the fence kinds of its default variant; below, what is not available."""
    proofs, records = read_proofs(), list[dict[str, Any]]()
    every: list[Offer] = []
    for lock in locks:
        found = offers(lock)
        every += found
        given = {
            " ".join(place): "".join(_SHORT[kind] for kind in found[0].kinds[place[1]])
            for place in _FLAVOURS
        }
        said = [lock.summary, *(["variants: " + " ".join(lock.variants)] if lock.variants else [])]
        own = [one for one in proofs if one.lock == lock.name]
        rests = " ".join(standing(own, LockLabel(lock.name), isa).kind[0] for isa in ISAS)
        records.append({
            "lock": lock.name, "java": "yes" if lock.java else "no",
            "threads": lock.threads or "any", **given, "proof": rests, "summary": "\n".join(said),
        })  # fmt: skip
    # The heads of the flavours have two lines: one of them is called as the column of locks.
    of_flavours = {"\n".join(place): f"{{{' '.join(place)}}}" for place in _FLAVOURS}
    before, behind = (
        {name: f"{{{name}}}" for name in names}
        for names in (("lock", "java", "threads"), ("proof", "summary"))
    )
    yield Rows(records, before | of_flavours | behind)
    yield _LEGEND
    yield _STANDINGS
    yield "not available:"
    for (what, why), labels in _missing(every).items():
        yield f"  {what} ({', '.join(labels)}): {why}"


def details(lock: Lock) -> Iterator[Rows | str]:
    """Everything the registry says about a lock."""
    yield f"{lock.name}: {lock.paper_name}; {lock.source}"
    yield lock.summary
    yield f"object header: {8 + 8 * lock.words} bytes; threads: {lock.threads or 'any number'}"
    yield "wait, notify, notify_all: " + ("yes" if lock.java else "none")
    for number, variant in enumerate(lock.variant_lines):
        yield f"variant {variant.name}{'' if number else ' (the default)'}: {variant.summary}"
    yield from _standings(lock)
    found = offers(lock)
    records = [
        {"variant": offer.label}
        | {f"{isa} {flavour}": " ".join(offer.kinds[flavour]) for isa, flavour in _FLAVOURS}
        for offer in found
    ]
    yield Rows(records, heads={"variant": {"no_wrap": True}})
    for (what, why), labels in _missing(found).items():
        whose = "" if len(labels) == len(found) else f" ({', '.join(labels)})"
        yield f"not available: {what}{whose}: {why}"


def _standings(lock: Lock) -> Iterator[str]:
    """What the correctness of a lock rests on, as it is built for each ISA."""
    proofs = read_proofs()
    for offer in offers(lock):
        for isa in ISAS.values():
            kinds = {kind for flavour in isa.flavours for kind in offer.kinds[flavour]}
            for fence in sorted(kinds):
                label = LockLabel.of(lock.name, LockLabel(offer.label).variant, fence)
                rests = standing(proofs, label, isa.name)
                yield f"{label} on {isa.name}: {rests.kind}" + f": {rests.words}" * bool(
                    rests.words
                )


def _missing(found: Iterable[Offer]) -> dict[tuple[str, str], list[str]]:
    """What is not available and why: the labels that this holds for."""
    labels: dict[tuple[str, str], list[str]] = {}
    for offer in found:
        for place in offer.missing.items():
            labels.setdefault(place, []).append(offer.label)
    return labels
