"""The workloads: what workloads/workloads.def says, and what a run must fulfil."""

from collections.abc import Mapping
from functools import lru_cache

from results.errors import LockcrossError
from sweeps.model.locks import load_locks
from sweeps.model.workloads import rules
from sweeps.model.workloads.keys import Choice, Key, Number, Value
from sweeps.model.workloads.registry import Workload, parse_workloads
from sweeps.support.paths import WORKLOADS_DEF


def _load() -> dict[str, Workload]:
    try:
        return parse_workloads(WORKLOADS_DEF.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockcrossError(f"{WORKLOADS_DEF.name}: {error.strerror}", exit_code=1) from None


WORKLOADS = _load()  # by name, in the registry's order


def with_defaults(workload: str, given: Mapping[str, Value]) -> dict[str, Value]:
    """The parameters of a run: those that are given, and defaults for the other keys.

    An unknown workload, which is reported elsewhere, has none.
    """
    keys: Mapping[str, Key] = WORKLOADS[workload].keys if workload in WORKLOADS else {}
    return {name: key.default for name, key in keys.items()} | dict(given)


def phases(workload: str, parameters: Mapping[str, Value]) -> int:
    """How many phases a run announces, where a key says so; else 0."""
    key = WORKLOADS[workload].phases
    return int(parameters[key]) if key else 0


def choices(workload: str, key: str) -> tuple[str, ...]:
    """The words of a choice. Raises KeyError for a key that is none."""
    found = WORKLOADS[workload].keys[key]
    if not isinstance(found, Choice):
        raise KeyError(key)
    return found.choices


def unsupported_reason(
    workload: str,
    lock: str,
    threads: int,
    cores: int | None,
    parameters: Mapping[str, Value],
) -> str:
    """Why a workload cannot be run like this ("key: reason"), or nothing.

    All keys are given, with valid values. `cores`: how many the threads share; None: a core each.
    """
    return _unsupported_reason(workload, lock, threads, cores, tuple(parameters.items()))


@lru_cache(maxsize=10_000)  # of a study's cells many differ in latencies and seeds alone
def _unsupported_reason(
    workload: str,
    lock: str,
    threads: int,
    cores: int | None,
    given: tuple[tuple[str, Value], ...],
) -> str:
    kind, parameters = WORKLOADS[workload], dict(given)
    if kind.locks and lock not in kind.locks:
        return f"workload {workload} is built with lock {', '.join(kind.locks)} only"
    if not kind.min_threads <= threads <= kind.max_threads:
        return f"threads: {threads}: workload {workload} runs with {kind.threads} threads"
    if kind.needs_cores and cores is None:
        return f"cores: none: workload {workload} needs threads that share cores; give --cores"
    if kind.cores == "OWN_CORES" and cores is not None:
        return f"cores: {cores}: workload {workload} needs a core for each thread"
    for name, key in kind.keys.items():
        if why := key.unsupported_reason(parameters[name], threads):
            return f"parameters.{name}: {why}"
    return _broken_rule(kind, lock, threads, parameters)


def _broken_rule(kind: Workload, lock: str, threads: int, parameters: Mapping[str, Value]) -> str:
    values = {"THREADS": threads, "LOCK_IS_JAVA": int(load_locks()[lock].java)}
    for name, key in kind.keys.items():
        match key:
            case Number():
                values[f"KEY({name})"] = int(parameters[name])
            case Choice():
                values |= {f"WORD_{word}": number for number, word in enumerate(key.choices)}
                values[f"KEY({name})"] = key.choices.index(str(parameters[name]))
    rule = rules.broken(kind.rules, {**kind.constants, **values})
    if rule is None:
        return ""
    given = ", ".join(f"{name} = {parameters[name]}" for name in rule.keys)
    return f"parameters: {rule.message} ({given}, threads = {threads})"
