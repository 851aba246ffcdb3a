"""Packs cells into chunks of about two seconds."""

from collections import deque
from collections.abc import Sequence

from sweeps.run.runner import GUESS_S, kind
from sweeps.run.work import Done, Work

CHUNK_S = 2.0  # of work: gaps between chunks are then below 1 % of it
_LEAST_S = 0.5  # even at the end
_UNKNOWN = 4  # cells of a chunk of whose length nothing is known
_MOST = 500  # cells of a chunk: what is lost when a driver dies, and one transaction
_WEIGHT = 0.2  # of a chunk's mean in the running mean of its kind


class Chunks:
    """The cells that are still to be sent. What was expected of a cell is replaced by what cells of
    its kind have taken."""

    def __init__(self, works: Sequence[Work], slots: int) -> None:
        self._waiting = deque(works)
        self._again: deque[list[Work]] = deque()
        self._slots = slots
        self._taken: dict[object, float] = {}

    def next(self) -> list[Work]:
        """The next chunk; an empty one when all were taken. Towards the end chunks get smaller, so
        that every worker has work until then."""
        if self._again:
            return self._again.popleft()
        if not self._waiting:
            return []
        left_s = len(self._waiting) * self._expected_s(self._waiting[0])
        room = min(CHUNK_S, max(_LEAST_S, left_s / (2 * self._slots)))
        chunk: list[Work] = []
        most = _MOST
        while self._waiting and len(chunk) < most:
            seconds = self._expected_s(self._waiting[0])
            if chunk and seconds > room:
                break
            if not self._known(self._waiting[0]):
                most = min(most, _UNKNOWN)
            room -= seconds
            chunk.append(self._waiting.popleft())
        return chunk

    def again(self, chunk: list[Work]) -> None:
        """Puts a chunk that no worker has finished before all others."""
        if chunk:
            self._again.append(chunk)

    def learn(self, works: Sequence[Work], done: Sequence[Done]) -> None:
        """What cells have taken."""
        kinds = {work.identity: kind(work.cell) for work in works}
        for one in done:
            key = kinds[one.identity]
            before = self._taken.get(key, one.duration_s)
            self._taken[key] = before + _WEIGHT * (one.duration_s - before)

    def _known(self, work: Work) -> bool:
        return work.expected_s is not None or kind(work.cell) in self._taken

    def _expected_s(self, work: Work) -> float:
        known = self._taken.get(kind(work.cell), work.expected_s)
        return GUESS_S if known is None else known
