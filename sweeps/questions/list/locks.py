"""`lockcross locks`: how each lock can be built, its fence kinds by atomic flavour, and why not the
others."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, NamedTuple

from results.errors import check_known
from results.text.rows import Form, Format, Rows, plain, print_parts
from sweeps.cli import options
from sweeps.engines.base import refusal
from sweeps.model.cell import unsupported_reason, usual
from sweeps.model.isa import ISAS
from sweeps.model.locks import FENCE_KINDS, Lock, LockLabel, load_locks
from sweeps.verdicts import read_proofs, standing

_WORKLOAD = "threads"  # runs with any lock, alone or not
_FLAVOURS = tuple((isa.name, flavour) for isa in ISAS.values() for flavour in isa.flavours)
_LEGEND = "f: full fence, r: locked read-modify-write, s: store forwarding; java: wait and notify"
_STANDINGS = (
    f"proof: on {', '.join(ISAS)}; p: every execution of small clients within bounds was looked at "
    "(`./lockcross locks NAME`), a: that, under an assumption of the hardware, n: not proved"
)


def locks(
    name: Annotated[str | None, options.argument("Show all of this one.", options.locks)] = None,
    form: Format = Form.TABLE,
) -> None:
    """List the locks and how each can be built, or one with its source and variants."""
    known = load_locks()
    check_known("lock", [] if name is None else [name], known)
    print_parts(form, *(overview(known.values()) if name is None else details(known[name])))


class Offer(NamedTuple):
    """A lock in one variant. `kinds`: by flavour, the fence kinds it can be built with; `missing`:
    unavailable parts ("fence: rmw on ppc64le") and why, in the order found."""

    label: str
    kinds: dict[str, tuple[str, ...]]
    missing: dict[str, str]


def offers(lock: Lock) -> list[Offer]:
    found = []
    for variant in ("", *lock.variants[1:]):
        offer = Offer(LockLabel.of(lock.name, variant), {}, {})
        for _, flavour in _FLAVOURS:
            kinds = []
            for fence in (kind for kind in FENCE_KINDS if kind in lock.fence_kinds):
                # Why it does not run with one thread, with two, with two on one core.
                built = {"lock": lock.name, "variant": variant, "fence": fence}
                cells = [
                    usual("generic", flavour, _WORKLOAD, {}, threads=threads, cores=cores, **built)
                    for threads, cores in ((1, None), (2, None), (2, 1))
                ]
                reasons = [unsupported_reason(cell) or refusal(cell) for cell in cells]
                if not reasons[0]:
                    kinds.append(fence)
                for reason in filter(None, reasons):
                    what, _, why = reason.rpartition(": ")
                    offer.missing.setdefault(what, why)
            offer.kinds[flavour] = tuple(kinds)
        found.append(offer)
    return found


def overview(known: Iterable[Lock]) -> Iterator[Rows | str]:
    """Yield a row per lock with its default variant's fence kinds; below, the unavailable parts."""
    proofs, records, offered = read_proofs(), list[dict[str, Any]](), list[Offer]()
    for lock in known:
        of_lock = [proof for proof in proofs if proof.lock == lock.name]
        first, *others = offers(lock)
        offered += [first, *others]
        more = [f"variants: {' '.join(lock.variants)}"] if lock.variants else []
        more += [f"ships in: {lock.ships_in}"] if lock.ships_in else []
        records.append(
            {
                "lock": lock.name,
                "java": "yes" if lock.java else "no",
                "threads": lock.threads or "any",
                **{
                    " ".join(place): "".join(kind[0] for kind in first.kinds[place[1]])
                    for place in _FLAVOURS
                },
                "proof": " ".join(
                    standing(of_lock, LockLabel(lock.name), isa).kind[0] for isa in ISAS
                ),
                "summary": "\n".join([lock.summary, *more]),
            }
        )
    # The heads of the flavours have two lines: one of them is called as the column of locks.
    of_flavours = {"\n".join(place): f"{{{' '.join(place)}}}" for place in _FLAVOURS}
    yield Rows(records, plain("lock", "java", "threads") | of_flavours | plain("proof", "summary"))
    yield _LEGEND
    yield _STANDINGS
    yield "not available:"
    for (what, why), labels in _missing(offered).items():
        yield f"  {what} ({', '.join(labels)}): {why}"


def details(lock: Lock) -> Iterator[Rows | str]:
    yield f"{lock.name}: {lock.paper_name}; {lock.source}"
    yield lock.summary
    if lock.ships_in:
        yield f"ships in: {lock.ships_in}"
    yield f"object header: {8 + 8 * lock.words} bytes; threads: {lock.threads or 'any number'}"
    yield "wait, notify, notify_all: " + ("yes" if lock.java else "none")
    for number, variant in enumerate(lock.variant_lines):
        yield f"variant {variant.name}{'' if number else ' (the default)'}: {variant.summary}"
    proofs, offered, records = read_proofs(), offers(lock), []
    for offer in offered:
        kinds = {f"{isa} {flavour}": offer.kinds[flavour] for isa, flavour in _FLAVOURS}
        records.append({"variant": offer.label} | {k: " ".join(v) for k, v in kinds.items()})
        for isa in ISAS.values():
            for fence in sorted(
                {kind for flavour in isa.flavours for kind in offer.kinds[flavour]}
            ):
                label = LockLabel.of(lock.name, LockLabel(offer.label).variant, fence)
                rests = standing(proofs, label, isa.name)
                yield ": ".join(filter(None, [f"{label} on {isa.name}", rests.kind, rests.words]))
    yield Rows(records, heads={"variant": {"no_wrap": True}})
    for (what, why), labels in _missing(offered).items():
        whose = "" if len(labels) == len(offered) else f" ({', '.join(labels)})"
        yield f"not available: {what}{whose}: {why}"


def _missing(offers: Iterable[Offer]) -> dict[tuple[str, str], list[str]]:
    """Return the unavailable parts and why: the labels that this holds for."""
    labels: dict[tuple[str, str], list[str]] = {}
    for offer in offers:
        for place in offer.missing.items():
            labels.setdefault(place, []).append(offer.label)
    return labels
