"""`answer`: three sentences and a table, all of whose numbers are the stored runs', and an error
where the runs say something else."""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.paths import ROOT
from results.store.store import reading
from sweeps.accuracy.errors import read_rows
from sweeps.questions.runtimes.summary import RUNS, Finding, answers, trust, with_answer
from tests.commands import lockcross

README = ROOT / "README.md"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the stored runs, to be changed."""
    return Path(shutil.copy(RUNS, tmp_path / "runs.db"))


def found(db: Path) -> tuple[list[str], list[Finding]]:
    with reading(db) as connection:
        return answers(connection)


def row(db: Path, question: str) -> Finding:
    (one,) = (one for one in found(db)[1] if one.question.startswith(question))
    return one


def test_the_readme_has_what_the_stored_runs_say() -> None:
    said = with_answer(README, *found(RUNS), trust(read_rows()))
    assert README.read_text(encoding="utf-8") == said, "./lockcross answer --page README.md"


def test_it_is_printed_and_nothing_is_run(tmp_path: Path) -> None:
    done = lockcross("answer")
    assert done.returncode == 0, done.stderr
    said, rows = found(RUNS)
    assert len(said) == 3 and all(one in done.stdout for one in said)
    assert all(one.question in done.stdout for one in rows)
    assert json.loads(lockcross("answer", "--format", "json").stdout) == [vars(one) for one in rows]
    done = lockcross("answer", "--db", str(tmp_path / "none.db"))
    assert done.returncode == 2 and not list(tmp_path.iterdir())


def costs(db: Path, change: str) -> None:
    """Change the costs of runs."""
    with sqlite3.connect(db) as connection:
        done = connection.execute(f"UPDATE runs SET cycles_per_pair = {change}")
        assert done.rowcount > 0


def test_another_cost_is_another_answer(changed: Path) -> None:
    """The best mutex is another one, where it costs tenfold."""
    before = row(changed, "Which mutex").answer
    (best,) = re.findall(r"`(\w+)`", before)
    costs(changed, f"cycles_per_pair * 10 WHERE lock = '{best}'")
    assert f"`{best}`" not in row(changed, "Which mutex").answer


def test_a_border_is_where_two_runs_say(changed: Path) -> None:
    """Take a lock that costs 100, and one that costs 50 and a revocation of 25,000 cycles: the
    border is where the owner's 499 acquisitions and the other's one bring in the revocation's
    cost."""
    first, shared = (f"json_extract(parameters, '$.{key}')" for key in ("first", "turns"))
    costs(changed, f"100 WHERE lock = 'hotspot_light' AND {shared} > 0")
    costs(changed, f"50 + 25000.0 / ({first} + 1) WHERE lock = 'reservation' AND {shared} > 0")
    said, rows = found(changed)
    assert said[2].count("499") == 2
    pays = [one for one in rows if "one revocation of `reservation`" in one.question]
    assert [re.findall(r"[\d,]+(?= on)", one.answer) for one in pays] == [["499", "499"]] * 3
    assert {one.range for one in pays} == {"499 to 499, 499 to 499"}  # whatever the owner does


SIDES = {  # what is said where costs change so
    "biased locking costs one thread less": "* 9 WHERE lock = 'biased' AND workload = 'sync'",
    "a release without an atomic has a third": "* 4 WHERE lock = 'j9_flat' AND workload = 'sync'",
    "an atomic is free somewhere": "+ 1000 WHERE json_extract(parameters, '$.think') > 0 "
    "AND lock NOT IN ('nop', 'reservation', 'biased', 'asym_tasuki')",
}


@pytest.mark.parametrize(("said", "change"), SIDES.items(), ids=SIDES)
def test_a_fact_that_changes_sides_is_an_error(changed: Path, said: str, change: str) -> None:
    costs(changed, f"cycles_per_pair {change}")
    with pytest.raises(LockcrossError, match=said) as caught:
        found(changed)
    assert caught.value.exit_code == 1


def test_runs_that_are_missing_are_named(changed: Path) -> None:
    with sqlite3.connect(changed) as connection:
        connection.execute("DELETE FROM series WHERE name LIKE '%cancellations'")
        connection.execute("UPDATE runs SET plan = '' WHERE plan LIKE '%cancellations'")
    with pytest.raises(LockcrossError, match=r"`\./lockcross runtimes cancellations --db FILE`"):
        found(changed)


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Mine\n")
    with pytest.raises(LockcrossError, match=r"page\.md: does not have the six marks"):
        with_answer(page, ["one"], [], ["two"])


def test_trust_is_what_errors_csv_counts() -> None:
    rows = read_rows()
    (one_thread,) = [line for line in trust(rows) if line.startswith("| one thread")]
    for row in rows:
        if (row.core, row.kind, row.work) == ("out of order", "any", "one thread"):
            assert f"{100 * row.median_error:.0f} %" in one_thread
            assert f"of {row.pairs[0]:,}" in one_thread
