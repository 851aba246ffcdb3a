"""A new lock is its header, its entry in the registry, its row of documentation and its expected
values. Two are added: cas_copy, a copy of cas_spin, and pooled (pooled.h), whose header declares
pools and a part of the monitor."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.model.isa import ISAS
from sweeps.model.locks import LockLabel
from sweeps.report.style import STYLES, style_of
from tests.locks.footprint_values import compiler
from tests.trees import Tree

HERE = Path(__file__).parent
ENTRIES = """
LOCK(cas_copy, "copy of the CAS-based spin lock", "nobody", TRAIT_NONE, FENCE_FULL, 0, 0,
     "as cas_spin, under another name")
LOCK(pooled, "lock with records", "nobody", TRAIT_JAVA, FENCE_FULL, 0, 0,
     "records of a pool lead to monitors that count")
"""
ROWS = (
    "| `cas_copy` | CAS | store | failed CAS, store | store |",
    "| `pooled` | CAS of a latch | CAS of a latch | store | store |",
)
POOLED = "lockimpl/locks/pooled.h"
COPY = "lockimpl/locks/cas_copy.h"
TESTS = (
    "tests/questions/test_listings.py::test_every_lock_has_its_row_of_documentation",
    "tests/locks/test_locks.py",
    "tests/locks/test_generated_code.py",
)
CONFORMANCE = "--workload conformance --threads 3 iterations=1".split()


def said_by(done: subprocess.CompletedProcess[str]) -> str:
    """Return all that a command has said, which must succeed."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def failing(
    tree: Tree, header: str, change: tuple[str, str], *command: str
) -> subprocess.CompletedProcess[str]:
    """Run a command, which must fail, where a header has another text."""
    kept = (tree.folder / header).read_text(encoding="utf-8")
    assert kept.count(change[0]) == 1
    tree.write(header, kept.replace(*change))
    done = tree.lockcross(*command)
    tree.write(header, kept)
    assert done.returncode == 1, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("tree"), left_out=())
    header = (ROOT / "lockimpl" / "locks" / "cas_spin.h").read_text(encoding="utf-8")
    copied = header.replace("cas_spin", "cas_copy").replace("CAS_SPIN", "CAS_COPY")
    made.write(COPY, copied)
    shutil.copy(HERE / "pooled.h", made.folder / POOLED)
    registry = (ROOT / "lockimpl" / "locks.def").read_text(encoding="utf-8")
    made.write("lockimpl/locks.def", registry + ENTRIES)
    for row in ROWS:
        made.insert("lockimpl/README.md", "| `thin` |", row)
    said_by(made.python("tests.locks.footprint_values", "cas_copy", "pooled", "thin"))
    return made


def test_it_is_listed_run_and_counted(tree: Tree, tmp_path: Path) -> None:
    assert "as cas_spin, under another name" in tree.lockcross("locks").stdout
    assert "copy of the CAS-based spin lock; nobody" in tree.lockcross("locks", "cas_copy").stdout
    db = ("--db", str(tmp_path / "a.db"))
    shutil.copy(HERE / "copy_plan.toml", tree.folder / "sweeps/plans/copy.toml")
    said_by(tree.lockcross("run", "--lock", "cas_copy", *CONFORMANCE))
    for isa in ISAS:
        said_by(tree.lockcross("run", "--lock", "pooled", "--isa", isa, *CONFORMANCE))
    said_by(tree.lockcross("sweep", "copy", *db))
    said_by(tree.lockcross("footprint", "cas_copy", "--isa", "x86_64", *db))
    query = "SELECT count(DISTINCT value) FROM runs JOIN metrics ON run_id = id AND name = 'cycles'"
    done = tree.lockcross("query", f"{query} WHERE workload = 'threads'", "--format", "csv", *db)
    assert done.stdout.splitlines()[-1] == "1", "the copy costs what the original does"


def test_it_is_drawn_in_a_look_of_its_own_name(tree: Tree, tmp_path: Path) -> None:
    own = style_of(LockLabel("cas_copy"))
    assert "cas_copy" not in STYLES
    shutil.copy(HERE / "copy_study.toml", tree.folder / "sweeps/plans/studies/copy.toml")
    said_by(tree.lockcross("crossover", "--study", "copy", "--db", str(tmp_path / "a.db")))
    drawn = (tmp_path / "figures" / "winner_map.svg").read_text(encoding="utf-8")
    assert own.colour.lower() in drawn
    assert "cas_copy" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_tests_of_all_locks_test_it(tree: Tree) -> None:
    chosen = ("-k", "cas_copy or pooled or documentation")
    done = tree.python("pytest", "-n", "0", "-p", "no:cacheprovider", "-vv", *chosen, *TESTS)
    passed = [line for line in said_by(done).splitlines() if "PASSED" in line]
    for lock in ("cas_copy", "pooled"):  # conformance, and the code for each ISA
        assert sum(lock in line for line in passed) >= 4, lock


def test_its_monitors_have_its_part(tree: Tree) -> None:
    """Two counters of eight bytes, where the monitor of other locks keeps room for one."""
    kept = tree.folder / "tests" / "footprint" / f"{compiler()}.json"
    rows = json.loads(kept.read_text(encoding="utf-8"))
    (_, without), (_, counting) = (rows[f"{lock} lock any"]["bytes"] for lock in ("thin", "pooled"))
    assert counting == without + 8


def test_it_is_proved_in_a_pool_that_its_header_makes_small(tree: Tree) -> None:
    """With the clients that take no time."""
    clients = ("exclusion:2x2", "nesting", "condition:2", "two_locks:2")
    named = [word for client in clients for word in ("--clients", client)]
    proved = said_by(tree.lockcross("prove", "pooled", *named, "--store"))
    assert f"{2 * (len(clients) + 1)} proved" in proved  # under tso and weak
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
    prove = ("prove", "pooled", "--clients", "exclusion:2x2", "--models", "weak")
    assert "failed" in failing(tree, POOLED, (step, wrong), *prove).stdout


CRASH = "a thread of the program has crashed"
UNKNOWN = "is unknown: the engine simulates the instructions of the general registers"


@pytest.mark.parametrize(
    ("isa", "code", "why"),
    [
        ("x86_64", "ud2", CRASH),
        ("x86_64", "pxor %%xmm0, %%xmm0", UNKNOWN),
        ("aarch64", ".arch_extension simd\\n movi v0.2d, #0", UNKNOWN),
        ("ppc64le", ".machine altivec\\n vxor 0, 0, 0", UNKNOWN),
    ],
)
def test_a_lock_with_an_instruction_that_cannot_be_run_fails(
    tree: Tree, isa: str, code: str, why: str
) -> None:
    """At once, though QEMU alone would wait for ever for the threads that wait for a crashed one;
    and with no time that is made up."""
    change = "    do {\n", f'    asm volatile("{code}" ::: "memory");\n    do {{\n'
    done = failing(tree, COPY, change, "run", "--lock", "cas_copy", *CONFORMANCE, "--isa", isa)
    assert why in " ".join((done.stdout + done.stderr).split())
