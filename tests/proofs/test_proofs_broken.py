"""Locks that are broken on purpose, given to our own checker and, where they are, to GenMC and
Dartagnan: they agree on which are broken, not only on which are right."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.engines.base import ProcessResult
from sweeps.questions.prove.mutants.mutants import WEAKENED_HEADER, Mutant, mutated
from sweeps.questions.prove.mutants.operators import all_mutants
from sweeps.questions.prove.proofs.outside import Dartagnan, Genmc
from sweeps.questions.prove.proofs.programs import Program
from sweeps.questions.prove.proofs.proving import Job, Tool
from tests.proofs.checked import built, found_or_skipped, program, report

MUTANTS = {one.name: one for one in all_mutants()}
# Accesses of one size, and a failure that is no waiting for ever: GenMC looks for safety alone.
# Each is broken where processors reorder; the last word says whether under total store order too.
BROKEN = [
    ("locks/cas_spin:cas_spin_release:store_rel_u32:no-release", "cas_spin", "exclusion:2x1",
     False),
    ("locks/cas_spin:cas_spin_acquire:cas_acq_u32:no-acquire", "cas_spin", "exclusion:2x1", False),
    ("locks/cas_spin:anybody-releases", "cas_spin", "nesting:2", True),
    ("locks/dekker:dekker_try_acquire:store_u32_then_load_other_acq_u32:no-fence", "dekker",
     "exclusion:2x1", True),
    ("locks/dekker:does-not-look", "dekker", "exclusion:2x1", True),
    ("locks/asym_spin3:asym_spin3_try_other:cas_then_fence_u32:no-fence", "asym_spin3",
     "exclusion:2x1", False),
    ("locks/cilk_the:cilk_the_pop:store_u32_then_load_other_acq_u32:no-fence", "cilk_the",
     "exclusion:2x1", True),
    ("locks/mcs:mcs_release:store_rel_u32:no-release", "mcs", "exclusion:2x1", False),
    ("locks/thin:thin_cas:cas_acq_u32:no-acquire", "thin", "exclusion:2x1", False),
    ("parts/tasuki_spin:spin_release_then_load_flag:store_rel_u32_then_load_next:no-release",
     "tasuki", "exclusion:2x1", False),
    ("monitor/monitor:latch_release:store_rel_u32:no-release", "naive", "exclusion:2x1", False),
    ("locks/relaxed:inflation-forgets-the-holder", "relaxed", "exclusion:2x1", True),
    ("monitor/handshake:leave-does-not-look", "reservation", "handshake:2", True),
    ("monitor/handshake:handshake_leave_safe:store_then_load_acq_u32:no-fence", "reservation",
     "handshake:2", True),
]  # fmt: skip


def ours(one: Program, model: str, mutant: Mutant, folder: Path) -> bool:
    """Tell whether our own checker proves a mutant."""
    binary = built(one, folder, lambda words: mutated(words, mutant, folder))
    verdict = report(binary, model)["verdict"]
    assert verdict in ("proved", "failed")
    return bool(verdict == "proved")


def changed(words: Sequence[str], mutant: Mutant, folder: Path) -> list[str]:
    """The flags of a client, with the mutant's headers in place of lockimpl."""
    copy = [f"-I{folder}/lockimpl" if word == f"-I{ROOT}/lockimpl" else word for word in words]
    assert copy != list(words)
    return ["-include", str(ROOT / WEAKENED_HEADER)] * ("weakened_" in mutant.new) + copy


def theirs(tool: Tool, job: Job, change: Callable[[Sequence[str]], list[str]]) -> str:
    """Return another tool's verdict on it."""
    done = subprocess.run(
        change(tool.command(job)), capture_output=True, text=True, check=False, timeout=600
    )
    said = ProcessResult(done.returncode, done.stdout, done.stderr, "", 0.0)
    return tool.finding(job, said).verdict.value


@pytest.mark.parametrize(("name", "label", "client", "tso_too"), BROKEN)
def test_genmc_agrees_on_a_broken_lock(
    tmp_path: Path, name: str, label: str, client: str, tso_too: bool
) -> None:
    tool, mutant = Genmc(), MUTANTS[name]
    found_or_skipped(tool)

    def change(argv: Sequence[str]) -> list[str]:
        at = list(argv).index("--") + 1
        return [*argv[:at], *changed(argv[at:], mutant, tmp_path)]

    for model, broken in (("weak", True), ("tso", tso_too)):
        one = program(label, client, model)
        assert ours(one, model, mutant, tmp_path) is not broken
        said = {
            other: theirs(tool, Job(one, tool.name, other), change) for other in tool.models(one)
        }
        assert set(said.values()) == {"failed" if broken else "proved"}, said


@pytest.mark.parametrize(
    ("name", "label", "model"),
    [
        (BROKEN[3][0], "dekker", "armv8"),
        (BROKEN[3][0], "dekker", "power"),
        (BROKEN[0][0], "cas_spin", "armv8"),
    ],
)
def test_dartagnan_agrees_on_a_broken_lock(
    tmp_path: Path, name: str, label: str, model: str
) -> None:
    tool, mutant = Dartagnan(), MUTANTS[name]
    found_or_skipped(tool)
    one = program(label, "exclusion:2x1", "weak")
    assert not ours(one, "weak", mutant, tmp_path)

    def change(argv: Sequence[str]) -> list[str]:
        (at,) = (place for place, word in enumerate(argv) if word.startswith("CFLAGS="))
        flags = changed(argv[at].removeprefix("CFLAGS=").split(), mutant, tmp_path)
        return [*argv[:at], f"CFLAGS={' '.join(flags)}", *argv[at + 1 :]]

    assert theirs(tool, Job(one, tool.name, model), change) == "failed"
