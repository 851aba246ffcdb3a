"""The primitives' instructions: as strong as the model's orders, and the ones that herd7 judged."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.programs import FAMILY
from sweeps.questions.prove.assembly.herd import TranslationError, column, find_herd, litmus_text
from sweeps.questions.prove.assembly.instructions import (
    Instruction,
    compile_probes,
    sequence_of,
    weakenings,
)
from sweeps.questions.prove.assembly.litmus import pairs
from sweeps.questions.prove.assembly.tables import (
    architectural,
    lock_table,
    pairs_shown,
    primitive_table,
    primitives_shown,
)
from sweeps.questions.prove.assembly.verdicts import (
    AssemblyRow,
    codes,
    fence_kinds_of,
    flavours_of,
    merged,
    questions,
    read_rows,
)
from sweeps.support.tools import NoToolError
from tests.model_orders import compile_model, machine_steps, orders
from tests.native_build import FLAVOURS

ROWS = read_rows()
KINDS = [(flavour, fence) for flavour in FLAVOURS for fence in fence_kinds_of(flavour)]
BY_GCC = pytest.mark.skipif(
    FAMILY.startswith("clang"), reason="model.h is read as GCC shows it; the verdicts are of GCC's"
)
# Ordering instructions that the promise of their primitive does not need: the fence behind or
# before them does the same, and x86-64 never reorders stores.
NEEDLESS = {
    ("cas_then_fence_u32", "larx", "isync -> nop"),
    ("cas_then_fence_u32", "lse", "casa -> cas"),
    ("cas_then_fence_u32", "llsc", "ldaxr -> ldxr"),
    ("store_after_fence_u32", "lock", "mfence -> nop"),
    ("cas_after_fence_u32", "lock", "mfence -> nop"),
}


def missing(flavour: str, fence: str, primitive: str, code: tuple[Instruction, ...]) -> set[str]:
    """Return the model's orders that the instructions lack."""
    model = "MODEL_TSO" if flavour == "lock" else "MODEL_WEAK"
    asked = orders(compile_model(model, fence)[primitive])
    given = orders(machine_steps(code, flavour))
    return {f"{a} before {b}" for a, b in asked - given}


@BY_GCC
@pytest.mark.parametrize(("flavour", "fence"), KINDS)
def test_instructions_order_at_least_what_the_model_does(flavour: str, fence: str) -> None:
    """And each ordering instruction, weakened by itself, leaves something unordered."""
    probes = compile_probes(flavour, fence)
    assert probes
    for name, code in probes.items():
        assert not missing(flavour, fence, name, code), name
        for numbered, (weaker,) in weakenings([code], [0], flavour):
            change = numbered.split(": ")[-1]
            # On x86-64 the model asks more than a name: every atomic is a full fence.
            known = (name, flavour, change) in NEEDLESS or "cmpxchg" in change or "xchg" in change
            assert known or missing(flavour, fence, name, weaker), (name, change)


@BY_GCC
def test_the_model_orders_what_the_names_say() -> None:
    """So that the test before this one compares with something."""
    steps = compile_model("MODEL_WEAK", "full")
    model = {name: orders(of_name) for name, of_name in steps.items()}
    behind = {("R0", "lR"), ("R0", "lW")}
    before = {("eR", "W0"), ("eW", "W0")}
    assert model["load_rlx_u32"] == model["store_rlx_u8"] == model["cas_rlx_u32"] == set()
    assert model["load_acq_u16"] == model["cas_acq_u32"] == behind
    assert model["store_rel_u64"] == before
    assert model["cas_acq_rel_u32"] == model["swap_acq_rel_u32"] == behind | before
    assert model["cas_rel_u32"] == model["swap_rel_u32"] == model["fetch_add_rel_u32"] == before
    assert model["arch_fence_full"] == {(a, b) for a in ("eR", "eW") for b in ("lR", "lW")}
    assert ("W0", "R1") in model["store_then_load_acq_u32"]
    without_fence = [one for one in steps["store_then_load_acq_u32"] if not one.barrier]
    assert ("W0", "R1") not in orders(without_fence)
    assert orders(compile_model("MODEL_TSO", "full")["cas_rlx_u32"]) > behind | before


@BY_GCC
def test_a_change_of_a_header_is_found_out(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "lockimpl", tmp_path / "lockimpl")
    (tmp_path / "workloads").mkdir()
    header = tmp_path / "lockimpl" / "arch" / "aarch64_lse.h"
    header.write_text(header.read_text().replace('"casal"', '"casa"'))
    code = compile_probes("lse", "full", tmp_path)["cas_acq_rel_u32"]
    assert missing("lse", "full", "cas_acq_rel_u32", code) == {"eR before W0", "eW before W0"}
    kept = {row.instructions for row in ROWS if row.primitive == "cas_acq_rel_u32"}
    assert sequence_of([code]) not in kept


@BY_GCC
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_stored_verdicts_are_of_these_instructions(flavour: str) -> None:
    """Whoever changes a primitive asks herd7 again: `./lockcross prove --assembly --store`."""

    def key(row: AssemblyRow) -> tuple[str, ...]:
        return row.primitive, row.fence, row.litmus, row.kind, row.model, row.instructions

    def change(row: AssemblyRow) -> tuple[str, ...]:
        return row.primitive, row.fence, row.litmus, row.change

    kept = {key(row) for row in ROWS if row.flavour == flavour}
    asked = [question.row for question in questions(flavour)]
    new = {key(row) for row in (*asked, *codes(flavour)) if row.kind != "weakened"}
    assert new <= kept, sorted(new - kept)[:3]
    stored = [row for row in ROWS if row.flavour == flavour and row.kind != "code"]
    assert {change(row) for row in asked} == {change(row) for row in stored}


