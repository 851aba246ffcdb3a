"""Memory models by brute force, to compare the checker with: the registers and memory that a litmus
test's threads may leave. SC and TSO by running all interleavings; RC11 by its axioms, over all
choices of the values that loads read and of the order of stores (Lahav et al., PLDI 2017; release
sequences as in C++20). Slow, and as close to the definitions as possible. No `if`, no `await`, no
plain access.

Under the axioms a unit, a run of bytes that no access divides, is a place of its own: an access of
several units is an event for each, as the checker's model `weak` has it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, permutations, product

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


# Interleavings


@dataclass(frozen=True)
class _State:
    at: tuple[int, ...]
    memory: tuple[int, ...]  # bytes of all places
    registers: frozenset[tuple[str, int]]
    buffers: tuple[
        tuple[tuple[int, tuple[int, ...]], ...], ...
    ]  # (first byte, bytes), oldest first


def _first_byte(instruction: Instruction) -> int:
    return 4 * PLACES.index(instruction.place) + instruction.offset


def _bytes(value: int, size: int) -> tuple[int, ...]:
    return tuple(value.to_bytes(size, "little"))


def _put(memory: Sequence[int], first: int, stored: Sequence[int]) -> tuple[int, ...]:
    return (*memory[:first], *stored, *memory[first + len(stored) :])


class _Machine:
    """SC, or TSO with store buffers; `waits`: a wider load waits for the store beneath it."""

    def __init__(self, test: Litmus, buffers: bool, waits: bool) -> None:
        self.threads, self.buffers, self.waits = test.threads, buffers, waits

    def outcomes(self) -> set[Outcome]:
        count = len(self.threads)
        first = _State((0,) * count, (0,) * 4 * len(PLACES), frozenset(), ((),) * count)
        seen, open_states, ends = {first}, [first], set()
        while open_states:
            state = open_states.pop()
            following = list(self.steps(state))
            if not following:
                places = {
                    place: int.from_bytes(bytes(state.memory[4 * i : 4 * i + 4]), "little")
                    for i, place in enumerate(PLACES)
                }
                ends.add(tuple(sorted({**places, **dict(state.registers)}.items())))
            for following_state in following:
                if following_state not in seen:
                    seen.add(following_state)
                    open_states.append(following_state)
        return ends

    def steps(self, state: _State) -> Iterator[_State]:
        for thread, instructions in enumerate(self.threads):
            buffer = state.buffers[thread]
            if buffer:
                yield self._with(state, thread, _put(state.memory, *buffer[0]), buffer[1:], 0)
            if state.at[thread] < len(instructions):
                yield from self._do(state, thread, instructions[state.at[thread]])

    @staticmethod
    def _with(
        state: _State,
        thread: int,
        memory: tuple[int, ...],
        buffer: tuple[tuple[int, tuple[int, ...]], ...],
        steps: int,
        register: tuple[str, int] | None = None,
    ) -> _State:
        at = list(state.at)
        at[thread] += steps
        buffers = list(state.buffers)
        buffers[thread] = buffer
        registers = state.registers | ({register} if register else set())
        return _State(tuple(at), memory, frozenset(registers), tuple(buffers))

    def _do(self, state: _State, thread: int, instruction: Instruction) -> Iterator[_State]:
        buffer, memory = state.buffers[thread], state.memory
        if instruction.kind == "F":
            if instruction.order != "sc" or not buffer:
                yield self._with(state, thread, memory, buffer, 1)
            return
        first = _first_byte(instruction)
        if instruction.kind == "W":
            store = (first, _bytes(instruction.value, instruction.size))
            if self.buffers and instruction.order == "sc":  # as an exchange
                if not buffer:
                    yield self._with(state, thread, _put(memory, *store), buffer, 1)
            elif self.buffers:
                yield self._with(state, thread, memory, (*buffer, store), 1)
            else:
                yield self._with(state, thread, _put(memory, *store), buffer, 1)
            return
        if instruction.kind != "R" and buffer:
            return
        if self.waits and self._is_in_the_way(buffer, first, instruction.size):
            return
        seen = memory
        for store in buffer:
            seen = _put(seen, *store)
        old = int.from_bytes(bytes(seen[first : first + instruction.size]), "little")
        if instruction.kind != "R":
            memory = _put(memory, first, _bytes(_fresh(instruction, old), instruction.size))
        yield self._with(state, thread, memory, buffer, 1, (instruction.register, old))

    @staticmethod
    def _is_in_the_way(
        buffer: tuple[tuple[int, tuple[int, ...]], ...], first: int, size: int
    ) -> bool:
        for at, stored in reversed(buffer):
            if at < first + size and first < at + len(stored):
                return not (at <= first and first + size <= at + len(stored))
        return False


# Axioms


@dataclass
class _Event:
    """An access of one unit, a fence, or a unit's first value."""

    number: int
    thread: int
    index: int  # in the thread
    access: Instruction | None
    unit: int = -1
    reads: bool = False
    writes: bool = False
    order: str = "rlx"
    value_read: int = 0  # bytes of the unit, in place
    value: int = 0


