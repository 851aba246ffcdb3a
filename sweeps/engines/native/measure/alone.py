"""What one thread measures: caches, arithmetic, atomics, fences, and what passes them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sweeps.engines.native import host
from sweeps.engines.native.measure.finding import SHARE, Finding, of_alone
from sweeps.engines.native.measure.programs import Programs, per_turn
from sweeps.engines.native.sample import Estimate
from sweeps.model.isa import ISAS, host_isa

REPEATS = 24  # of each loop
LONG_REPEATS = 7  # of chases beyond the second level
_TURNS = (2000, 6000)  # a loop's two lengths
_CHASE_TURNS = 4000
_LONG_TURNS = 20_000
_LONG_KIB = 1024  # from here on the system gives the memory
_CHAIN = 8  # operations a turn (kernels/micro.c)
_NO_OPS = 64
_FAR = 8  # times the cache before
_LATENCY = "latency in a dependent chain"
MOST_KIB = 2**21  # the kernel's bound
MEMORY = "load_memory"


@dataclass(frozen=True)
class Loop:
    """A loop of kernel micro: its operation, the stores before it, the memory that it goes over."""

    op: str
    stores: str = "none"
    kib: int = 16

    def arguments(self) -> dict[str, int | str]:
        """Its keys, without the length."""
        return {"op": self.op, "stores": self.stores, "kib": self.kib}


Times = Callable[[Loop], Estimate]  # cycles of a turn


def run_loop(programs: Programs, binary: str, cpu: int, loop: Loop) -> Estimate:
    """Cycles of a turn. A chase has one length: what its beginning costs is lost in it, while its
    memory is at another place in every run."""
    turns: Sequence[int] = _TURNS
    if loop.op == "chase":
        turns = [_LONG_TURNS if loop.kib > _LONG_KIB else _CHASE_TURNS]
    repeats = LONG_REPEATS if loop.kib > _LONG_KIB else REPEATS
    return per_turn([
        [programs.run(binary, {**loop.arguments(), "iterations": n}, [cpu]) for n in turns]
        for _ in range(repeats)
    ])  # fmt: skip


@dataclass(frozen=True)
class Level:
    """A level of memory: its name, and how many KiB a chase goes over to stay in it."""

    name: str
    title: str
    kib: int


def levels(caches: Sequence[host.Cache], free_kib: int) -> list[Level]:
    """What is chased through: half of the first cache; in every other one eight times the one
    before, but at most half of its own; for memory twice the last, unless there is not that much.
    """
    most = min(free_kib, MOST_KIB)
    found = []
    before = 0
    for cache in caches:
        own = cache.size // 1024
        kib = min(own // 2, _FAR * before) if before else own // 2
        if before < kib <= most:
            found.append(Level(f"load_l{cache.level}", f"the level {cache.level} cache", kib))
        before = own
    if 0 < 2 * before <= most:
        found.append(Level(MEMORY, "memory", 2 * before))
    return found


def memory(times: Times, level: Level) -> Iterator[tuple[str, Finding]]:
    """The load-use latency of a level, by pointer chase."""
    each = times(Loop("chase", kib=level.kib)).over(_CHAIN)
    text = f"load to use from {level.title}: {_LATENCY} of loads over {level.kib} KiB"
    if level.kib > _LONG_KIB:
        text += ", in huge pages if the system gives them, with what it takes to find a page"
    # Where the memory lies differs from run to run: the median stands for all.
    value = each.value if level.kib <= _LONG_KIB else each.median
    yield level.name, Finding(value, each.iqr, text)


_CHAINS = {
    "forward": ("store_forward", "a load of the 8 bytes just stored, with the store"),
    "forward_contained": ("store_forward_contained", "a load of 4 of 8 bytes just stored, with the "
                          "store"),
    "forward_fails": ("store_forward_fails", "a load of 8 bytes around 4 just stored, with the "
                      "store"),
    "mul": ("mul", "a multiplication, 64 bits"),
    "div": ("div", "a division, 64 bits"),
    "cas": ("cas", "a CAS that wins, the whole operation, on a line the core owns"),
    "cas_lost": ("cas_lost", "a CAS that loses, the whole operation, on a line the core owns"),
    "exchange": ("exchange", "an atomic exchange, the whole operation, on a line the core owns"),
    "fetch_add": ("fetch_add", "an atomic fetch-and-add, the whole operation, on a line the core "
                  "owns"),
}  # fmt: skip


def chains(times: Times) -> Iterator[tuple[str, Finding]]:
    """Everything that is measured as a dependent chain."""
    for op, (name, words) in _CHAINS.items():
        yield name, of_alone(times(Loop(op)).over(_CHAIN), f"{words}: {_LATENCY}")
    apart = times(Loop("cas_apart")).over(_CHAIN)
    words = "a CAS that wins, on eight lines in turn, none needs another's result: throughput"
    yield "cas_throughput", of_alone(apart, words)


def front_end(times: Times) -> Iterator[tuple[str, Finding]]:
    """Width, branches, pause."""
    empty = times(Loop("empty"))
    turn = times(Loop("width")).minus(empty)
    if turn.value > 0:
        width = _NO_OPS / turn.value
        spread = width * turn.iqr / turn.value
        text = f"no-ops in a cycle, of {_NO_OPS} in a row: throughput"
        yield "width", Finding(width, spread, text, "instructions/cycle")
    branch = times(Loop("branch_random")).minus(times(Loop("branch_steady"))).over(0.5)
    text = (
        "a branch predicted wrongly, until what follows is under way again: twice the difference "
        "of one on a random bit, wrong half of the time, and one that is never taken"
    )
    yield "mispredict", of_alone(branch, text)
    text = "a turn of a spinning thread's wait, in a loop: throughput"
    yield "pause", of_alone(times(Loop("pause")), text)


def fences(times: Times) -> Iterator[tuple[str, Finding]]:
    """Each fence of the ISA alone, and what it adds behind one store and behind four."""
    for number, name in enumerate(ISAS[host_isa()].fences):
        for stores, suffix, words in (
            ("none", "", "in a loop of nothing else"),
            ("one", "_behind_1", "behind a store"),
            ("four", "_behind_4", "behind stores to four lines"),
        ):
            loop = times(Loop(f"fence_{number}", stores))
            added = loop.minus(times(Loop("empty", stores)))
            text = f"what {name.removeprefix('fence_')} adds to a turn {words}: throughput"
            yield f"{name}{suffix}", of_alone(added, text)


def hidden_share(alone: Estimate, work: Estimate, both: Estimate) -> tuple[float, float]:
    """The share, from 0 to 1, of the shorter of two things that hides behind the other, and its
    range; from cycles of each alone and of both in one loop."""
    shorter = min(alone.value, work.value)
    share = (alone.value + work.value - both.value) / shorter
    return min(1.0, max(0.0, share)), (alone.iqr + work.iqr + both.iqr) / shorter


def behind_atomics(times: Times) -> Iterator[tuple[str, Finding]]:
    """What a store, or a load of its word, behind a CAS adds to the next CAS."""
    once = times(Loop("cas_once"))
    for op, name, what in (
        ("cas_store", "cas_before_store", "a store to another line"),
        ("cas_reload", "cas_before_load", "a load of its word"),
    ):
        text = f"what {what} behind a CAS adds to a turn of CAS and {what}: throughput"
        yield name, of_alone(times(Loop(op)).minus(once), text)


def passing(times: Times) -> Iterator[tuple[str, Finding]]:
    """How much independent work hides behind a CAS and behind the full fence."""
    fence = ISAS[host_isa()].full_fence.removeprefix("fence_")
    for kind, title, loop in (("cas", "a CAS", "cas_once"), ("fence", fence, "fence_0")):
        for work, what in (("adds", "24 additions"), ("loads", "5 loads from the first level")):
            share, spread = hidden_share(
                times(Loop(loop)), times(Loop(work)), times(Loop(f"{kind}_{work}"))
            )
            text = (
                f"share of the shorter of {title} and a chain of {what} behind it that takes no "
                "time of its own: 1, they pass it; 0, they wait"
            )
            yield f"{kind}_hides_{work}", Finding(share, spread, text, SHARE)


def all_alone(
    found: Sequence[Level],
) -> dict[str, Callable[[Times], Iterator[tuple[str, Finding]]]]:
    """The parts of it, by title."""
    return {
        **{level.title: partial(memory, level=level) for level in found},
        "arithmetic, forwarding, atomics": chains,
        "width and branches": front_end,
        "fences": fences,
        "what passes a CAS or a fence": passing,
        "what follows a CAS": behind_atomics,
    }
