"""`lockcross new`: files to start from are valid as they stand."""

import itertools
import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from results.paths import ROOT
from sweeps.cli.main import make_app
from sweeps.model.machine import Machine, load_machine, machine_names
from sweeps.model.workloads import WORKLOADS
from sweeps.study.job import load_study
from sweeps.study.plan import load_plan
from sweeps.support.toml import parse
from tests.commands import lockcross


@pytest.mark.parametrize("origin", machine_names())
def test_a_machine_is_the_one_that_it_was_copied_from(origin: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    words = ["new", "machine", "mine", "--from", origin, "--output", str(file)]
    done = CliRunner().invoke(make_app(), words)
    assert done.exit_code == 0 and done.stdout.split() == [str(file)]
    made = parse(Machine, file.read_text())
    own = load_machine(origin)
    assert made.name == "mine" and own.title in made.title
    assert made.model_copy(update={"name": own.name, "title": own.title}) == own
    assert f"./lockcross calibrate {file}" in file.read_text()


def test_plans_and_studies_are_valid_and_documented_and_not_written_over(tmp_path: Path) -> None:
    plan, study = tmp_path / "mine.toml", tmp_path / "study.toml"
    done = lockcross("new", "plan", "mine", "--output", str(plan))
    assert done.returncode == 0 and f"next: ./lockcross sweep {plan}\n" == done.stderr
    assert len(load_plan(str(plan)).cells) == 54
    page = (ROOT / "docs" / "plans.md").read_text()
    (shown,) = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
    assert tomllib.loads(shown) == tomllib.loads(plan.read_text())
    assert set(re.findall(r"lockcross workloads (\w+)", plan.read_text())) <= set(WORKLOADS)
    assert lockcross("new", "study", "mine", "--output", str(study)).returncode == 0
    assert load_study(str(study)).plan.machine == "generic"
    plan.write_text("mine")
    done = lockcross("new", "plan", "mine", "--output", str(plan))
    assert done.returncode == 2 and "--force writes over it" in done.stderr
    assert plan.read_text() == "mine"
    assert lockcross("new", "plan", "mine", "--output", str(plan), "--force").returncode == 0
    assert "[[cells]]" in plan.read_text()


def test_the_plan_to_start_from_shows_an_effect(tmp_path: Path) -> None:
    """A CAS of 160 cycles instead of 10 shows in the costs, and another lock is the cheapest."""
    plan, db = tmp_path / "mine.toml", str(tmp_path / "a.db")
    lockcross("new", "plan", "mine", "--output", str(plan))
    words = plan.read_text().replace("seed = [1, 2, 3]", "seed = 1")
    plan.write_text(words.replace('isa = ["x86_64", "aarch64"]', 'isa = "x86_64"'))
    done = lockcross("sweep", str(plan), "--db", db, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 3 and len({row["winner"] for row in rows}) > 1
    costs = [row["cycles_per_pair"] for row in sorted(rows, key=lambda row: row["cas_latency"])]
    assert all(dear > 1.2 * cheap for cheap, dear in itertools.pairwise(costs))