def test_stored_verdicts_show_every_promise() -> None:
    """But for collocation, which no architecture promises, and there it is not shown."""
    found = list(primitives_shown(ROWS))
    assert {one.code.flavour for one in found} == set(FLAVOURS)
    for one in found:
        if architectural(one.code.fence):
            assert one.forbidden and not one.missing, one
        else:
            assert one.missing, one


def test_stored_verdicts_can_be_otherwise() -> None:
    """Every ordering instruction is needed for some shape; and without the primitive, or without
    its order, the outcome is there."""
    assert all(row.verdict == "allowed" for row in ROWS if row.kind == "contrast")
    spare = {
        (one.code.primitive, one.code.flavour, x)
        for one in primitives_shown(ROWS)
        for x in one.spare
    }
    assert spare == NEEDLESS
    assert {row.verdict for row in ROWS if row.kind == "weakened"} == {"allowed", "forbidden"}
    assert all(row.tool.startswith("herd7 ") for row in ROWS if row.kind != "code")


def test_two_threads_of_a_lock() -> None:
    """Only the outcomes that no architecture forbids by lockimpl/README.md are allowed."""
    found = list(pairs_shown(ROWS))
    assert {one.lock for one in found} == set(pairs())
    assert {one.flavour for one in found} == set(FLAVOURS)
    allowed = {
        (one.lock, one.fence, model)
        for one in found
        for model, verdict in one.verdicts
        if verdict == "allowed"
    }
    assert allowed == {
        ("asym_spin1", "full", "power_apart.cat"),
        ("asym_spin1", "store_forward", "x86_64.cat"),
        ("tasuki", "store_forward", "x86_64.cat"),
        ("asym_tasuki", "store_forward", "x86_64.cat"),
    }
    for one in found:
        weaker = {
            row.verdict
            for row in ROWS
            if row.kind == "weakened"
            and (row.primitive, row.litmus, row.flavour) == (one.lock, one.name, one.flavour)
        }
        # Total store order keeps what hand-over needs.
        assert "allowed" in weaker or (one.name, one.flavour) == ("hand-over", "lock"), one


def test_the_readme_has_the_tables_of_the_stored_verdicts() -> None:
    text = (ROOT / "lockimpl" / "README.md").read_text(encoding="utf-8")
    for made in (primitive_table(ROWS), lock_table(ROWS)):
        written = text[text.index(made[0]) :].split("\n\n")[0].splitlines()
        assert written == made


def test_new_verdicts_take_the_place_of_old_ones() -> None:
    first = next(row for row in ROWS if row.flavour == "lse")
    place = first.flavour, first.compiler
    mine = [row for row in ROWS if (row.flavour, row.compiler) == place]
    assert merged(ROWS, mine) == ROWS
    assert merged(ROWS, [first]) == [row for row in ROWS if row not in mine[1:]]


def test_of_another_compiler_only_other_instructions_are_kept() -> None:
    rows = [row for row in ROWS if row.flavour == "lse" and row.kind == "code"]
    same = replace(rows[0], compiler="gcc 99.1", tool="another", seconds="7.00")
    other = replace(same, instructions=f"{same.instructions} nop")
    assert merged(rows, [same, other]) == [*rows, other]
    assert merged([*rows, other], rows) == [*rows, other]
    lock = next(row for row in ROWS if row.kind == "lock")
    (twice,) = pairs_shown([lock, replace(lock, compiler="gcc 99.1")])
    assert twice.verdicts == ((lock.model, lock.verdict),)
    worse = replace(lock, compiler="gcc 99.1", verdict="allowed")
    (apart,) = pairs_shown([worse, replace(lock, verdict="forbidden")])
    assert not apart.holds


def test_an_instruction_without_translation_is_told() -> None:
    for flavour, name in (("lse", "ldapur"), ("larx", "eieio"), ("lock", "cpuid")):
        code = (Instruction(0, name, "", None),)
        with pytest.raises(TranslationError, match=f"{name} .*not known to herd7"):
            column(code, flavour)


def test_a_missing_herd_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("HERD7", raising=False)
    with pytest.raises(NoToolError, match="herd7 is not found; name its binary in HERD7"):
        find_herd()
    monkeypatch.setenv("HERD7", "nowhere")
    with pytest.raises(LockcrossError, match="HERD7=nowhere: not an executable"):
        find_herd()
    with pytest.raises(LockcrossError, match="instruction set 'arm' is unknown"):
        flavours_of(["arm"])
    assert flavours_of([]) == ["lock", "larx", "lse", "llsc"]


@BY_GCC
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_herd_says_so_still(flavour: str) -> None:
    """A few of the stored verdicts, asked again; skipped where there is no herd7."""
    try:
        herd = find_herd()
    except NoToolError as error:
        pytest.skip(str(error))

    def key(row: AssemblyRow) -> tuple[str, ...]:
        return row.fence, row.primitive, row.litmus, row.change, row.model

    kept = {key(row): row.verdict for row in ROWS if row.flavour == flavour}
    for asked in [one for one in questions(flavour) if one.row.kind != "lock"][::29]:
        answer = herd.ask(litmus_text(asked.test, asked.codes, flavour), asked.options)
        assert kept[key(asked.row)] == answer["verdict"], asked.row
