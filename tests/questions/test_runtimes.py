"""Questions of runtimes' engineers: how they are read, and that every word of an answer follows
from the runs."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from results.paths import REFERENCE
from results.store.store import reading
from sweeps.model.machine import load_machine
from sweeps.plans import RUNTIMES
from sweeps.questions.runtimes.answer import Answered, load
from sweeps.questions.runtimes.command import PAGE, page_of
from tests.commands import lockcross

OWN, BESIDE_WORK, BY_OWNER = (
    Path(__file__).with_name(f"own_question{of}.toml").read_text(encoding="utf-8")
    for of in ("", "_beside_work", "_by_owner")
)
THINK, FIRST = (f"json_extract(parameters, '$.{key}')" for key in ("think", "first"))


def ran(folder: Path, text: str) -> list[dict[str, Any]]:
    """The rows of a question of one's own, whose runs are added to a database."""
    (folder / "own.toml").write_text(text)
    own = str(folder / "own.toml"), "--db", str(folder / "own.db")
    done = lockcross("runtimes", *own, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [*json.loads(done.stdout)]


def answered(folder: Path) -> Answered:
    with reading(folder / "own.db") as connection:
        return Answered(load(str(folder / "own.toml")), connection)


def cycles(folder: Path, *columns: str) -> dict[tuple[Any, ...], float]:
    """The stored cost of each run by some of its columns."""
    with sqlite3.connect(folder / "own.db") as connection:
        rows = connection.execute(f"SELECT {', '.join(columns)}, cycles_per_pair FROM runs")
        return {tuple(of_run): cost for *of_run, cost in rows}


def test_an_answer_is_what_the_runs_say_and_asks_for_no_others(tmp_path: Path) -> None:
    rows = ran(tmp_path, OWN)
    costs = {(row["machine"], row["think"], row["lock"]): row["ns_per_pair"] for row in rows}
    stored = cycles(tmp_path, "machine", THINK, "lock")
    assert len(rows) == len(costs) == len(stored) == 8
    for (machine, *place), cost in stored.items():
        mhz = load_machine(machine).clock_mhz.number
        assert costs[machine, *place] == pytest.approx(cost * 1000 / mhz)
    answer = answered(tmp_path).answer()
    places = [place for *place, lock in costs if lock == "thin"]
    leads = [costs[*place, "mcs"] - costs[*place, "thin"] for place in places]
    assert min(leads) > 0
    span = f"{min(leads):.1f} to {max(leads):.1f} ns less in every setting ("
    assert answer.startswith(f"thin costs {span}")
    assert "Cheapest: `thin` in every setting.\n" in answer
    dear = [cost for (_, _, lock), cost in costs.items() if lock == "mcs"]
    assert f"mcs: {min(dear):.1f} to {max(dear):.1f} ns.\n" in answer
    saved = {lock: costs["zen5", 50, lock] - costs["zen5", 0, lock] for lock in ("mcs", "thin")}
    assert min(saved.values()) > 0
    ends = f"{min(saved.values()):.1f} to {max(saved.values()):.1f}"
    assert answer.endswith(f"Without thought {ends} ns less in every setting.")
    for call in ("less('thin', 'tasuki')", "cost('tasuki')", "dearest()", "beside('think', 0, 7)"):
        (tmp_path / "own.toml").write_text(OWN.replace("cheapest()", call))
        with pytest.raises(LockcrossError, match="own: ") as caught:
            answered(tmp_path).answer()
        assert caught.value.exit_code == 2, call


def test_costs_are_beside_what_the_program_takes_without_a_lock(tmp_path: Path) -> None:
    """A core of power10 waits for every atomic; one of zen5 works on."""
    rows = ran(tmp_path, BESIDE_WORK)
    found = cycles(tmp_path, "machine", THINK, "lock")
    assert len(rows) == 8 and not [row for row in rows if row["lock"] == "nop"]
    for row in rows:
        machine, work = row["machine"], row["think"]
        cost = found[machine, work, row["lock"]] - found[machine, work, "nop"]
        cost += found[machine, 0, "nop"]  # the simplest loop stays in
        mhz = load_machine(machine).clock_mhz.number
        assert row["ns_per_pair"] == pytest.approx(cost * 1000 / mhz)
    said = answered(tmp_path)
    free = said.free()
    assert free["power10"] is None and free["zen5"] is not None and 0 < free["zen5"] < 1000 / 5.7
    assert said.answer().endswith(
        f"from {free['zen5']:,.0f} (zen5) to {free['zen5']:,.0f} (zen5) ns, "
        "not up to 1,000 cycles on power10"
    )


def test_what_a_state_of_owners_costs_is_what_runs_with_that_cost_say(tmp_path: Path) -> None:
    """The rows of states lie between runs at other costs; the same cells at a state's own cost are
    run to compare."""
    rows = [row for row in ran(tmp_path, BY_OWNER) if row["lock"] == "reservation"]
    said = answered(tmp_path)
    assert {(row["owner"], row["first"]) for row in rows} == {
        (owner, first) for owner in ("ended", "blocked", "running") for first in (10, 1000)
    }
    charges, mhz = load_machine("zen4").charges, load_machine("zen4").clock_mhz.number
    stops = {owner: charges.number(f"stop_{owner}") for owner in ("blocked", "running")}
    direct = BY_OWNER.replace("[0, 1000, 100000]", str([*stops.values()])).replace('"owner", ', "")
    ran(tmp_path, re.sub(r"thresholds\(.*\)", "cost('thin')", direct))
    found = cycles(tmp_path, "cancel_latency", FIRST)
    for row in rows:
        if row["owner"] in stops:
            cost = found[stops[row["owner"]], row["first"]]
            assert row["ns_per_pair"] == pytest.approx(cost * 1000 / mhz, rel=1e-6)
    value, low, high = (
        said.crossings("reservation", "thin", "first", end, owner="running")["zen4"]
        for end in ("value", "low", "high")
    )
    assert value is not None and low is not None and high is not None and low < value < high
    assert said.answer() == f"From {value:,.0f} ({low:,.0f} to {high:,.0f}) on zen4."


def test_a_lead_that_the_seeds_turn_is_none(tmp_path: Path) -> None:
    """Here the medians always lie far apart."""
    own = OWN.replace('["zen5", "neoverse_v2"]', '"zen5"').replace("[0, 50]", "0")
    own = own.replace(" {{ beside('think', 0, 50, machine='zen5') }}", "")
    ran(tmp_path, f"{own}seed = [1, 2, 3]\n")
    changed = "UPDATE runs SET cycles_per_pair = ? WHERE lock = ? AND seed = ?"
    for thin, said in (
        ((100, 110, 150), "as much"),
        ((100, 110, 130), "less"),
        ((200, 210, 230), "more"),
    ):
        costs = [(cost, "thin", seed) for seed, cost in enumerate(thin, 1)]
        costs += [(cost, "mcs", seed) for seed, cost in enumerate((140, 180, 190), 1)]
        with sqlite3.connect(tmp_path / "own.db") as connection:
            assert connection.executemany(changed, costs).rowcount == len(costs) == 6
        compared = answered(tmp_path).compared("thin", "mcs")
        sides = {"less": compared.less, "more": compared.more, "as much": compared.tied}
        assert [name for name, side in sides.items() if side] == [said]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"machine", "think"', '"machine", "thinks"', "'thinks' is unknown; known are"),
        ("{{ cheapest() }}", "{{ cheapest( }}", "answer: unexpected"),
        ('asked = "here"', "", "asked"),
    ],
)
def test_mistakes_of_a_file_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(OWN.replace(old, new))
    with pytest.raises(LockcrossError, match=r"own\.toml: ") as caught:
        load(str(file))
    assert said in str(caught.value) and caught.value.exit_code == 2


def test_the_page_is_what_the_stored_runs_say() -> None:
    with reading(REFERENCE / "runtimes.db") as connection:
        every = [Answered(load(name), connection) for name in RUNTIMES.names()]
    assert len(every) >= 7 and all(one.asked.title.endswith("?") for one in every)
    assert PAGE.read_text(encoding="utf-8") == page_of(every), (
        "./lockcross runtimes --db results/reference/runtimes.db --page docs/runtimes.md"
    )
