"""Locks that are broken on purpose, given to our own checker and, where they are, to GenMC and
Dartagnan: they agree on which are broken, not only on which are right."""

import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
BROKEN: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("broken.toml").read_text(encoding="utf-8")
)
NO_FENCE = "locks/dekker:dekker_try_acquire:store_u32_then_load_other_acq_u32:no-fence"
NO_RELEASE = "locks/cas_spin:cas_spin_release:store_rel_u32:no-release"


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


@pytest.mark.parametrize("name", BROKEN)
def test_genmc_agrees_on_a_broken_lock(tmp_path: Path, name: str) -> None:
    tool, mutant, chosen = Genmc(), MUTANTS[name], BROKEN[name]
    found_or_skipped(tool)

    def change(argv: Sequence[str]) -> list[str]:
        at = list(argv).index("--") + 1
        return [*argv[:at], *changed(argv[at:], mutant, tmp_path)]

    for model, broken in (("weak", True), ("tso", chosen["tso"])):
        one = program(chosen["lock"], chosen["client"], model)
        assert ours(one, model, mutant, tmp_path) is not broken
        said = {
            other: theirs(tool, Job(one, tool.name, other), change) for other in tool.models(one)
        }
        assert set(said.values()) == {"failed" if broken else "proved"}, said


@pytest.mark.parametrize(
    ("name", "model"), [(NO_FENCE, "armv8"), (NO_FENCE, "power"), (NO_RELEASE, "armv8")]
)
def test_dartagnan_agrees_on_a_broken_lock(tmp_path: Path, name: str, model: str) -> None:
    tool, mutant = Dartagnan(), MUTANTS[name]
    found_or_skipped(tool)
    one = program(BROKEN[name]["lock"], BROKEN[name]["client"], "weak")
    assert not ours(one, "weak", mutant, tmp_path)

    def change(argv: Sequence[str]) -> list[str]:
        (at,) = (place for place, word in enumerate(argv) if word.startswith("CFLAGS="))
        flags = changed(argv[at].removeprefix("CFLAGS=").split(), mutant, tmp_path)
        return [*argv[:at], f"CFLAGS={' '.join(flags)}", *argv[at + 1 :]]

    assert theirs(tool, Job(one, tool.name, model), change) == "failed"
