"""The blocks of a cluster: how many there are, and when there is no use in waiting for more."""

import os
import re
import sys
import time
from typing import Any

from results.errors import LockcrossError
from sweeps.run.cluster.description import Cluster
from sweeps.run.kept import FULL
from sweeps.support.text import shortened

_FAILURES = 3  # blocks in a row that the batch system refuses, or that end before a worker starts
_QUEUED_S = 60.0  # until people are told why
_PATIENCE_S = 600.0  # with a batch system that does not answer
_LOOK_S = 2.0  # between two questions to the interchange
_NOT_STARTED = ("FAILED", "MISSING")
_REFUSED = "Failed to start block"  # begins what Parsl says of a job that was not taken
_SHOWN = 400  # characters of what a job or the batch system said
# A batch system that is away for a while, in its commands' words.
_AWAY = re.compile(
    r"unable to contact|connection (refused|timed out|reset)|communication|socket|not respond"
    r"|time(d )?[ -]?out|try again|temporarily|zero bytes",
    re.IGNORECASE,
)


class Blocks:
    """What is known of the blocks of an executor. `look` raises LockcrossError (1) when it is of no
    use to wait any longer."""

    def __init__(self, executor: Any, cluster: Cluster, failures: int = _FAILURES) -> None:
        self._failures = failures
        self._executor = executor
        self._cluster = cluster
        self._since = time.monotonic()  # there was a worker, or the first wait began
        self._next_look = 0.0
        self._managers: list[dict[str, Any]] = []
        self._held: set[str] = set()
        self._left_out: dict[str, str] = {}  # host -> why
        self._lost_blocks = 0  # in a row, of nodes that are left out
        self._options = getattr(executor.provider, "scheduler_options", "")
        self._told = False
        self.queued = self.running = 0

    @property
    def workers(self) -> int:
        """Workers that are there and not left out."""
        return sum(
            int(one["worker_count"])
            for one in self._managers
            if one["active"] and one["manager"] not in self._held
        )

    def look(self) -> None:
        """Asks how blocks and workers are, now and then."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        if self._executor.interchange_proc.poll() is not None:
            raise self._error("Parsl's interchange on this machine has ended, or was killed")
        self._managers = self._executor.connected_managers()
        status = dict(self._executor.status_facade)
        states = [one.status_name for one in status.values()]
        self.queued, self.running = states.count("PENDING"), states.count("RUNNING")
        if self.workers:
            self._since, self._told = now, False
        else:
            self._judge(list(status.values()), now - self._since)

    def _judge(self, status: list[Any], waited_s: float) -> None:
        """Without any worker: whether one may still come."""
        ended = [one for one in status if one.status_name not in ("PENDING", "RUNNING")]
        last = ended[-self._failures :]
        # Parsl calls a block that could not be asked for FAILED at first, later MISSING.
        refused = [one for one in last if _REFUSED in (one.message or "")]
        if refused and _AWAY.search(refused[-1].message):
            self._tell(f"the batch system does not answer; waiting ({_words(refused[-1].message)})")
            if waited_s > _PATIENCE_S:
                raise self._error(
                    f"the batch system has not answered for {waited_s / 60:.0f} minutes: "
                    f"{_words(refused[-1].message)}"
                )
        elif len(refused) == self._failures:
            message = refused[-1].message
            if any(os.strerror(number) in message for number in FULL):
                raise self._error(f"no job can be asked for, the disk is full: {_words(message)}")
            raise self._error(
                f"the batch system refuses the job: {_words(message)}; correct the cluster file"
            )
        elif sum(one.status_name in _NOT_STARTED for one in last) == self._failures:
            raise self._error(
                f"{self._failures} jobs in a row have ended before a worker of theirs answered"
                f"{_said(last[-1])}; check python and commands in the cluster file, and that nodes "
                f"reach this machine at {self._executor.address} (address)"
            )
        if not self.queued or self.running:
            return
        if waited_s > self._cluster.queue_minutes * 60:
            raise self._error(
                f"no job has started in {self._cluster.queue_minutes:g} minutes, as many as the "
                f"cluster file allows (queue_minutes); {self.queued} are queued{self._why_queued()}"
            )
        if waited_s > _QUEUED_S and not self._told:
            self._tell(f"{self.queued} jobs are queued, and none has started{self._why_queued()}")

    def leave_out(self, host: str, manager: str, why: str) -> None:
        """A node cannot run the cells: it gets no more of them, and its block makes room for
        another one when no node of it is left."""
        if host not in self._left_out:
            self._left_out[host] = why
            print(f"lockcross: node {host} is left out: {why}", file=sys.stderr)
        if manager in self._held:
            return
        self._held.add(manager)
        self._executor._hold_manager(manager)
        if self._cluster.provider == "slurm":  # the next block goes elsewhere
            self._executor.provider.scheduler_options = (
                f"{self._options}#SBATCH --exclude={','.join(self._left_out)}\n"
            )
        self._managers = self._executor.connected_managers()
        block = next((one["block_id"] for one in self._managers if one["manager"] == manager), None)
        if all(one["manager"] in self._held for one in self._managers if one["block_id"] == block):
            self._lost_blocks += 1
            if job := self._executor.blocks_to_job_id.get(block):
                self._executor.provider.cancel([job])
        if self._lost_blocks >= max(_FAILURES, self._cluster.blocks) and not self.workers:
            raise self._error("no node can run the cells")

    def _why_queued(self) -> str:
        """The batch system's reason, where it is known how to ask."""
        if self._cluster.provider != "slurm":
            return ""
        jobs = ",".join(self._executor.job_ids_to_block)
        _, said, _ = self._executor.provider.execute_wait(f"squeue -h -o %r -j {jobs}")
        return f" (Slurm's reason: {', '.join(sorted(set(said.split())))})" if said.strip() else ""

    def answered(self) -> None:
        """A node has run cells."""
        self._lost_blocks = 0

    def _error(self, message: str) -> LockcrossError:
        nodes = "".join(f"\n  {host}: {why}" for host, why in self._left_out.items())
        return LockcrossError(
            f"{message}. What was run is stored; once this is settled, the same command runs the "
            f"rest{'. Nodes that were left out:' + nodes if nodes else ''}",
            exit_code=1,
        )

    def _tell(self, message: str) -> None:
        if not self._told:
            print(f"lockcross: {message}", file=sys.stderr)
        self._told = True


def _said(status: Any) -> str:
    """What a job said last, of itself or on standard error."""
    said = (status.stderr_summary or "").strip().splitlines()[-1:]
    return f": {shortened(said[0], _SHOWN)}" if said else ""


def _words(message: str) -> str:
    """What the batch system's command said, without Parsl's words before it."""
    return shortened(" ".join(message.rpartition("stderr=")[2].split()), _SHOWN)
