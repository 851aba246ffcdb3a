"""Building: the cache, the registry, and the message when it cannot be done."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.isa import FLAVOURS
from sweeps.model.locks import Trait, load_locks, parse_locks
from sweeps.programs import Builder, Program
from tests.commands import program

THIN = Program("sync", "thin", "full", "lock")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the C sources."""
    for folder in ("lockimpl", "workloads"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_a_program_is_built_once_and_anew_when_a_source_changes(tree: Path) -> None:
    folder = tree / "bin"
    first = Builder(tree, folder).build([THIN, THIN])[THIN]
    made = first.path.stat().st_mtime_ns
    assert Builder(tree, folder).build([THIN])[THIN] == first
    assert first.path.stat().st_mtime_ns == made
    with (tree / "lockimpl" / "lock.h").open("a") as header:
        header.write("/* one more line */\n")
    again = Builder(tree, folder).build([THIN])[THIN]
    assert again.path != first.path
    assert again.digest == first.digest  # a comment changes no code, so results stay known
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == []


def test_the_same_sources_give_the_same_program_anywhere(tree: Path) -> None:
    programs = [replace(THIN, flavour=flavour) for flavour in FLAVOURS]
    here = Builder().build(programs)
    there = Builder(tree, tree / "bin").build(programs)
    assert [here[p].digest for p in programs] == [there[p].digest for p in programs]


def test_a_compile_error_is_one_message(tree: Path) -> None:
    with (tree / "workloads" / "kernels" / "sync.c").open("a") as kernel:
        kernel.write("this is not C\n")
    with pytest.raises(LockcrossError, match=r"workload sync with lock thin .*\n.*sync\.c:") as e:
        Builder(tree, tree / "bin").build([THIN])
    assert e.value.exit_code == 1
    assert list((tree / "bin").iterdir()) == []


def test_a_missing_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LockcrossError, match="gcc-powerpc64le-linux-gnu") as error:
        Builder().build([replace(THIN, flavour="larx")])
    assert error.value.exit_code == 1


def test_a_broken_compiler_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "x86_64-linux-gnu-gcc", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LockcrossError, match="does not run"):
        Builder().build([THIN])


def test_the_registry_is_read() -> None:
    locks = load_locks()
    kinds = "full rmw lock_add store_forward membarrier".split()
    assert [*locks["asym_tasuki"].fence_kinds] == kinds
    assert locks["thin"].java and not locks["cas_spin"].java


def test_a_faulty_registry_names_the_line() -> None:
    good = """/* LOCK(no entry) */
        LOCK(a, "A", "b, 3", TRAIT_JAVA | TRAIT_CANCELS,
             FENCE_FULL | FENCE_RMW, 2, 3, "c "
             "(d)")
        VARIANT(a, e, TRAIT_NONE, "g")
        VARIANT(a, f, TRAIT_UNORDERED, "h")
        SHIPS_IN(a, "A runtime, from 2")
        READS_TIME(a, f)
    """
    (lock,) = parse_locks(good).values()
    assert (lock.source, lock.threads, lock.words, lock.summary) == ("b, 3", 2, 3, "c (d)")
    assert lock.ships_in == "A runtime, from 2"
    assert [lock.reads_time(variant) for variant in ("", "f")] == [False, True]
    assert lock.variants == ("e", "f") and lock.variant_lines[1].summary == "h"
    assert lock.java and lock.has(Trait.CANCELS, "f")
    unordered = [lock.has(Trait.UNORDERED, variant) for variant in ("", "e", "f")]
    assert unordered == [False, False, True]
    for wrong, words in (
        (good + "LOCK(b)\n", r"not an entry: LOCK\(b"),
        (good.replace("FENCE_RMW", "FENCE_HALF"), "a: FENCE_HALF is unknown; allowed are FENCE_"),
        (good.replace("TRAIT_JAVA", "TRAIT_FAST"), "a: TRAIT_FAST is unknown; allowed are TRAIT_"),
        (good.replace("TRAIT_JAVA", "java"), "a: java is unknown"),
        (good.replace("VARIANT(a, f", "VARIANT(z, f"), "variants of z, which is no lock"),
        (good.replace("TRAIT_NONE", "TRAIT_UNORDERED"), "variant e is the default"),
        (good.replace("SHIPS_IN(a", "SHIPS_IN(z"), "A runtime, from 2 ships z, which is no lock"),
        (good.replace("READS_TIME(a, f", "READS_TIME(a, z"), r"READS_TIME\(a, z\): no such lock"),
    ):
        with pytest.raises(LockcrossError, match=words):
            parse_locks(wrong)
