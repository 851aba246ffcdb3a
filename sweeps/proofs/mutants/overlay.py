"""How a mutant gets into a program: a copy of lockimpl/ with the changed header takes its place, so
that the tree itself is never touched. A compiler looks beside the including file first, so a folder
with the one header would not do."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from results.paths import ROOT
from sweeps.proofs.mutants.mutant import Mutant, source_of
from sweeps.proofs.mutants.targets import conditions_at

WEAKENED = "proofs/mutants/weakened.h"
SLEEP = "proofs/mutants/sleep.h"
# What clients do not come to otherwise, changed in every copy: a lock that is contended after one
# thread had to park.
_SMALLER = (("locks/tnp_selective.h", "#define TNP_THRESHOLD 4", "#define TNP_THRESHOLD 1"),)


def mutated(command: Sequence[str], mutant: Mutant | None, folder: Path) -> list[str]:
    """The command of a compiler, which runs in the root of the tree, for a mutant (None: the lock
    as it is) that is put into `folder`. It may leave a variable unused, so there are no warnings.
    """
    copy = folder / "lockimpl"
    if not copy.exists():
        shutil.copytree(ROOT / "lockimpl", copy)
        for file, old, new in _SMALLER:
            (copy / file).write_text(source_of(file).replace(old, new), encoding="utf-8")
    if mutant:
        text = mutant.text()
        for file, old, new in _SMALLER:
            text = text.replace(old, new) if file == mutant.file else text
        (copy / mutant.file).write_text(text, encoding="utf-8")
    changed = [f"-I{copy}" if word == "-Ilockimpl" else word for word in command]
    return [*changed, "-w", *(_more(mutant) if mutant else ())]


def _more(mutant: Mutant) -> list[str]:
    """What the change needs besides."""
    more = ["-include", WEAKENED] if "weakened_" in mutant.new else []
    if "defined(LOCKCROSS_NATIVE)" in conditions_at(source_of(mutant.file), mutant.start):
        more += ["-DLOCKCROSS_NATIVE=1", "-include", SLEEP]
    return more
