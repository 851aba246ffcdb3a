"""A new lock is its header, its entry in the registry, its row of documentation and its expected
values: it is listed, built, run, counted, drawn and proved, and the tests of all locks test it. The
pools and the part of the monitor that it alone has are declared by its header.

Two locks are added: cas_copy, a copy of cas_spin, and pooled (pooled.h), which has both."""

import json
import subprocess
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.model.isa import ISAS
from sweeps.model.locks import LockLabel
from sweeps.report.style import STYLES, style_of
from tests.locks.footprint_values import compiler
from tests.trees import Tree

ENTRY = """
LOCK(cas_copy, "copy of the CAS-based spin lock", "nobody", TRAIT_NONE, FENCE_FULL, 0, 0,
     "as cas_spin, under another name")
"""
ROW = "| `cas_copy` | CAS | store | failed CAS, store | store |"
POOLED = "lockimpl/locks/pooled.h"
POOLED_HEADER = Path(__file__).with_name("pooled.h").read_text(encoding="utf-8")
POOLED_ENTRY = """
LOCK(pooled, "lock with records", "nobody", TRAIT_JAVA, FENCE_FULL, 0, 0,
     "records of a pool lead to monitors that count")
"""
POOLED_ROW = "| `pooled` | CAS of a latch | CAS of a latch | store | store |"
PLAN = """
title = "A copy beside its original"

[[sweep]]
machine = "generic"
isa = "x86_64"
lock = ["cas_spin", "cas_copy"]
workload = "threads"
threads = 2
parameters = { iterations = 50, critical = 2, think = 5 }
"""
STUDY = """
title = "A copy against tasuki"
locks = ["cas_copy", "tasuki"]
calibration = { latencies = [0, 150] }

[[cells]]
name = "map"
apart = ["machine", "isa", "flavour"]
machine = "generic"
isa = "x86_64"
workload = "lock_sequence"
threads = 2
parameters = { objects = 2, runs = 2, run_length = 5, owner_share = 0.5 }
cas_latency = [0, 150]
fence_latency = [0, 150]

[[borders]]
cells = "map"
axes = ["cas_latency", "fence_latency"]
tolerance = 50
"""
TESTS = (
    "tests/questions/test_listings.py::test_every_lock_has_its_row_of_documentation",
    "tests/locks/test_locks.py",
    "tests/locks/test_generated_code.py",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("tree"), left_out=())
    header = (ROOT / "lockimpl" / "locks" / "cas_spin.h").read_text(encoding="utf-8")
    copied = header.replace("cas_spin", "cas_copy").replace("CAS_SPIN", "CAS_COPY")
    made.write("lockimpl/locks/cas_copy.h", copied)
    made.write(POOLED, POOLED_HEADER)
    registry = (ROOT / "lockimpl" / "locks.def").read_text(encoding="utf-8")
    made.write("lockimpl/locks.def", registry + ENTRY + POOLED_ENTRY)
    for row in (ROW, POOLED_ROW):
        made.insert("lockimpl/README.md", "| `thin` |", row)
    done = made.python("tests.locks.footprint_values", "cas_copy", "pooled", "thin")
    assert done.returncode == 0, done.stderr
    return made


