"""One verdict for the same cells, word for word, by whichever route it is asked for."""

import csv
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from results.paths import ROOT
from results.store.queries import PREFIX
from results.store.store import Store
from results.text.rows import Form
from sweeps.model.cell import Cell
from sweeps.questions.advise.advice import Advice
from sweeps.questions.advise.answer import Advisor
from sweeps.questions.advise.question import ask
from sweeps.questions.advise.text import headline, print_csv, print_json
from sweeps.questions.advise.use import Use
from sweeps.questions.explore.presentation import least_leads, of_label
from sweeps.questions.runtimes.answer import Answered, load, stored_name
from sweeps.report import plan as plan_report
from sweeps.report.plan import print_of_plan, write_plan_page
from sweeps.report.winner_map import _beyond_ties
from sweeps.run.runner import Runner
from sweeps.study.costs import compare, groups, runs_of_plan, wins_of
from sweeps.study.leads import Rule, Win
from tests.commands import lockcross

USES, SEED = 20, 50
MACHINES = {"zen4": "x86_64", "zen5": "x86_64", "skylake": "x86_64", "neoverse_v2": "aarch64"}
LOCKS = ["thin", "reservation", "j9_flat", "biased", "tasuki", "hotspot_light", "asym_tasuki"]
ACQUISITIONS = (400, 400, 50)  # of an object
WORK = (0, 0, 30, 100, 300)
NODE = shutil.which("node")
TEMPLATES = ROOT / "sweeps/questions/explore/templates"
SCRIPT = Path(__file__).with_name("explorer_words.js")


@dataclass(frozen=True)
class Drawn:
    """A use with the answer of `advise`, and a plan of the same cells."""

    name: str
    advice: Advice
    cells: tuple[Cell, ...]

    @property
    def win(self) -> Win:
        return self.advice.win

    @property
    def verdict(self) -> tuple[object, ...]:
        """All that a route says: the winner, those that it ties with, the lead, how reliable."""
        return self.win.lock, self.win.words, f"{100 * self.win.lead:.2f}"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("verdicts") / "a.db") as one:
        yield one


@pytest.fixture(scope="module")
def uses(store: Store) -> list[Drawn]:
    """Return the uses, each with a plan of the same cells in the database."""
    random, runner, found = Random(SEED), Runner(store), []
    alone = Use(threads=1, shared_objects=0)
    for number in range(USES):
        machine = random.choice([*MACHINES])
        fences = random.choice([["rmw"], ["rmw", "full"]]) if MACHINES[machine] == "x86_64" else []
        acquisitions, critical, think = map(random.choice, (ACQUISITIONS, WORK, WORK))
        use = replace(alone, acquisitions=acquisitions, critical=critical, think=think)
        locks = random.sample(LOCKS, random.randint(2, 4))
        question = ask(machine, "", "", locks, fences, {}, use)
        advice = Advisor(question, store, runner).answer(ranking=True)
        name = f"use_{number}"
        store.set_series(f"{PREFIX}{name}", [run for lock in advice.locks for run in lock.runs])
        ran = runs_of_plan(store.connection, name)
        # A plan leaves the cost of a cancellation to the machine: one thread cancels nothing.
        cells = tuple(replace(run.cell, cancel_latency=None) for run in ran)
        store.set_series(f"{PREFIX}{name}", [run.id for run in runner.require(cells, name)])
        found.append(Drawn(name, advice, cells))
    return found


def test_the_uses_are_of_every_kind(uses: list[Drawn]) -> None:
    assert {bool(one.win.tied) for one in uses} == {True, False}
    assert {one.advice.works for one in uses} == {True, False}
    assert {one.win.words.split()[0] for one in uses} == {"in", "reliable:"}


def test_advise_says_the_same_in_words_json_and_csv(
    uses: list[Drawn], capsys: pytest.CaptureFixture[str]
) -> None:
    for one in uses:
        win = one.win
        said = headline(one.advice)
        assert said.startswith(f"{win.lock.words()} is the cheapest") and win.words in said
        assert win.tied or f"{100 * win.lead:.1f} % less than {win.runner_up.words()}" in said
        print_json([one.advice])
        found = json.loads(capsys.readouterr().out)
        assert (found["cheapest"], found["reliable"]) == (win.lock, win.words)
        assert (found["tie"], found["lead"]) == ([*win.tied], win.lead)
        print_csv([one.advice])
        rows = csv.DictReader(capsys.readouterr().out.splitlines())
        by_lock = {row["lock"]: row["verdict"] for row in rows}
        assert by_lock[win.lock] == "cheapest"
        assert {label for label, said in by_lock.items() if said == "tie"} == {*win.tied}


