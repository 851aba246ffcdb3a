"""The pool of a cluster: Parsl's workers run the cells, packed into chunks of about two seconds."""

import hashlib
import pickle
import time
from collections import Counter, deque
from collections.abc import Generator, Sequence

from results.errors import LockcrossError
from sweeps.run.cluster import ship
from sweeps.run.cluster.node.worker import Chunk, Reply, run_chunk
from sweeps.run.cluster.session import Answer, Function, Session
from sweeps.run.costs import GUESS_S, kind
from sweeps.run.work import Done, Work, keep, not_run
from sweeps.support.paths import ENGINE_PLUGIN

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
        """Puts a chunk that no worker has finished before all others."""
        if chunk:
            self._again.append(chunk)

    def learn(self, works: Sequence[Work], done: Sequence[Done]) -> None:
        """What cells have taken."""
        kinds = {work.identity: kind(work.cell) for work in works}
        for chunk in done:
            key = kinds[chunk.identity]
            before = self._taken.get(key, chunk.duration_s)
            self._taken[key] = before + _WEIGHT * (chunk.duration_s - before)


_AHEAD = 2  # chunks in flight for each worker
_SPLIT, _MOST_LOSSES = 2, 4  # of a cell with its worker or node: then by itself, then no more
_RECENT_S = 60.0  # that the speed is of
_LOST = ("WorkerLost", "ManagerLost")


class ParslPool:
    """Runs cells on a cluster. Jobs are asked for when cells are first run, and stay for the next
    ones until the session ends. `function` is what a worker does with a chunk, `message` what it is
    sent, and `received` sees every answer: the benchmark has others."""

    function: Function = staticmethod(run_chunk)

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cluster = session.cluster
        self.slots = session.cluster.slots
        self._plugin = hashlib.sha256(ENGINE_PLUGIN.read_bytes()).hexdigest()
        self._sent: set[str] = set()  # digests of programs that nodes were sent
        self._lacking: set[str] = set()  # cells whose programs a node did not have
        self._losses: Counter[str] = Counter()
        self._ends: deque[tuple[float, int]] = deque()  # when cells have ended, and how many

    def run(self, works: Sequence[Work]) -> Generator[Sequence[Done], None, None]:
        """As Pool."""
        session = self._session
        with session.undisturbed():
            session.start()
        chunks = Chunks(works, self.slots)
        flying: dict[int, list[Work]] = {}
        self._fill(flying, chunks)
        while flying:
            done: Sequence[Done] = []
            if (answered := session.next()) is not None and answered[0] in flying:
                with session.undisturbed():
                    done = self._collect(answered[1], flying.pop(answered[0]), chunks)
            self._fill(flying, chunks)  # before anything is stored: workers must not wait for that
            yield done

    def _fill(self, flying: dict[int, list[Work]], chunks: Chunks) -> None:
        scratch, most = self._cluster.scratch, _AHEAD * self._cluster.slots
        with self._session.undisturbed():
            while len(flying) < most and (works := chunks.next()):
                chunk = Chunk(works, scratch, self._plugin, self.programs_for(works))
                message = pickle.dumps(self.message(chunk), protocol=pickle.HIGHEST_PROTOCOL)
                flying[self._session.submit(self.function, message)] = works
            self._session.look()

    def programs_for(self, works: Sequence[Work]) -> dict[str, bytes] | None:
        """What is sent with a chunk where no tree is shared: programs that no node has had, and
        those of cells that were on a node without theirs."""
        if self._cluster.tree == "shared":
            return None
        binaries = {
            work.binary
            for work in works
            if work.identity in self._lacking or work.binary.digest not in self._sent
        }
        self._lacking.difference_update(work.identity for work in works)
        self._sent.update(binary.digest for binary in binaries)
        return ship.packed(binaries)

    def message(self, chunk: Chunk) -> object:
        """What a worker is sent."""
        return chunk

    def _collect(self, answer: Answer, sent: list[Work], chunks: Chunks) -> Sequence[Done]:
        """What came of a chunk; what did not is sent again."""
        if (error := answer.exception()) is not None:
            return self._lost(error, sent, chunks)
        reply: Reply = pickle.loads(answer.result())
        self.received(reply, len(answer.result()))
        chunks.learn(sent, reply.done)
        self._ends.append((time.monotonic(), len(reply.done)))
        if reply.missing:
            self._lacking.update(w.identity for w in sent if w.binary.digest in reply.missing)
            chunks.again(sent)
        elif not reply.refused:
            self._session.look().answered()
        else:
            self._session.look().leave_out(reply.place.host, reply.manager, reply.refused)
            finished = {done.identity for done in reply.done}
            chunks.again([work for work in sent if work.identity not in finished])
        folders = reply.folders
        return [keep(folders[d.identity], d) if d.identity in folders else d for d in reply.done]

    def received(self, reply: Reply, size: int) -> None:
        """A reply is there; for whoever measures."""

    def _lost(self, error: BaseException, sent: list[Work], chunks: Chunks) -> Sequence[Done]:
        """A worker or its node is gone. The cells are sent again, after a second loss one by one,
        since one of them may be the reason."""
        if type(error).__name__ not in _LOST:
            raise LockcrossError(
                f"a worker of the cluster failed: {type(error).__name__}: {error}; "
                "./lockcross cluster check shows what its nodes lack",
                exit_code=1,
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
        """Blocks, workers, and how many cells a second have ended lately."""
        if (blocks := self._session.blocks) is None:
            return ""
        now = time.monotonic()
        while self._ends and self._ends[0][0] < now - _RECENT_S:
            self._ends.popleft()
        took = max(1.0, now - self._ends[0][0]) if self._ends else 1.0
        speed = sum(count for _, count in self._ends) / took
        return (
            f"{blocks.running} blocks running, {blocks.queued} queued, {blocks.workers} workers, "
            f"{speed:.3g} cells/s"
        )
