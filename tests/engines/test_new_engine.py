"""A new engine is one folder and one line of the registry: it runs, is validated, and is drawn."""

from pathlib import Path

import pytest

from tests.trees import Tree

LINE = '    Engine("fake/flat", "Flat Earth", True, "#CC79A7", ":", "x"),'
ADAPTER = '''
"""An engine for which every pair costs 100 cycles, under a QEMU without a plugin."""

from sweeps.engines import guest
from sweeps.engines.base import Capabilities, Engine, PartCheck, RunOutcome
from sweeps.engines.qemu.engine import find_qemu
from sweeps.model.cell import arguments


class Fake(Engine):
    time_limit_s = 60.0

    def version(self, isa):
        return "fake 1"

    def capabilities(self):
        return Capabilities(("x86_64",), 2, latencies=())

    def options(self, cell):
        return {}

    def command(self, cell, binary, limits):
        return [find_qemu(cell.isa).path, str(binary), *arguments(cell)]

    @guest.outcome
    def read(self, cell, limits, end, folder):
        pairs = guest.check_guest(cell, end.stdout, end.code).pairs
        return RunOutcome("", guest.cost(pairs, [100 * pairs]) | {"horizon": (1.0, "degrees")})

    def doctor(self):
        return [PartCheck("the turtle", True, "stands")]


def make(label):
    return Fake()
'''
RUN = ("run", "--lock", "thin", "--workload", "sync", "iterations=10")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("tree"))
    made.insert("sweeps/model/engines.py", 'Engine("gem5/timing"', LINE)
    made.write("sweeps/engines/fake/__init__.py", '"""A fake engine."""\n')
    made.write("sweeps/engines/fake/engine.py", ADAPTER.lstrip())
    for name, place in (("plan", "plans"), ("validation", "plans/validations")):
        text = Path(__file__).with_name(f"fake_{name}.toml").read_text(encoding="utf-8")
        made.write(f"sweeps/{place}/fake.toml", text)
    return made


@pytest.mark.long
def test_it_runs_with_its_own_metrics_and_refuses_what_it_cannot(tree: Tree) -> None:
    done = tree.lockcross(*RUN, "--engine", "fake/flat", "--all")
    assert done.returncode == 0 and "horizon" in done.stdout, done.stderr
    for words, why in (
        (("--isa", "aarch64"), "engine fake/flat simulates x86_64 only"),
        (("--cores", "1", "--threads", "2"), "engine fake/flat lets no threads share cores"),
    ):
        refused = tree.lockcross(*RUN, "--engine", "fake/flat", *words)
        assert refused.returncode == 2 and why in refused.stderr
    assert "engine fake: the turtle: stands" in tree.lockcross("doctor").stdout


def test_it_is_validated_drawn_and_reported(tree: Tree, tmp_path: Path) -> None:
    db = str(tmp_path / "fake.db")
    done = tree.lockcross("validate", "--against", "fake", "--db", db)
    assert done.returncode == 0, done.stderr
    assert "one thread on a flat Earth" in done.stdout and "Flat Earth" in done.stdout
    assert tree.lockcross("report", "--db", db).returncode == 0
    assert (tmp_path / "figures" / "validation.png").exists()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Flat Earth" in page and "Validation" in page