def test_plans_of_the_same_cells_have_the_same_verdicts(
    uses: list[Drawn], store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(plan_report, "draw_plan", lambda *_: {})
    for one in uses:
        print_of_plan(store.connection, "winners", one.name, Form.JSON)
        *_, row = json.loads(capsys.readouterr().out)
        lead = f"{row['lead_percent']:.2f}"
        assert (row["winner"], row["verdict"], lead) == one.verdict
        assert row["work_cycles"] == pytest.approx(one.advice.work, abs=0.01)
        page = write_plan_page(store.connection, one.name, tmp_path).read_text(encoding="utf-8")
        assert one.win.words in page


def test_a_comparison_and_a_map_mark_the_same_ties(uses: list[Drawn], store: Store) -> None:
    for one in uses:
        runs = runs_of_plan(store.connection, one.name)
        cells = [(run, replace(run.cell, cas_latency=n)) for run in runs for n in (1, 2)]
        moved = [replace(run, cell=cell) for run, cell in cells]
        comparison = compare(moved, "lock", "cas_latency")
        (panel,) = comparison.panels
        assert [win.words for win in wins_of(comparison, panel).values()] == [one.win.words] * 2
        (group,) = groups(runs)
        bands = group.beside_work().costs
        costs = {label: np.array([band.median]) for label, band in bands.items()}
        (beyond,) = _beyond_ties(Rule.of(group.setting), costs)
        assert (beyond < 0) == bool(one.win.tied)


def test_runtimes_names_the_same_lock(uses: list[Drawn], store: Store) -> None:
    asked = load(str(Path(__file__).with_name("cheapest_of_plan.toml")))
    for one in uses:
        runs = [run.id for run in runs_of_plan(store.connection, one.name)]
        store.set_series(f"{PREFIX}{stored_name(asked)}", runs)
        answered = Answered(asked, store.connection)
        (win,) = answered.winners().values()
        # Where only one kind of fence ran, the question leaves it out of a lock's name.
        assert [label.with_full_fences for label in (win.lock, *win.tied)] == [
            label.with_full_fences for label in (one.win.lock, *one.win.tied)
        ]
        assert f"{100 * win.lead:.2f}" == one.verdict[-1]
        assert win.tied or win.words == one.win.words


@pytest.mark.skipif(NODE is None, reason="no Node.js: the page's script is tried in a browser")
def test_the_explorer_marks_the_same_ties(uses: list[Drawn]) -> None:
    processors, asked = [], []
    for one in uses:
        machine, labels = one.cells[0].machine, [lock.label for lock in one.advice.locks]
        # The flavour tells the uses apart on the page.
        of_page = {"machine": machine, "flavour": one.name, "name": one.name}
        of_page |= dict.fromkeys(("cas", "fence", "cancel"), 1)
        of_page["least"] = least_leads(Rule.of(one.cells[0]), labels)
        of_page["locks"] = [
            {**of_label(lock.label), "cost": lock.cost, "shown": f"{lock.cost:.1f}"}
            for lock in one.advice.locks
        ]
        processors.append(of_page)
        state = {"locks": [label.lock for label in labels], "fences": ["rmw", "full"]}
        asked.append([{"map": {"flavour": one.name}, "state": state}, {"processor": machine}])
    data = {"maps": [], "processors": processors, "locks": [], "fences": []}
    given = json.dumps({"data": data, "asked": asked, "folder": str(TEMPLATES)})
    done = subprocess.run([NODE, SCRIPT], input=given, capture_output=True, text=True, check=True)
    for one, said in zip(uses, json.loads(done.stdout), strict=True):
        first, *others = said["rows"]
        assert first[0] == one.win.lock
        assert [label for label, tied in others if tied] == [*one.win.tied]
        lead = f"{100 * one.win.lead:.1f} %"
        less = f"{lead} less than {one.win.runner_up.words()}"
        ending = f"{one.win.words} (lead {lead})." if one.win.tied else f"{less}."
        assert said["words"].endswith(f"{one.win.lock.words()} is the cheapest, {ending}")


def test_a_sweep_runs_what_it_needs_to_take_off_the_work(uses: list[Drawn], tmp_path: Path) -> None:
    one = next(one for one in uses if one.advice.works and one.advice.work > 1)
    cells = "".join(
        f'[[cells]]\nmachine = "{cell.machine}"\nlock = "{cell.lock}"\nfence = "{cell.fence}"\n'
        'workload = "lock_use"\n'
        + "".join(f"parameters.{key} = {json.dumps(x)}\n" for key, x in cell.parameters.items())
        for cell in one.cells
    )
    file, db = tmp_path / "same.toml", tmp_path / "same.db"
    file.write_text(f'title = "same"\n{cells}')
    done = lockcross("sweep", str(file), "--db", str(db), "--format", "json")
    assert done.returncode == 0, done.stderr
    *_, row = json.loads(done.stdout)
    assert (row["winner"], row["verdict"], f"{row['lead_percent']:.2f}") == one.verdict
    assert row["work_cycles"] == pytest.approx(one.advice.work, abs=0.01)
