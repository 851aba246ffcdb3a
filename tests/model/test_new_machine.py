"""A new machine is one file: it is listed, measured and run; figures without source are refused."""

from pathlib import Path

import pytest

from tests.trees import Tree

FILE = "sweeps/machines/mine.toml"
RUN = ("run", "--machine", "mine", "--lock", "thin", "--workload", "sync", "iterations=100")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("tree"))
    words = ("new", "machine", "mine", "--from", "skylake", "--output", FILE)
    done = made.lockcross(*words)
    assert done.returncode == 0, done.stderr
    return made


def test_it_is_listed_measured_and_run(tree: Tree, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "a.db"))
    assert "mine" in tree.lockcross("machines").stdout
    assert "source" in tree.lockcross("machines", "mine").stdout
    for words in (("calibrate", "mine"), RUN):
        done = tree.lockcross(*words, *db)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_figure_without_a_source_is_refused(tree: Tree) -> None:
    file = tree.folder / FILE
    text = file.read_text(encoding="utf-8")
    (line,) = [one for one in text.splitlines() if one.startswith("lat_mul = ")]
    tree.write(FILE, text.replace(line, "lat_mul = { value = 3 }"))
    done = tree.lockcross(*RUN)
    tree.write(FILE, text)
    assert done.returncode == 2 and "mine.toml" in done.stderr and "lat_mul" in done.stderr
