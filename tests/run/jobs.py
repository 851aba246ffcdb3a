"""Sweeps for tests of how jobs are run, and what is stored of them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

# Everything that a run says, without where and when it ran.
RUNS = """
SELECT identity, status, cause, engine_version, binary_digest, attempts, numbers, layout,
    resolved_options.digest
FROM runs LEFT JOIN run_metrics ON run_id = runs.id LEFT JOIN metric_sets ON metric_set =
    metric_sets.id JOIN resolved_options ON resolved_options.id = resolved_id ORDER BY identity
"""


def rows(db: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=10)) as connection:
        return connection.execute(query).fetchall()


def write_plan(folder: Path, latencies: int, iterations: int, **axes: object) -> Path:
    """Write a sweep over so many latencies of a CAS, on every ISA unless `axes` name one."""
    values = {"machine": "generic", "lock": "cas_spin", "workload": "sync"} | axes
    lines = ['title = "A sweep for tests"', "[[sweep]]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    lines += [f"parameters = {{ iterations = {iterations} }}"]
    lines += [f"cas_latency = {{ from = 1, to = {latencies}, step = 1 }}"]
    (folder / "plan.toml").write_text("\n".join(lines))
    return folder / "plan.toml"


def write_cluster(folder: Path, **keys: object) -> Path:
    """Write a cluster's file, with a title and these keys."""
    values = {"title": "a test"} | keys
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    (folder / "cluster.toml").write_text("\n".join(lines))
    return folder / "cluster.toml"
