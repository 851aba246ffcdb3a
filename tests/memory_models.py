"""Memory models by brute force, to compare the checker with: the registers and memory that a litmus
test's threads may leave. SC and TSO by running all interleavings; RC11 by its axioms, over all
choices of the values that loads read and of the order of stores (Lahav et al., PLDI 2017; release
sequences as in C++20). Slow, and as close to the definitions as possible. No `if`, no `await`, no
plain access.

Under the axioms a unit, a run of bytes that no access divides, is a place of its own: an access of
several units is an event for each, as the checker's model `weak` has it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, pairwise, permutations, product
from typing import Any

from tests.litmus import PLACES, Instruction, Litmus

Outcome = tuple[tuple[str, int], ...]  # registers and places, by name
Relation = set[tuple[int, int]]
_ACQUIRES = ("acq", "acqrel", "sc")
_RELEASES = ("rel", "acqrel", "sc")


def _fresh(instruction: Instruction, old: int) -> int:
    """Return the value that a store, or an update that finds `old`, leaves."""
    if instruction.kind == "add":
        return (old + instruction.value) % (1 << 8 * instruction.size)
    if instruction.kind == "cas" and old != instruction.expected:
        return old
    return instruction.value


def _first_byte(instruction: Instruction) -> int:
    return 4 * PLACES.index(instruction.place) + instruction.offset


# Interleavings

Bytes = tuple[int, ...]
Buffer = tuple[tuple[int, Bytes], ...]  # first byte and bytes of each store, oldest first


def _put(old: Sequence[Any], first: int, new: Sequence[Any]) -> tuple[Any, ...]:
    return (*old[:first], *new, *old[first + len(new) :])


@dataclass(frozen=True)
class _State:
    at: tuple[int, ...]
    memory: Bytes  # of all places
    registers: frozenset[tuple[str, int]]
    buffers: tuple[Buffer, ...]

    def after(
        self, thread: int, memory: Bytes, buffer: Buffer, steps: int = 1, **registers: int
    ) -> "_State":
        """Return the state in which a thread leaves memory, its buffer and registers so."""
        return _State(
            _put(self.at, thread, [self.at[thread] + steps]),
            memory,
            self.registers.union(registers.items()),
            _put(self.buffers, thread, [buffer]),
        )

    def outcome(self) -> Outcome:
        words = (self.memory[at : at + 4] for at in range(0, len(self.memory), 4))
        values = (int.from_bytes(word, "little") for word in words)
        return tuple(sorted([*zip(PLACES, values, strict=True), *self.registers]))


@dataclass
class _Machine:
    """SC, or TSO with store buffers; `waits`: a wider load waits for the store beneath it."""

    test: Litmus
    buffers: bool
    waits: bool

    def outcomes(self) -> set[Outcome]:
        count = len(self.test.threads)
        first = _State((0,) * count, (0,) * 4 * len(PLACES), frozenset(), ((),) * count)
        seen, open_states, ends = {first}, [first], set()
        while open_states:
            state = open_states.pop()
            following = set(self.steps(state))
            if not following:
                ends.add(state.outcome())
            open_states += following - seen
            seen |= following
        return ends

    def steps(self, state: _State) -> Iterator[_State]:
        for thread, instructions in enumerate(self.test.threads):
            buffer = state.buffers[thread]
            if buffer:
                yield state.after(thread, _put(state.memory, *buffer[0]), buffer[1:], 0)
            if state.at[thread] < len(instructions):
                yield from self._do(state, thread, instructions[state.at[thread]])

    def _do(self, state: _State, thread: int, instruction: Instruction) -> Iterator[_State]:
        buffer, memory = state.buffers[thread], state.memory
        if instruction.kind == "F":
            if instruction.order != "sc" or not buffer:
                yield state.after(thread, memory, buffer)
            return
        first = _first_byte(instruction)
        if instruction.kind == "W":
            store = (first, _bytes(instruction.value, instruction.size))
            if self.buffers and instruction.order != "sc":
                yield state.after(thread, memory, (*buffer, store))
            elif not buffer:  # as an exchange
                yield state.after(thread, _put(memory, *store), ())
            return
        if instruction.kind != "R" and buffer:
            return
        if self.waits and _is_in_the_way(buffer, first, instruction.size):
            return
        seen = memory
        for store in buffer:
            seen = _put(seen, *store)
        old = int.from_bytes(seen[first : first + instruction.size], "little")
        if instruction.kind != "R":
            memory = _put(memory, first, _bytes(_fresh(instruction, old), instruction.size))
        yield state.after(thread, memory, buffer, **{instruction.register: old})


def _bytes(value: int, size: int) -> Bytes:
    return tuple(value.to_bytes(size, "little"))


def _is_in_the_way(buffer: Buffer, first: int, size: int) -> bool:
    """Tell whether the newest store that has bytes of a load lacks others of them."""
    wanted = set(range(first, first + size))
    for at, stored in reversed(buffer):
        if found := wanted & set(range(at, at + len(stored))):
            return found != wanted
    return False


# Axioms


@dataclass
class _Event:
    """An access of one unit, a fence, or a unit's first value: a store of thread -1."""

    number: int
    thread: int
    index: int  # in the thread
    access: Instruction
    unit: int  # -1: a fence
    value_read: int = 0  # bytes of the unit, in place
    value: int = 0

    @property
    def reads(self) -> bool:
        return self.access.kind not in ("W", "F")

    @property
    def writes(self) -> bool:
        return self.access.kind not in ("R", "F")

    @property
    def step(self) -> tuple[int, int]:
        """What its access is known by, whose parts take place together."""
        return self.thread, self.index


