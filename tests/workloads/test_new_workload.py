"""A new workload is its kernel and its block in the registry: it is listed, swept and run."""

import json
import shutil
from pathlib import Path

import pytest

from results.paths import ROOT
from tests.trees import Tree

BLOCK = """#ifdef WORKLOAD_sync_twice
WORKLOAD(sync_twice, 1, LOCK_MAX_THREADS, "", ANY_CORES)
NUMBER(iterations, REQUIRED, 1000, 1, UINT32_MAX)
LENGTH(iterations)
#endif
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """With a copy of `sync` whose loop acquires the lock twice each time."""
    made = Tree(tmp_path_factory.mktemp("tree"))
    kernel = (ROOT / "workloads" / "kernels" / "sync.c").read_text(encoding="utf-8")
    section = "        result |= guarded_sync(object, self, 0);\n"
    for old, new in (
        ("/* sync:", "/* sync_twice:"),
        ("WORKLOAD_sync", "WORKLOAD_sync_twice"),
        (section, section + section),
        ("i++", "i += 2"),
    ):
        assert kernel.count(old) == 1
        kernel = kernel.replace(old, new)
    made.write("workloads/kernels/sync_twice.c", kernel)
    made.insert("workloads/workloads.def", "#ifdef WORKLOAD_nested_sync", BLOCK)
    plan = Path(__file__).with_name("twice_plan.toml")
    shutil.copy(plan, made.folder / "sweeps" / "plans" / "twice.toml")
    return made


def test_it_is_listed_and_run(tree: Tree, tmp_path: Path) -> None:
    assert "sync_twice" in tree.lockcross("workloads").stdout
    assert "iterations" in tree.lockcross("workloads", "sync_twice").stdout
    db = ("--db", str(tmp_path / "a.db"))
    done = tree.lockcross("sweep", "twice", *db)
    assert done.returncode == 0, done.stdout + done.stderr
    query = "SELECT workload, value FROM runs JOIN metrics ON run_id = id AND name = 'pairs'"
    rows = json.loads(tree.lockcross("query", query, "--format", "json", *db).stdout)
    assert {row["workload"]: row["value"] for row in rows} == {"sync": 100, "sync_twice": 100}


def test_it_checks_its_result(tree: Tree) -> None:
    """It makes one iteration too many of an odd number."""
    words = ("run", "--lock", "thin", "--workload", "sync_twice", "iterations=99")
    done = tree.lockcross(*words)
    assert done.returncode == 1 and "the protected counter is wrong" in done.stdout + done.stderr