def _closure(relation: Relation, size: int) -> Relation:
    reach = [{b for a, b in relation if a == i} for i in range(size)]
    for middle in range(size):
        for source in range(size):
            if middle in reach[source]:
                reach[source] |= reach[middle]
    return {(a, b) for a in range(size) for b in reach[a]}


def _then(*relations: Relation) -> Relation:
    result = relations[0]
    for relation in relations[1:]:
        following: dict[int, set[int]] = {}
        for a, b in relation:
            following.setdefault(a, set()).add(b)
        result = {(a, c) for a, b in result for c in following.get(b, ())}
    return result


def _is_irreflexive(relation: Relation) -> bool:
    return all(a != b for a, b in relation)


@dataclass
class Axioms:
    """All executions of a test that RC11 allows. `in_order`: full fences are ordered as program
    order and reads-from have them, too, as in the checker; RC11 itself does not ask for it."""

    test: Litmus
    in_order: bool
    events: list[_Event] = field(default_factory=list)
    units: list[tuple[int, int]] = field(default_factory=list)  # first byte, size

    def __post_init__(self) -> None:
        accesses = [
            instruction
            for thread in self.test.threads
            for instruction in thread
            if instruction.place
        ]
        cuts = sorted({_first_byte(a) + end for a in accesses for end in (0, a.size)})
        touched = {b for a in accesses for b in range(_first_byte(a), _first_byte(a) + a.size)}
        self.units = [(cut, following - cut) for cut, following in pairwise(cuts) if cut in touched]
        for unit in range(len(self.units)):
            self._add(-1, 0, None, unit, writes=True)
        for thread, instructions in enumerate(self.test.threads):
            for index, instruction in enumerate(instructions):
                if instruction.kind == "F":
                    self._add(thread, index, instruction, order=instruction.order)
                for unit in self._units_of(instruction):
                    self._add(
                        thread,
                        index,
                        instruction,
                        unit,
                        reads=instruction.kind != "W",
                        writes=instruction.kind != "R",
                        order=instruction.order,
                    )

    def _add(
        self,
        thread: int,
        index: int,
        access: Instruction | None,
        unit: int = -1,
        *,
        reads: bool = False,
        writes: bool = False,
        order: str = "rlx",
    ) -> None:
        number = len(self.events)
        self.events.append(_Event(number, thread, index, access, unit, reads, writes, order))

    def _units_of(self, instruction: Instruction) -> list[int]:
        if not instruction.place:
            return []
        first = _first_byte(instruction)
        return [
            number
            for number, (at, _) in enumerate(self.units)
            if first <= at < first + instruction.size
        ]

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
        edges = {(w, r) for r, w in reads_from.items()}
        # The parts of an access take place together.
        first = {(e.thread, e.index): e.number for e in reversed(self.events) if e.thread >= 0}
        step = [first.get((e.thread, e.index), e.number) for e in self.events]
        order = _closure(
            {(step[a], step[b]) for a, b in self.program_order | edges}, len(self.events)
        )
        if not _is_irreflexive(order):
            return False
        before = dict.fromkeys(range(len(self.events)), 0)
        for _, after in order:
            before[after] += 1
        stores = {event.number for event in self.events if event.thread < 0}
        for number in sorted(first.values(), key=before.__getitem__):
            event, old = self.events[number], 0
            parts = [e for e in self.events if step[e.number] == number]
            if event.access is None or event.unit < 0:
                continue
            for part in parts:
                if part.reads:
                    if reads_from[part.number] not in stores:
                        return False
                    part.value_read = self.events[reads_from[part.number]].value
                    old |= self._in_access(part, part.value_read)
            fails = event.access.kind == "cas" and old != event.access.expected
            if event.access.kind == "R" or fails:
                continue
            fresh = _fresh(event.access, old)
            for part in parts:
                part.value = self._in_unit(part, fresh)
                stores.add(part.number)
        self._stores = stores
        return True

    def _in_access(self, part: _Event, value: int) -> int:
        assert part.access
        return value << 8 * (self.units[part.unit][0] - _first_byte(part.access))

    def _in_unit(self, part: _Event, value: int) -> int:
        assert part.access
        at, size = self.units[part.unit]
        return (value >> 8 * (at - _first_byte(part.access))) % (1 << 8 * size)

    def _outcomes_with(self, reads_from: dict[int, int]) -> set[Outcome]:
        by_unit = [
            [e.number for e in self.events if e.unit == unit and e.number in self._stores]
            for unit in range(len(self.units))
        ]
        ends = set()
        happens_before = self._happens_before(reads_from)
        for orders in product(*(permutations(stores[1:]) for stores in by_unit)):
            coherence: Relation = set()
            for stores, rest in zip(by_unit, orders, strict=True):
                order = (stores[0], *rest)
                coherence |= {(a, b) for i, a in enumerate(order) for b in order[i + 1 :]}
            if self._is_consistent(reads_from, coherence, happens_before):
                ends.add(self._outcome(by_unit, orders))
        return ends

    def _outcome(
        self, by_unit: Sequence[Sequence[int]], orders: Sequence[Sequence[int]]
    ) -> Outcome:
        values = dict.fromkeys(PLACES, 0)
        for unit, (stores, rest) in enumerate(zip(by_unit, orders, strict=True)):
            at = self.units[unit][0]
            last = self.events[(stores[0], *rest)[-1]]
            values[PLACES[at // 4]] |= last.value << 8 * (at % 4)
        for event in self.events:
            if event.reads and event.access:
                name = event.access.register
                values[name] = values.get(name, 0) | self._in_access(event, event.value_read)
        return tuple(sorted(values.items()))

    def _happens_before(self, reads_from: dict[int, int]) -> Relation:
        po, events = self.program_order, self.events
        updates = {e.number for e in events if e.reads and e.number in self._stores}
        # A release sequence: a store and the updates that continue it.
        sequence: Relation = {(e.number, e.number) for e in events}
        sequence |= _closure({(w, r) for r, w in reads_from.items() if r in updates}, len(events))
        synchronizes: Relation = set()
        for source, head in sequence:
            for read, store in reads_from.items():
                if store != head or source not in self._stores or events[source].thread < 0:
                    continue
                starts = [source] if events[source].order in _RELEASES else []
                starts += [f for f, w in po if w == source and self._is_fence(f, _RELEASES)]
                order = events[read].order
                if events[read].access and events[read].access.kind == "cas":  # type: ignore[union-attr]
                    order = order if read in self._stores else "rlx"
                ends = [read] if order in _ACQUIRES else []
                ends += [f for r, f in po if r == read and self._is_fence(f, _ACQUIRES)]
                synchronizes |= set(product(starts, ends))
        return _closure(po | synchronizes, len(events))

    def _is_fence(self, number: int, orders: Sequence[str]) -> bool:
        event = self.events[number]
        return event.unit < 0 and event.order in orders

    def _is_consistent(
        self, reads_from: dict[int, int], coherence: Relation, happens_before: Relation
    ) -> bool:
        size = len(self.events)
        rf = {(w, r) for r, w in reads_from.items()}
        from_read = {(r, w) for r, s in reads_from.items() for a, w in coherence if a == s} - {
            (e.number, e.number) for e in self.events
        }
        for read, store in reads_from.items():  # atomicity of updates
            if read in self._stores:
                if (store, read) not in coherence:
                    return False
                between = {b for a, b in coherence if a == store} & {
                    a for a, b in coherence if b == read
                }
                if between:
                    return False
        extended = _closure(rf | coherence | from_read, size)
        if not _is_irreflexive(extended) or not _is_irreflexive(_then(happens_before, extended)):
            return False
        fences = {e.number for e in self.events if e.unit < 0 and e.order == "sc"}
        partial = happens_before | _then(happens_before, extended, happens_before)
        if self.in_order:
            partial |= _closure(self.program_order | rf, size)
        partial = {(a, b) for a, b in partial if a in fences and b in fences}
        return _is_irreflexive(_closure(partial, size))


def outcomes(test: Litmus, model: str) -> set[Outcome]:
    """Return the possible ends of a test under sc, tso, tso-wait, weak (as the checker has it) or
    rc11."""
    if model in ("weak", "rc11"):
        return Axioms(test, model == "weak").outcomes()
    return _Machine(test, model != "sc", model == "tso-wait").outcomes()
