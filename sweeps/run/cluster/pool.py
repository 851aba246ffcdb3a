"""The pool of a cluster: Parsl's workers run the cells, packed into chunks of about two seconds."""

import time
from collections import Counter, deque
from collections.abc import Generator, Sequence

from results.errors import LockcrossError
from sweeps.run.cluster.session import Answer, Session
from sweeps.run.cluster.worker import Chunk, Reply, plugin_digest, run_chunk
from sweeps.run.costs import GUESS_S, kind
from sweeps.run.work import Done, Work, not_run

CHUNK_S = 2.0  # of work: gaps between chunks are then below 1 % of it
_LEAST_S = 0.5  # even at the end
_UNKNOWN = 4  # cells of a chunk of whose length nothing is known
_MOST = 500  # cells of a chunk: what is lost when a driver dies, and one transaction
_WEIGHT = 0.2  # of a cell in the running mean of its kind
_AHEAD = 2  # chunks in flight for each worker
_SPLIT, _MOST_LOSSES = 2, 4  # of a cell with its worker or node: then by itself, then no more
_RECENT_S = 60.0  # that the speed is of
_LOST = ("WorkerLost", "ManagerLost")


class Chunks:
    """The cells that are still to be sent. The expected time of a cell is replaced by the time of
    cells of its kind."""

    def __init__(self, works: Sequence[Work], slots: int) -> None:
        self._waiting = deque(works)
        self._again: deque[list[Work]] = deque()
        self._slots = slots
        self._taken: dict[object, float] = {}

    def next(self) -> list[Work]:
        """Return the next chunk; an empty one when all were taken. Towards the end chunks get
        smaller, so that every worker has work until then."""
        if self._again:
            return self._again.popleft()
        chunk: list[Work] = []
        room, most = 0.0, _MOST
        while self._waiting and len(chunk) < most:
            first = self._waiting[0]
            known_s = self._taken.get(kind(first.cell), first.expected_s)
            seconds = GUESS_S if known_s is None else known_s
            if not chunk:
                left_s = len(self._waiting) * seconds
                room = min(CHUNK_S, max(_LEAST_S, left_s / (2 * self._slots)))
            elif seconds > room:
                break
            if known_s is None:
                most = min(most, _UNKNOWN)
            room -= seconds
            chunk.append(self._waiting.popleft())
        return chunk

    def again(self, chunk: list[Work]) -> None:
        """Put a chunk that no worker has finished before all others."""
        if chunk:
            self._again.append(chunk)

    def learn(self, works: Sequence[Work], ended: Sequence[Done]) -> None:
        """Take in how long cells have taken."""
        kinds = {work.identity: kind(work.cell) for work in works}
        for done in ended:
            key = kinds[done.identity]
            before = self._taken.get(key, done.duration_s)
            self._taken[key] = before + _WEIGHT * (done.duration_s - before)


class ParslPool:
    """Runs cells on a cluster. Jobs are asked for when cells are first run, and stay for the next
    ones until the session ends."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.slots = session.cluster.slots
        self._losses: Counter[str] = Counter()
        self._ends: deque[tuple[float, int]] = deque()  # when cells have ended, and how many

    def run(self, works: Sequence[Work]) -> Generator[Sequence[Done], None, None]:
        """Run cells, as Pool says."""
        session = self._session
        with session.undisturbed():
            session.start()
        chunks, plugin = Chunks(works, self.slots), plugin_digest()
        flying: dict[Answer, list[Work]] = {}

        def fill() -> None:
            with session.undisturbed():
                while len(flying) < _AHEAD * self.slots and (some := chunks.next()):
                    chunk = Chunk(some, session.cluster.scratch, plugin)
                    flying[session.submit(run_chunk, chunk)] = some
                session.poll()

        fill()
        while flying:
            done: Sequence[Done] = []
            if (answer := session.next()) is not None and answer in flying:
                with session.undisturbed():
                    done = self._collect(answer, flying.pop(answer), chunks)
            fill()  # before anything is stored: workers must not wait for that
            yield done

    def _collect(self, answer: Answer, sent: list[Work], chunks: Chunks) -> Sequence[Done]:
        """Take in the results of a chunk; send cells without one again."""
        if (error := answer.exception()) is not None:
            return self._lost(error, sent, chunks)
        reply: Reply = answer.result()
        chunks.learn(sent, reply.done)
        self._ends.append((time.monotonic(), len(reply.done)))
        if not reply.refused:
            self._session.answered()
        else:
            self._session.leave_out(reply.place.host, reply.block, reply.refused)
            finished = {done.identity for done in reply.done}
            chunks.again([work for work in sent if work.identity not in finished])
        return reply.done

    def _lost(self, error: BaseException, sent: list[Work], chunks: Chunks) -> Sequence[Done]:
        """Send the cells of a worker that is gone again, after a second loss one by one, since one
        of them may be the reason."""
        if type(error).__name__ not in _LOST:
            raise LockcrossError(
                f"a worker of the cluster failed: {type(error).__name__}: {error}", exit_code=1
            )
        self._losses.update(work.identity for work in sent)
        losses = max(self._losses[work.identity] for work in sent)
        if len(sent) == 1 and losses >= _MOST_LOSSES:
            cause = (
                f"lost {losses} times, the last time by itself: its worker or node ended while it "
                f"ran ({error}); a job past its wall time and too little memory do that"
            )
            return [not_run(sent[0], cause)]
        for part in [sent] if losses < _SPLIT else [[work] for work in sent]:
            chunks.again(part)
        return []

    def state(self) -> str:
        """Say how many blocks and workers there are, and how many cells a second have ended
        lately."""
        if not (blocks := self._session.state()):
            return ""
        now = time.monotonic()
        while self._ends and self._ends[0][0] < now - _RECENT_S:
            self._ends.popleft()
        took = max(1.0, now - self._ends[0][0]) if self._ends else 1.0
        return f"{blocks}, {sum(count for _, count in self._ends) / took:.3g} cells/s"
