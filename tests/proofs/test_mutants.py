"""Mutants of the locks: they still are some, a row explains each, a few of each kind are caught."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.locks import LockLabel, load_locks
from sweeps.questions.prove.mutants import campaign
from sweeps.questions.prove.mutants.campaign import (
    JudgedMutant,
    Verdict,
    caught_share,
    explanations,
    read_judged,
)
from sweeps.questions.prove.mutants.catch import QUICK, by_conformance
from sweeps.questions.prove.mutants.mutants import (
    FOLDERS,
    Step,
    changed_step,
    conditions_at,
    known_headers,
    logic_mutants,
    mutated,
    order_mutants,
    source_of,
    users_of,
    weakened,
)
from sweeps.questions.prove.mutants.operators import (
    ONE_IN,
    all_mutants,
    every_operator_mutant,
    operator_mutants,
)
from sweeps.questions.prove.proofs.own_checker import make_library
from sweeps.questions.prove.proofs.programs import headers

MUTANTS = {mutant.name: mutant for mutant in all_mutants()}
STORED = read_judged()
HEADERS = [path for folder in FOLDERS for path in (ROOT / "lockimpl" / folder).glob("*.h")]


def test_every_mutant_still_changes_its_header() -> None:
    every = (*order_mutants(), *logic_mutants(), *operator_mutants())
    assert len(MUTANTS) == len(every), "two have one name"
    for mutant in (*MUTANTS.values(), *every_operator_mutant()):
        assert mutant.text() != source_of(mutant.file), mutant.name


def test_a_mutant_whose_text_is_gone_is_refused() -> None:
    gone = Step(name="gone", old="no such text", new="", why="", by="checker")
    with pytest.raises(LockcrossError, match=r"stands 0 times in lockimpl/locks/mcs\.h, not once"):
        changed_step("locks/mcs.h", gone)


def test_every_primitive_that_orders_is_weakened() -> None:
    """A primitive whose name promises an order, wherever a lock calls it."""
    ordering = re.compile(r"\b((?:load|store|cas|swap|fetch)_\w*?)(?:_u\d+)?\(")
    for path in HEADERS:
        for name in ordering.findall(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)):
            promises = re.search(r"_(acq|rel|then|after)(_|$)", name)
            assert not promises or name in weakened(), f"{path.name} calls {name}"


def test_a_mutant_is_looked_for_where_its_header_is_included() -> None:
    """Its targets are locks, their variants and fence kinds."""
    assert users_of("parts/named_monitor.h") == ("relaxed", "to_lock")
    for mutant in MUTANTS.values():
        for label in map(LockLabel, mutant.targets):
            lock = load_locks()[label.lock]
            assert label.variant in ("", *lock.variants[1:]), (mutant.name, label)
            assert label.fence in lock.fence_kinds, (mutant.name, label)
            assert mutant.file in headers(label), (mutant.name, label)


def test_what_is_declared_of_headers_is_of_what_they_say() -> None:
    for file, header in known_headers().items():
        for macro in header.few:
            assert f"#define {macro} " in source_of(file), macro
        assert not header.smaller or header.smaller.old in source_of(file), file
        assert header.not_modelled in source_of(file), file


def test_conditions_of_the_preprocessor() -> None:
    text = "#ifndef A\n#if B\nx\n#elif C\ny\n#else\nz\n#endif\n#endif\n"
    found = [conditions_at(text, text.index(letter)) for letter in "xyz"]
    assert found == [("not defined A", one) for one in ("B", "C", "not C")]


def test_operators_change_one_place_of_code() -> None:
    """Each kind of mistake is made somewhere; nothing in a comment or a directive is one."""
    every = every_operator_mutant()
    kinds = {mutant.name.split(":")[2].partition("#")[0] for mutant in every}
    assert kinds == {
        *"comparison-turned field-forgotten wake-up-dropped one-instead-of-all".split(),
        *"index-off-by-one branch-left-out".split(),
    }
    for mutant in every:
        line = source_of(mutant.file).splitlines()[mutant.line - 1]
        assert not line.lstrip().startswith(("#", "*", "/*")), mutant.name
    assert len(every) / (2 * ONE_IN) < len(operator_mutants()) < len(every) / ONE_IN * 2


def test_the_tree_is_never_touched(tmp_path: Path) -> None:
    mutant = logic_mutants()[0]
    before = source_of(mutant.file)
    command = mutated(["cc", "-Ilockimpl"], mutant, tmp_path)
    assert source_of(mutant.file) == before
    assert (tmp_path / "lockimpl" / mutant.file).read_text() == mutant.text()
    assert command[:2] == ["cc", f"-I{tmp_path / 'lockimpl'}"]


def test_every_mutant_is_stored_and_those_that_survive_are_explained() -> None:
    assert not set(MUTANTS) - set(STORED), "./lockcross prove --mutants --store judges them"
    assert not set(STORED) - set(MUTANTS), "./lockcross prove --mutants --store forgets them"
    for name, row in STORED.items():
        assert row.verdict != Verdict.SURVIVES, f"{name}: explanations.toml has no reason"
        assert bool(row.reason) == (row.verdict != Verdict.CAUGHT), name
        assert (row.conformance or row.checker) or row.verdict != Verdict.CAUGHT, name
    assert not set(explanations()) - set(MUTANTS)
    for name, one in explanations().items():
        assert STORED[name].verdict == one.verdict, f"{name} is caught: it needs no reason"
        assert bool(one.tried) == (one.verdict in ("outside", "missed")), name


def test_how_many_there_are_and_are_caught() -> None:
    """The goal: 150 mutants, and 95 of 100 that are wrong are caught."""
    assert len(STORED) >= 150
    assert float(caught_share(list(STORED.values())).removesuffix(" %")) >= 95


def test_a_row_is_old_when_a_client_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = logic_mutants()[0]
    before = campaign.sources(mutant)
    assert campaign.sources(mutant) == before
    monkeypatch.setattr(campaign, "_catchers", lambda: "other clients")
    assert campaign.sources(mutant) != before


BY_CHECKER = (
    # A fence, an acquire, a release; a step that only some order of events needs.
    "locks/dekker:dekker_try_acquire:store_u32_then_load_other_acq_u32:no-fence",
    "locks/cas_spin:cas_spin_acquire:cas_acq_u32:no-acquire",
    "locks/mcs:mcs_release:store_rel_u32:no-release",
    "locks/mcs:links-before-it-waits",
)
BY_CONFORMANCE = (
    "parts/tasuki_core:flc-not-tested-again",
    "parts/reservation_cancel:no-stop-at-all",
    "monitor/recycling:object-not-tested",
)
# Whether one run meets the moment that a mutant breaks is the compiler's, too.
SEVERAL = replace(QUICK, runs=tuple(replace(QUICK.runs[0], seed=seed) for seed in range(1, 9)))


def judged(name: str) -> JudgedMutant:
    make_library(2)
    return campaign.judge(MUTANTS[name])


@pytest.mark.parametrize("name", BY_CHECKER)
def test_the_checker_catches_some_of_each_kind(name: str) -> None:
    assert judged(name).checker


@pytest.mark.parametrize("name", BY_CONFORMANCE)
def test_conformance_catches_some(name: str) -> None:
    mutant = MUTANTS[name]
    assert any(by_conformance(target, mutant, SEVERAL) for target in mutant.targets)


def test_a_lock_that_is_not_changed_passes() -> None:
    for target in ("tasuki", "reservation", "monitor_cache"):
        assert by_conformance(target, None) == ""


def test_a_change_that_breaks_nothing_survives() -> None:
    """The first acquirer of an object finds nothing that another thread has written under it."""
    name = "locks/asym_spin1:asym_spin1_try_acquire:cas_acq_u32:no-acquire"
    row = judged(name)
    assert (row.verdict, row.checker, row.conformance) == (Verdict.UNNEEDED, "", "")
