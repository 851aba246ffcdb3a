"""Facts that a database keeps beside its runs, for figures and tables."""

from collections.abc import Iterable

from results.store.store import Store
from sweeps.model.isa import ISAS
from sweeps.model.machine import HOST
from sweeps.run.runner import record_of
from sweeps.search.found import ISA, IsaFact


def store_isas(store: Store) -> None:
    """Keeps the titles of the ISAs and the mnemonics of their full fences."""
    for isa in ISAS.values():
        mnemonic = isa.full_fence.removeprefix("fence_")
        ISA.of(isa.name).write(store, IsaFact(title=isa.title, full_fence=mnemonic))


def store_machines(store: Store, names: Iterable[str]) -> None:
    """Keeps machines as they are described now."""
    for name in sorted(set(names) - {HOST}):
        store.set_machine(record_of(name))