def test_it_is_listed_run_and_counted(tree: Tree, tmp_path: Path) -> None:
    assert "as cas_spin, under another name" in tree.lockcross("locks").stdout
    assert "copy of the CAS-based spin lock; nobody" in tree.lockcross("locks", "cas_copy").stdout
    db = ("--db", str(tmp_path / "a.db"))
    tree.write("sweeps/plans/copy.toml", PLAN.lstrip())
    for words in (
        tuple("run --lock cas_copy --workload conformance --threads 3 iterations=1".split()),
        ("sweep", "copy", *db),
        ("footprint", "cas_copy", "--isa", "x86_64", *db),
    ):
        done = tree.lockcross(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    query = "SELECT count(DISTINCT value) FROM runs JOIN metrics ON run_id = id AND name = 'cycles'"
    done = tree.lockcross("query", f"{query} WHERE workload = 'threads'", "--format", "csv", *db)
    assert done.stdout.splitlines()[-1] == "1", "the copy costs what the original does"


def test_it_is_drawn_in_a_look_of_its_own_name(tree: Tree, tmp_path: Path) -> None:
    own = style_of(LockLabel("cas_copy"))
    assert "cas_copy" not in STYLES
    tree.write("sweeps/plans/studies/copy.toml", STUDY.lstrip())
    done = tree.lockcross("crossover", "--study", "copy", "--db", str(tmp_path / "a.db"))
    assert done.returncode == 0, done.stdout + done.stderr
    drawn = (tmp_path / "figures" / "winner_map.svg").read_text(encoding="utf-8")
    assert own.colour.lower() in drawn
    assert "cas_copy" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_tests_of_all_locks_test_it(tree: Tree) -> None:
    chosen = ("-k", "cas_copy or pooled or documentation")
    done = tree.python("pytest", "-n", "0", "-p", "no:cacheprovider", "-vv", *chosen, *TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = [line for line in done.stdout.splitlines() if "PASSED" in line]
    for lock in ("cas_copy", "pooled"):  # conformance, and the code for each ISA
        assert sum(lock in line for line in passed) >= 4, lock


def test_its_monitors_have_its_part(tree: Tree) -> None:
    """Two counters of eight bytes, where the monitor of other locks keeps room for one."""
    kept = tree.folder / "tests" / "footprint" / f"{compiler()}.json"
    rows = json.loads(kept.read_text(encoding="utf-8"))
    (_, without), (_, counting) = (rows[f"{lock} lock any"]["bytes"] for lock in ("thin", "pooled"))
    assert counting == without + 8


@pytest.mark.parametrize("isa", list(ISAS))
def test_it_runs_on_every_isa(tree: Tree, isa: str) -> None:
    words = ("--workload", "conformance", "--threads", "3", "iterations=1")
    done = tree.lockcross("run", "--lock", "pooled", "--isa", isa, *words)
    assert done.returncode == 0, done.stdout + done.stderr


CLIENTS = ("exclusion:2x2", "nesting", "condition:2", "two_locks:2")


def prove(tree: Tree, *words: str) -> subprocess.CompletedProcess[str]:
    """Prove it with the clients that take no time."""
    named = [word for client in CLIENTS for word in ("--clients", client)]
    return tree.lockcross("prove", "pooled", *named, *words)


def test_it_is_proved_in_a_pool_that_its_header_makes_small(tree: Tree) -> None:
    done = prove(tree, "--store")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * (len(CLIENTS) + 1)} proved" in done.stderr + done.stdout  # under tso and weak
    said = tree.lockcross("locks", "pooled").stdout
    assert all(f"pooled on {isa}: proved" in said for isa in ISAS), said


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ("store_rel_u32(&obj->lock_word", "store_rlx_u32(&obj->lock_word"),  # of its pool
        (  # of its part
            "    monitor_enter(monitor, self);\n    monitor->acquisitions++;\n",
            "    monitor->acquisitions++;\n    monitor_enter(monitor, self);\n",
        ),
    ],
    ids=["pool", "part"],
)
def test_a_proof_looks_at_its_pool_and_at_its_part(tree: Tree, step: str, wrong: str) -> None:
    assert POOLED_HEADER.count(step) == 1
    tree.write(POOLED, POOLED_HEADER.replace(step, wrong))
    done = tree.lockcross("prove", "pooled", "--clients", "exclusion:2x2", "--models", "weak")
    tree.write(POOLED, POOLED_HEADER)
    assert done.returncode == 1 and "failed" in done.stdout, done.stdout + done.stderr


CONTENDED = tuple("run --lock cas_spin --workload conformance --threads 3 iterations=1".split())


def with_a_line(folder: Path, line: str) -> Tree:
    """A tree in which waiting for `cas_spin` begins with a line of C."""
    tree = Tree(folder / "tree")
    header = (ROOT / "lockimpl" / "locks" / "cas_spin.h").read_text(encoding="utf-8")
    path = "    do {\n"
    assert header.count(path) == 1
    tree.write("lockimpl/locks/cas_spin.h", header.replace(path, f"    {line}\n{path}"))
    return tree


def test_a_lock_that_crashes_fails_its_run_at_once(tmp_path: Path) -> None:
    """QEMU alone would wait forever for the threads that wait for their turn."""
    tree = with_a_line(tmp_path, "__builtin_trap();")
    done = tree.lockcross(*CONTENDED)
    assert done.returncode == 1
    assert "a thread of the program has crashed" in done.stdout + done.stderr


VECTOR = {
    "x86_64": "pxor %%xmm0, %%xmm0",
    "aarch64": ".arch_extension simd\\n movi v0.2d, #0",
    "ppc64le": ".machine altivec\\n vxor 0, 0, 0",
}


def test_a_lock_with_an_instruction_that_the_engine_does_not_know_fails(tmp_path: Path) -> None:
    """Rather than with a time that is made up."""
    lines = [f'asm volatile("{code}" ::: "memory");' for code in VECTOR.values()]
    names = ("__x86_64__", "__aarch64__", "__powerpc64__")
    each = [f"\n#ifdef {name}\n{line}\n#endif" for name, line in zip(names, lines, strict=True)]
    tree = with_a_line(tmp_path, "".join(each))
    for isa in VECTOR:
        done = tree.lockcross(*CONTENDED, "--isa", isa)
        assert done.returncode == 1
        said = " ".join((done.stdout + done.stderr).split())
        assert "is unknown: the engine simulates the instructions of the general registers" in said
