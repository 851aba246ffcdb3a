"""Locks under memory models: a fast part of `./lockcross prove`, broken locks, stored verdicts."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.text.rows import Form
from sweeps.engines.base import ProcessResult
from sweeps.model.isa import ISAS
from sweeps.model.locks import LOCK_ADD, MEMBARRIER, LockLabel, load_locks
from sweeps.questions.prove.command import interleaving
from sweeps.questions.prove.command import prove as prove_command
from sweeps.questions.prove.mutants.mutants import Mutant, mutated, order_mutants, source_of
from sweeps.questions.prove.proofs.documents import (
    DOCUMENTS,
    agreements,
    contended_models,
    matrix,
    merged,
    with_matrix,
)
from sweeps.questions.prove.proofs.outside import Dartagnan, Genmc
from sweeps.questions.prove.proofs.own_checker import Checker
from sweeps.questions.prove.proofs.programs import (
    assumptions,
    clients,
    known_clients,
    known_locks,
    programs,
    sources_digest,
)
from sweeps.questions.prove.proofs.proving import Finding, Job, Outcome, plan, prove
from sweeps.support.csv_rows import read_rows, write_rows
from sweeps.verdicts import (
    OWN_CHECKER,
    Flavour,
    Proof,
    Verdict,
    cell,
    models,
    read_proofs,
    standing,
)
from tests.commands import lockcross
from tests.proofs.checked import built, found_or_skipped, program, report

# Of each kind of lock one; that the stored proofs of all are of these sources has its own test.
PROVED = "nop thin cas_spin dekker mcs tasuki reservation asym_tasuki hotspot_light j9_flat".split()
FAST = ["nesting:2-owner", "handshake:2"]
STORED = read_proofs()
MUTANTS = {one.name: one for one in order_mutants()}


@pytest.mark.long
def test_locks_are_proved_under_their_models_with_small_clients() -> None:
    tool = Checker(2, 10_000_000)
    jobs, refused = plan(known_locks(PROVED), known_clients(FAST), tool, deep=False)
    witnesses = known_clients([one.witness for one in assumptions().assumption])
    tried, _ = plan(known_locks(None), witnesses, tool, deep=False)
    jobs += [job for job in tried if job.program.assumption(job.model)]
    found = list(prove(jobs, tool, 2, 60, lambda: None))
    assert {one.proof.lock for one in found} >= {*PROVED} - {"nop"}
    needed = {one.job for one in found if one.job.program.assumption(one.job.model)}
    assert len(needed) > 8  # each is a witness, which has to fail
    assert {one.job for one in found if one.proof.verdict == Verdict.ASSUMED} == needed
    assert not [
        one.job for one in found if one.proof.verdict != Verdict.PROVED and one.job not in needed
    ]
    assert {one.proof.lock for one in refused} == {"nop", "thin"}


# Places with a fence.
DEKKER = "locks/dekker:dekker_try_acquire:store_u32_then_load_other_acq_u32"
TASUKI = "parts/tasuki_spin:spin_release_then_load_flag:store_rel_u32_then_load_next"
HANDSHAKE = "monitor/handshake:handshake_stop:store_then_fence_u32"


@pytest.mark.parametrize(
    ("client", "place", "what"),
    [
        ("exclusion:2x1", DEKKER, "race"),
        ("exclusion:2x2", TASUKI, "deadlock"),
        ("cancellation:2", HANDSHAKE, "race"),
        ("handshake:2", HANDSHAKE, "race"),
    ],
)
@pytest.mark.parametrize("model", ["tso", "weak"])
def test_a_fence_that_is_missing_is_caught(
    tmp_path: Path, model: str, client: str, place: str, what: str
) -> None:
    """The same program is proved with the fence, so only the fence can fail."""
    without = MUTANTS[f"{place}:no-fence"]
    one = program(without.targets[0], client, model)
    assert report(built(one, tmp_path), model)["verdict"] == "proved"
    said = report(built(one, tmp_path, lambda words: mutated(words, without, tmp_path)), model)
    assert (said["verdict"], said["failure"]["kind"]) == ("failed", what)
    ended = ProcessResult(1, json.dumps(said), "", "", 0.0)
    found = Checker(2, 1).finding(Job(one, OWN_CHECKER, model), ended)
    shown = interleaving(found.steps)
    assert len(shown.records) == len(said["trace"]) > 5
    assert {"thread", "line", "access", "value", "buffered"} <= set(shown.records[0])


@pytest.mark.parametrize("model", ["tso", "weak"])
def test_a_lock_that_backs_off_for_ever_is_caught(tmp_path: Path, model: str) -> None:
    """Two threads that set their flags, never take them back, and back off again and again."""
    header = source_of("locks/dekker.h")
    taken_back = "    store_rlx_u32(mine, 0);\n"
    waits = "        while (load_rlx_u32(another) != 0)\n            spin_wait(self);\n"
    assert header.count(taken_back) == header.count(waits) == 1
    without = header.replace(taken_back, "").replace(waits, "")
    mutant = Mutant("", "", "locks/dekker.h", "", 0, header, without, ())
    one = program("dekker", "exclusion:2x1", model)
    said = report(built(one, tmp_path, lambda words: mutated(words, mutant, tmp_path)), model)
    if model == "tso":
        assert said["failure"]["kind"] == "deadlock"
    else:  # each turn leaves a store that the other thread may still read
        assert said["verdict"] == "bound"


def test_no_lock_at_all_is_caught(tmp_path: Path) -> None:
    binary = built(program("nop", "exclusion:2x1", "weak"), tmp_path)
    assert report(binary, "weak")["failure"]["kind"] == "race"


def test_a_witness_is_tried_under_both_models() -> None:
    for one in assumptions().assumption:
        for lock in one.locks:
            witness = program(LockLabel.of(lock, fence=one.fence), one.witness, one.model)
            assert Checker(2, 1).models(witness) == [one.model, one.instead]


def test_what_is_refused_says_why() -> None:
    reasons = {}
    for one, reason in programs(known_locks(None), list(clients()), deep=True):
        reasons.setdefault(reason, set()).add(one.label.lock)
    assert reasons["for 2 threads"] == {"dekker"}
    assert reasons["without orders: for one processor of a weakly ordered ISA"] == {"thin"}
    assert reasons["no synchronization: there is nothing to prove"] == {"nop"}


def test_a_registry_says_what_is_wrong_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "clients.toml"
    file.write_text('[mine]\nsays = "it"\nsizes = [{name = "2", threads = 2, round = 1}]\n')
    monkeypatch.setattr("sweeps.questions.prove.proofs.programs._CLIENTS", file)
    words = r"clients\.toml: mine\.sizes\.0\.round: unknown key; allowed are name, threads, rounds"
    with pytest.raises(LockcrossError, match=words) as caught:
        clients.__wrapped__()
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("tool", "variable"), [("genmc", "GENMC"), ("dartagnan", "DARTAGNAN")])
def test_a_tool_that_is_missing_is_one_line(tool: str, variable: str) -> None:
    done = lockcross("prove", "dekker", "--checker", tool, **{variable: "nonesuch"})
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{variable}=nonesuch" in done.stderr and "https://" in done.stderr


def test_prove_prints_what_was_proved_and_its_bound() -> None:
    done = lockcross("prove", "cas_spin", "--models", "tso", "--clients", "exclusion:2x2")
    assert done.returncode == 0
    assert "2 threads, 2 rounds" in done.stdout and "total store order" in done.stdout
    assert done.stderr.startswith("proofs by lockcross: 1; ") and "1 proved" in done.stderr


def test_genmc_agrees_where_it_is() -> None:
    tool = Genmc()
    found_or_skipped(tool)
    wanted = known_locks(["dekker", "mcs", "thin"]), known_clients(["exclusion:2x1"])
    jobs, _ = plan(*wanted, tool, deep=True)
    found = list(prove(jobs, tool, 2, 60, lambda: None))
    # dekker has two variants and two fence kinds for TSO, thin six variants of which two have no
    # orders
    assert len(found) == 2 * 4 + 3 + 6 + 4 * 2
    assert {one.proof.verdict for one in found} == {Verdict.PROVED}


class _Fake(Genmc):
    """Finds an error everywhere."""

    def command(self, job: Job) -> list[str]:
        return ["/bin/sh", "-c", "echo 'Error: Safety violation!'"]

    def version(self) -> str:
        return "1"


def test_a_failure_elsewhere_is_a_failure() -> None:
    jobs, _ = plan(known_locks(["ticket"]), known_clients(["nesting:2"]), _Fake(), deep=False)
    found: list[Outcome] = list(prove(jobs, _Fake(), 1, 10, lambda: None))
    assert [(one.ok, one.proof.reason) for one in found] == [(False, "Safety violation!")] * 3


class _Bounded(_Fake):
    """Meets a bound everywhere."""

    def finding(self, job: Job, result: ProcessResult) -> Finding:
        return Finding(Verdict.PROVED, bound="20 buffered stores")


@pytest.mark.parametrize("locks", [[], ["mcs"]], ids=["by lock", "by client"])
def test_a_proof_that_met_a_bound_says_so(
    locks: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sweeps.questions.prove.command.Genmc", _Bounded)
    few = known_locks(["mcs", "tasuki"]), known_clients(["nesting:2"])
    monkeypatch.setattr("sweeps.questions.prove.command.known_locks", lambda _: few[0])
    monkeypatch.setattr("sweeps.questions.prove.command.known_clients", lambda _: few[1])
    prove_command(locks, ["rc11"], [], "genmc", isas=[], jobs=1, form=Form.TABLE)
    said = capsys.readouterr()
    assert "proved up to the bound" in said.out and "20 buffered stores" in said.out
    assert "proved up to the bound" in said.err


# What is stored ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_proof_that_is_killed_from_outside_has_not_failed(number: int) -> None:
    """As the kernel does where no memory is left."""
    job = Job(program("mcs", "exclusion:2x1", "tso"), Checker.name, "tso")
    found = Checker(1, 1).finding(job, ProcessResult(-number, "", "", "", 1.0))
    assert found.verdict == Verdict.BOUND and "memory" in found.reason


def test_the_matrix_has_no_empty_cell_and_no_failure() -> None:
    wanted = {
        LockLabel.of(lock.name, variant, fence)
        for lock in load_locks().values()
        for variant in ("", *lock.variants[1:])
        for fence in lock.fence_kinds
        if not (variant and fence == MEMBARRIER)  # whose barriers the first variant has
        if fence != LOCK_ADD  # the full fence, in a model
    }
    rows = matrix(STORED)
    assert set(rows) == wanted
    for label, cells in rows.items():
        for model, one in zip(models().own, cells, strict=True):
            assert one.verdict != Verdict.FAILED and one.words != "not tried", (label, model)
            assert one.why or one.verdict == Verdict.BOUND, (label, model)


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.parent.name)
def test_the_documents_have_the_matrix(file: Path) -> None:
    assert with_matrix(file, STORED) == file.read_text(encoding="utf-8")


def representatives() -> list[Proof]:
    """Return stored proofs with the sources of every lock and of every client, for each model's
    flavour and each tool: a change of any source changes one of them."""
    chosen: dict[tuple[object, ...], Proof] = {}
    for proof in STORED:
        under = proof.model.startswith("tso"), proof.tool
        chosen.setdefault((*under, proof.label), proof)
        chosen.setdefault((*under, proof.client), proof)
    return list(dict.fromkeys(chosen.values()))


@pytest.mark.long
def test_what_is_stored_is_of_these_sources() -> None:
    known = {
        (one.label, one.flavour, one.client.label): one
        for one, _ in programs(known_locks(None), list(clients()), deep=True)
    }
    defines = {tool.name: tool.defines for tool in (Genmc(), Dartagnan())}

    def is_old(proof: Proof) -> bool:
        flavour = Flavour.TSO if proof.model.startswith("tso") else Flavour.WEAK
        one = known.get((proof.label, flavour, proof.client))
        return one is None or sources_digest(one, defines.get(proof.tool, ())) != proof.sources

    with ThreadPoolExecutor(2) as pool:  # each preprocesses a program
        found = zip(representatives(), pool.map(is_old, representatives()), strict=True)
        old = {proof.lock for proof, differs in found if differs}
    assert not old, f"prove them again: ./lockcross prove {' '.join(sorted(old))} --store"


def test_what_other_tools_have_proved_stands_at_the_isa_of_their_model() -> None:
    words = {isa: standing(STORED, LockLabel("dekker"), isa).words for isa in ISAS}
    assert ", power, " in words["ppc64le"]
    assert "armv8" in words["aarch64"] and "armv8" not in words["ppc64le"]
    assert "rc11" in words["aarch64"] and ", tso, " not in words["aarch64"]
    assert ", tso, " in words["x86_64"] and "rc11" not in words["x86_64"]


def test_every_lock_but_nop_is_proved_or_argued_on_every_isa() -> None:
    refused = {"thin:inline", "thin:fn_call"}  # without orders, for one processor
    for label in matrix(STORED):
        for isa in ISAS:
            if label.lock == "nop" or label in refused or label.fence != "full":
                continue
            assert standing(STORED, label, isa).kind in ("proved", "argued"), (label, isa)


def test_tools_agree() -> None:
    found = agreements(STORED)
    assert {(one.tool, one.model) for one in found} >= {("genmc", "tso"), ("genmc", "rc11")}
    for one in found:
        assert one.compared > 0 and not one.apart, one


# Arithmetic ----------------------------------------------------------------------------------


def row(model: str, verdict: Verdict, client: str = "exclusion:2x2", **more: str) -> Proof:
    given = {"tool": OWN_CHECKER, "version": "1", "bound": "2 threads", "sources": "", **more}
    size = {"executions": 1, "seconds": 0.0}
    return Proof("mcs", "", "full", client, model=model, verdict=verdict, **size, **given)


def test_a_stronger_model_follows_from_a_weaker_one() -> None:
    mcs = LockLabel("mcs")
    proved = [row("weak", Verdict.PROVED)]
    assert cell(proved, mcs, "weak-si").words == "by weak"
    assumed = [row("weak", Verdict.ASSUMED, reason="needs it"), row("weak-si", Verdict.PROVED)]
    assert standing(assumed, mcs, "aarch64").kind == "proved"
    assert standing(assumed, mcs, "ppc64le").kind == "argued"
    assert standing(proved, mcs, "x86_64").kind == "not proved"


def test_the_matrix_tells_what_met_a_bound() -> None:
    full = row("tso", Verdict.PROVED, "nesting:2", bound="2 threads; 31 buffered stores")
    shown = cell([row("tso", Verdict.PROVED), full], LockLabel("mcs"), "tso")
    assert shown.words == "proved, 2, 1 up to a bound"


def test_the_matrix_tells_what_three_threads_are_proved_under() -> None:
    rows = [
        row("weak", Verdict.PROVED, "exclusion:3x1"),
        row("tso", Verdict.BOUND, "exclusion:3x1"),
        row("rc11", Verdict.PROVED, "exclusion:3x1", tool="genmc"),
        row("weak-si", Verdict.PROVED),
    ]
    assert contended_models(rows, LockLabel("mcs")) == "weak"


def test_tools_that_disagree_are_told_apart() -> None:
    both = [row("weak", Verdict.PROVED), row("rc11", Verdict.FAILED, tool="genmc")]
    (found,) = agreements(both)
    assert (found.compared, found.agree, len(found.apart)) == (1, 0, 1)


def test_rows_are_stored_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "proofs.csv"
    assert read_rows(Proof, path) == []
    first = row("weak", Verdict.BOUND, reason='a "reason", with\ncommas')
    second = row("tso", Verdict.PROVED)
    write_rows(Proof, [first, second], path)
    assert read_rows(Proof, path) == [first, second]
    newer = row("weak", Verdict.PROVED)
    assert merged(read_rows(Proof, path), [newer]) == [newer, second]
    path.write_text("lock,verdict\n")
    with pytest.raises(LockcrossError, match="its columns must be"):
        read_rows(Proof, path)
