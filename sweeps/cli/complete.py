"""What a shell completes where an option or argument takes a name."""

from collections.abc import Iterable


def machines(incomplete: str) -> list[str]:
    """Machines of the tree; a shell completes files by itself."""
    from sweeps.model.machine import machine_names

    return beginning(machine_names(), incomplete)


def locks(incomplete: str) -> list[str]:
    """Locks."""
    from sweeps.model.locks import load_locks

    return beginning(load_locks(), incomplete)


def several_locks(incomplete: str) -> list[str]:
    """Locks with commas between them: the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in locks(last)]


def several_machines(incomplete: str) -> list[str]:
    """Machines with commas between them: the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in machines(last)]


def workloads(incomplete: str) -> list[str]:
    """Workloads."""
    from sweeps.model.workloads import WORKLOADS

    return beginning(WORKLOADS, incomplete)


def plans(incomplete: str) -> list[str]:
    """Plans of the tree."""
    from sweeps.plans.sweep import plan_names

    return beginning(plan_names(), incomplete)


def studies(incomplete: str) -> list[str]:
    """Studies of the tree."""
    from sweeps.support.paths import STUDIES
    from sweeps.support.toml import names

    return beginning(names(STUDIES), incomplete)


def validations(incomplete: str) -> list[str]:
    """Validations of the tree."""
    from sweeps.support.paths import VALIDATIONS
    from sweeps.support.toml import names

    return beginning(names(VALIDATIONS), incomplete)


def queries(incomplete: str) -> list[str]:
    """Named queries."""
    from results.store.queries import named_queries

    return beginning(named_queries(), incomplete)


def isas(incomplete: str) -> list[str]:
    """Instruction sets."""
    from sweeps.model.isa import ISAS

    return beginning(ISAS, incomplete)


def flavours(incomplete: str) -> list[str]:
    """Atomic flavours of all instruction sets."""
    from sweeps.model.isa import ISAS

    return beginning((one for isa in ISAS.values() for one in isa.flavours), incomplete)


def fences(incomplete: str) -> list[str]:
    """Fence kinds."""
    from sweeps.model.isa import FENCE_KINDS

    return beginning(FENCE_KINDS, incomplete)


def engines(incomplete: str) -> list[str]:
    """Engine labels, without options of their own."""
    from sweeps.model.engines import ENGINES

    return beginning((one.label for one in ENGINES), incomplete)


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Those that go on as what is typed."""
    return [name for name in names if name.startswith(incomplete)]