def _following(relation: Relation) -> dict[int, set[int]]:
    found = defaultdict(set)
    for a, b in relation:
        found[a].add(b)
    return found


def _then(*relations: Relation) -> Relation:
    result = relations[0]
    for following in map(_following, relations[1:]):
        result = {(a, c) for a, b in result for c in following.get(b, ())}
    return result


def _closure(relation: Relation) -> Relation:
    reach = _following(relation)
    for middle, ends in reach.items():
        for reached in reach.values():
            if middle in reached:
                reached.update(ends)
    return {(a, b) for a, ends in reach.items() for b in ends}


def _is_irreflexive(relation: Relation) -> bool:
    return all(a != b for a, b in relation)


@dataclass
class Axioms:
    """All executions of a test that RC11 allows, where full fences are ordered as program order and
    reads-from have them, too, as in the checker; RC11 itself does not ask for it."""

    test: Litmus
    events: list[_Event] = field(default_factory=list)
    units: list[tuple[int, int]] = field(default_factory=list)  # first byte, size

    def __post_init__(self) -> None:
        accesses = [one for thread in self.test.threads for one in thread if one.place]
        cuts = sorted({_first_byte(a) + end for a in accesses for end in (0, a.size)})
        touched = {b for a in accesses for b in range(_first_byte(a), _first_byte(a) + a.size)}
        self.units = [(cut, following - cut) for cut, following in pairwise(cuts) if cut in touched]
        for unit, (at, size) in enumerate(self.units):
            self._add(-1, unit, Instruction("W", "", PLACES[at // 4], size, at % 4), unit)
        for thread, instructions in enumerate(self.test.threads):
            for index, instruction in enumerate(instructions):
                for unit in [-1] if instruction.kind == "F" else self._units_of(instruction):
                    self._add(thread, index, instruction, unit)

    def _add(self, thread: int, index: int, access: Instruction, unit: int) -> None:
        self.events.append(_Event(len(self.events), thread, index, access, unit))

    def _units_of(self, access: Instruction) -> list[int]:
        first = _first_byte(access)
        ends = range(first, first + access.size)
        return [number for number, (at, _) in enumerate(self.units) if at in ends]

    @cached_property
    def program_order(self) -> Relation:
        return {
            (a.number, b.number)
            for a in self.events
            for b in self.events
            if (a.thread < 0 <= b.thread) or (a.thread == b.thread >= 0 and a.index < b.index)
        }

    def outcomes(self) -> set[Outcome]:
        reads = [event for event in self.events if event.reads]
        sources = [
            [w.number for w in self.events if w.writes and w.unit == r.unit and w is not r]
            for r in reads
        ]
        ends = set()
        for chosen in product(*sources):
            reads_from = dict(zip((read.number for read in reads), chosen, strict=True))
            if self._resolve(reads_from):
                ends |= self._outcomes_with(reads_from)
        return ends

    def _resolve(self, reads_from: dict[int, int]) -> bool:
        """Compute all values; return False where loads and stores depend on each other in a circle,
        or a load reads a value that is not stored."""
        sorter = TopologicalSorter[tuple[int, int]]()
        for a, b in self.program_order | {(w, r) for r, w in reads_from.items()}:
            sorter.add(self.events[b].step, self.events[a].step)
        try:
            steps = [*sorter.static_order()]
        except CycleError:
            return False
        self._stores = set[int]()
        for step in steps:
            parts = [event for event in self.events if event.step == step]
            access, old = parts[0].access, 0
            for part in parts:
                if part.reads:
                    if reads_from[part.number] not in self._stores:
                        return False
                    part.value_read = self.events[reads_from[part.number]].value
                    old |= self._in_access(part)
            fails = access.kind == "cas" and old != access.expected
            for part in parts:
                if part.writes and not fails:
                    part.value = self._in_unit(part, _fresh(access, old))
                    self._stores.add(part.number)
        return True

    def _in_access(self, part: _Event) -> int:
        return part.value_read << 8 * (self.units[part.unit][0] - _first_byte(part.access))

    def _in_unit(self, part: _Event, value: int) -> int:
        at, size = self.units[part.unit]
        return (value >> 8 * (at - _first_byte(part.access))) % (1 << 8 * size)

    def _outcomes_with(self, reads_from: dict[int, int]) -> set[Outcome]:
        ends = set()
        happens_before = self._happens_before(reads_from)
        for orders in product(*map(self._orders_of, range(len(self.units)))):
            coherence = {pair for order in orders for pair in combinations(order, 2)}
            if self._is_consistent(reads_from, coherence, happens_before):
                ends.add(self._outcome([order[-1] for order in orders]))
        return ends

    def _orders_of(self, unit: int) -> Iterator[tuple[int, ...]]:
        """Every order of a unit's stores, in which its first value comes first."""
        events = (event.number for event in self.events if event.unit == unit)
        first, *others = (number for number in events if number in self._stores)
        for order in permutations(others):
            yield first, *order

    def _outcome(self, last: Sequence[int]) -> Outcome:
        values = dict.fromkeys(PLACES, 0)
        for (at, _), store in zip(self.units, last, strict=True):
            values[PLACES[at // 4]] |= self.events[store].value << 8 * (at % 4)
        for event in self.events:
            if event.reads:
                name = event.access.register
                values[name] = values.get(name, 0) | self._in_access(event)
        return tuple(sorted(values.items()))

    def _happens_before(self, reads_from: dict[int, int]) -> Relation:
        po, events = self.program_order, self.events
        # A release sequence: a store and the updates that continue it.
        sequence = {(store, store) for store in self._stores}
        sequence |= _closure({(w, r) for r, w in reads_from.items() if r in self._stores})
        synchronizes: Relation = set()
        for source, head in sequence:
            for read, store in reads_from.items():
                if store != head or events[source].thread < 0:
                    continue
                starts = [source] if events[source].access.order in _RELEASES else []
                starts += [f for f, w in po if w == source and self._is_fence(f, _RELEASES)]
                fails = events[read].access.kind == "cas" and read not in self._stores
                ends = [read] if events[read].access.order in _ACQUIRES and not fails else []
                ends += [f for r, f in po if r == read and self._is_fence(f, _ACQUIRES)]
                synchronizes |= set(product(starts, ends))
        return _closure(po | synchronizes)

    def _is_fence(self, number: int, orders: Sequence[str]) -> bool:
        access = self.events[number].access
        return access.kind == "F" and access.order in orders

    def _is_consistent(
        self, reads_from: dict[int, int], coherence: Relation, happens_before: Relation
    ) -> bool:
        rf = {(w, r) for r, w in reads_from.items()}
        from_read = _then(set(reads_from.items()), coherence)
        from_read -= {(event.number, event.number) for event in self.events}
        if not _is_irreflexive(_then(from_read, coherence)):  # atomicity of updates
            return False
        extended = _closure(rf | coherence | from_read)
        if not _is_irreflexive(extended) or not _is_irreflexive(_then(happens_before, extended)):
            return False
        partial = happens_before | _then(happens_before, extended, happens_before)
        partial |= _closure(self.program_order | rf)
        fences = {event.number for event in self.events if self._is_fence(event.number, ("sc",))}
        return _is_irreflexive(_closure({(a, b) for a, b in partial if {a, b} <= fences}))


def outcomes(test: Litmus, model: str) -> set[Outcome]:
    """Return the possible ends of a test under sc, tso, tso-wait or weak, as the checker has it."""
    if model == "weak":
        return Axioms(test).outcomes()
    return _Machine(test, model != "sc", model == "tso-wait").outcomes()
