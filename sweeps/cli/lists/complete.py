"""What a shell completes where an option or argument takes a name."""

from collections.abc import Iterable


def machines(incomplete: str) -> list[str]:
    """Machines of the tree; a shell completes files by itself."""
    from sweeps.model.machine import machine_names

    return _beginning(machine_names(), incomplete)


def locks(incomplete: str) -> list[str]:
    """Locks."""
    from sweeps.model.locks import load_locks

    return _beginning(load_locks(), incomplete)


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

    return _beginning(WORKLOADS, incomplete)


def plans(incomplete: str) -> list[str]:
    """Plans of the tree."""
    from sweeps.experiments.plan import plan_names

    return _beginning(plan_names(), incomplete)


def studies(incomplete: str) -> list[str]:
    """Studies of the tree."""
    from sweeps.support.paths import STUDIES
    from sweeps.support.toml import names

    return _beginning(names(STUDIES), incomplete)


def reproductions(incomplete: str) -> list[str]:
    """Reproductions."""
    from sweeps.experiments.reproduce import overtake
    from sweeps.experiments.reproduce.definition import reproduction_names

    return _beginning([*reproduction_names(), overtake.NAME], incomplete)


def validations(incomplete: str) -> list[str]:
    """Validations of the tree."""
    from sweeps.experiments.validate import validation_names

    return _beginning(validation_names(), incomplete)


def queries(incomplete: str) -> list[str]:
    """Named queries."""
    from results.store.queries import named_queries

    return _beginning(named_queries(), incomplete)


def isas(incomplete: str) -> list[str]:
    """Instruction sets."""
    from sweeps.model.isa import ISAS

    return _beginning(ISAS, incomplete)


def flavours(incomplete: str) -> list[str]:
    """Atomic flavours of all instruction sets."""
    from sweeps.model.isa import ISAS

    return _beginning((one for isa in ISAS.values() for one in isa.flavours), incomplete)


def fences(incomplete: str) -> list[str]:
    """Fence kinds."""
    from sweeps.model.isa import FENCE_KINDS

    return _beginning(FENCE_KINDS, incomplete)


def engines(incomplete: str) -> list[str]:
    """Engine labels, without options of their own."""
    from results.model.engines import ENGINES

    return _beginning((one.label for one in ENGINES), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
