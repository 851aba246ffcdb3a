"""A new machine is one file: it is listed, measured and run; figures without source are refused."""

from pathlib import Path

import pytest

from tests.trees import Tree

FILE = "sweeps/machines/mine.toml"
RUN = ("run", "--machine", "mine", "--lock", "thin", "--workload", "sync", "iterations=100")


@pytest.mark.long
def test_a_machine_from_its_file_to_its_first_run(tmp_path: Path) -> None:
    tree, db = Tree(tmp_path / "tree"), ("--db", str(tmp_path / "a.db"))
    made = tree.lockcross("new", "machine", "mine", "--from", "skylake", "--output", FILE)
    assert made.returncode == 0, made.stderr
    assert "mine" in tree.lockcross("machines").stdout
    assert "source" in tree.lockcross("machines", "mine").stdout
    for words in (("calibrate", "mine"), RUN):
        done = tree.lockcross(*words, *db)
        assert done.returncode == 0, done.stdout + done.stderr
    text = (tree.folder / FILE).read_text(encoding="utf-8")
    (line,) = [one for one in text.splitlines() if one.startswith("lat_mul = ")]
    tree.write(FILE, text.replace(line, "lat_mul = { value = 3 }"))
    done = tree.lockcross(*RUN, *db)
    assert done.returncode == 2 and "mine.toml" in done.stderr and "lat_mul" in done.stderr
