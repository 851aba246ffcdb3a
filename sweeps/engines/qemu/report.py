"""The plugin's report of a run (docs/interfaces.md, section 6)."""

from typing import Annotated

from pydantic import Field

from results.model.schema import Document
from sweeps.engines.guest import Count, Counts, Name


class CasCounts(Document):
    """Compare-and-swaps that changed memory, and those that did not."""

    won: Count
    lost: Count


class Work(Document):
    """What a core's instructions did. Loads and stores are plain ones, no part of an atomic."""

    core: Count
    instructions: Count
    loads: Count
    stores: Count
    cas: CasCounts
    rmw: Count
    fences: Counts


class CoreReport(Work):
    """One core: its counts and the causes of its cycles, which count from its own start."""

    start: Count
    cycles: Count
    reservations_lost: Count
    charges: Counts
    holds: Count
    stalls: Counts
    coherence: Annotated[dict[Name, Counts], Field(max_length=100)]


class PhaseMark(Work):
    """A time stamp: phase `phase` begins on a core at `cycle`, and what it did until then."""

    phase: Count
    cycle: Count


class LinkCounts(Document):
    """What the plugin and a simulator of the memory system told each other. Touches: hits that it
    was told of; late: requests that were earlier than its clock."""

    requests: Count
    touches: Count
    turns: Count
    late: Count


class EngineReport(Document):
    """The plugin's document (interfaces, 6). `memory_system`: of one that another process
    simulates."""

    engine: str
    version: str
    isa: str
    complete: bool
    options: Counts
    handovers: Count
    cores: list[CoreReport]
    phases: list[PhaseMark]
    memory_system: LinkCounts | None = None
