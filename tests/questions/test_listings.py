"""The lists of `locks` and `workloads`: every system of the source documents, and why not more."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from results.paths import ROOT
from sweeps.cli.main import make_app
from sweeps.model import machine
from sweeps.model.locks import load_locks
from sweeps.model.workloads import WORKLOADS
from sweeps.plans import SWEEPS
from sweeps.questions.list.locks import offers
from sweeps.questions.list.workloads import first_sentence
from sweeps.questions.reproduce.answer import PublishedRow, Reproduction
from sweeps.questions.reproduce.command import print_reproduction, print_summary
from sweeps.support.toml import Documents
from tests.commands import lockcross

LOCKS = """
    nop naive monitor_table monitor_cache direct hot cas_spin dekker thin tasuki reservation
    asym_spin1 asym_spin3 asym_tasuki meta relaxed to_lock mcs cilk_the handover renouncement tnp
    tnp_selective elided io_spin lifted revocable
""".split()
BENCHMARKS = """
    nosync sync nested_sync mixed_sync multi_sync call call_sync nested_call_sync threads primitive
    transition rounds long_locker flat_fat thrashing fat_sections lock_sequence io_put structured
    counter priority_mix
""".split()


def test_every_lock_and_benchmark_of_the_sources_is_there() -> None:
    assert set(load_locks()) >= set(LOCKS)
    assert set(WORKLOADS) >= set(BENCHMARKS)


def test_every_lock_has_its_row_of_documentation() -> None:
    """Look in the table of the cost of an uncontended pair."""
    text = (ROOT / "lockimpl" / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)(?::\w+)?`", row)}
    assert set(load_locks()) <= named


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_kernel_says_what_it_is(name: str) -> None:
    assert 20 < len(first_sentence(name)) < 250


def test_what_cannot_be_had_is_said_with_its_reason() -> None:
    for lock in load_locks().values():
        found = offers(lock)
        assert len(found) == max(1, len(lock.variants))
        for offer in found:
            refused = {f for f, kinds in offer.kinds.items() if set(kinds) < set(lock.fence_kinds)}
            assert bool(refused) <= bool(offer.missing), offer
            assert any(offer.kinds.values()), offer
    tasuki = offers(load_locks()["tasuki"])[0]
    assert tasuki.kinds["lock"] == ("full", "rmw", "lock_add", "store_forward", "membarrier")
    assert tasuki.kinds["llsc"] == ("full", "membarrier")
    assert "atomics do not promise" in tasuki.missing["fence: rmw on aarch64"]


def test_the_listings_name_rows_and_reasons() -> None:
    locks = lockcross("locks").stdout
    assert all(name in locks for name in load_locks())
    assert "not available:" in locks
    figures = lockcross("machines", "p3").stdout
    assert "assumed:" in figures and "InstLatx64" in figures


ODD = "[/b] [red]one :key: \x1b[2J"  # as markup: an error, a colour, a key; and a cleared screen
SHOWN = r"[/b] [red]one :key: \x1b[2J"


@pytest.mark.parametrize(
    ("words", "documents", "title"),
    [
        (["plans"], SWEEPS, "smoke"),
        (["machines"], machine.FILES, "generic"),
        (["machines", "odd"], machine.FILES, "generic"),
    ],
)
def test_titles_are_listed_as_they_stand_in_their_files(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    documents: Documents,
    title: str,
) -> None:
    text = documents.path(title).read_text()
    odd = "title = " + json.dumps(ODD)  # TOML escapes as JSON does
    text = re.sub("^title = .*", lambda _: odd, text, count=1, flags=re.MULTILINE)
    (tmp_path / "odd.toml").write_text(text.replace('name = "generic"', 'name = "odd"'))
    monkeypatch.setattr(documents, "folder", tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    done = CliRunner().invoke(make_app(), words, catch_exceptions=False)
    assert done.exit_code == 0 and SHOWN in done.output


def test_reproductions_are_printed_as_they_stand_in_their_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = PublishedRow(ODD, ours=1.0)
    odd = Reproduction("odd", ODD, ODD, "1", "generic", ODD, "all", (row,))
    print_reproduction(odd)
    print_summary([odd])
    assert capsys.readouterr().out.count(SHOWN) == 5
