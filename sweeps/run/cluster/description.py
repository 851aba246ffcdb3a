"""Cluster files: the jobs to request from a batch system, and the surroundings of their nodes."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from sweeps.support.paths import CLUSTERS
from sweeps.support.toml import Document, Documents


def _wall_time(text: str) -> str:
    if not re.fullmatch(r"\d{1,3}:[0-5]\d:[0-5]\d", text) or not int(text.replace(":", "")):
        raise ValueError("allowed is a time as 02:00:00: hours, minutes, seconds")
    return text


def _one_line(text: str) -> str:
    if re.search(r"[\s'\"\\]", text):
        raise ValueError("spaces, quotes and backslashes are not allowed")
    return text


Word = Annotated[str, AfterValidator(_one_line)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class Cluster(Document):
    """A cluster file. `options` go to Parsl's provider as they are."""

    title: str
    provider: Literal["slurm", "local", "pbs", "torque", "lsf", "grid_engine"]
    partition: Word = ""
    account: Word = ""
    nodes: Count = 1  # of a block, which is one job
    workers: Count  # of a node
    cpus: Count | None = None  # of a node that a job asks for; None: one per worker
    memory_gb: Count | None = None  # of a node that a job asks for
    wall_time: Annotated[str, AfterValidator(_wall_time)] = "01:00:00"  # of a block
    blocks: Count = 1  # at most
    commands: list[str] = []  # of the shell, before anything else in a job
    scratch: Word = "/tmp"  # on each node, its own; variables are the node's
    python: Word = ""  # on the nodes; empty: the driver's own
    address: Word = ""  # of this machine, as the nodes reach it; empty: found out
    options: dict[str, str | int | float | bool] = {}

    @property
    def slots(self) -> int:
        return self.blocks * self.nodes * self.workers

    @property
    def wall_s(self) -> int:
        """Return the seconds of a block."""
        hours, minutes, seconds = map(int, self.wall_time.split(":"))
        return (hours * 60 + minutes) * 60 + seconds


def load_cluster(name: str) -> Cluster:
    """Read the cluster of a name in sweeps/clusters, or of a file. Raises LockcrossError (2)."""
    return Documents("cluster", CLUSTERS).load(Cluster, name)
