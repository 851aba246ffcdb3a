"""Questions of runtimes' engineers: how they are read, and that every word of an answer follows
from the runs."""

import json
import sqlite3
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.paths import REFERENCE
from results.store.store import reading
from sweeps.model.machine import load_machine
from sweeps.plans import RUNTIMES
from sweeps.questions.runtimes.answer import Answered, load
from sweeps.questions.runtimes.command import PAGE, page_of
from tests.commands import lockcross

OWN = """
title = "Which is cheaper?"
asked = "here"
setup = "One thread."
settings = ["machine", "think"]
answer = '''
thin costs {{ less('thin', 'mcs') }}, beside mcs. Cheapest: {{ cheapest() }}.
mcs: {{ cost('mcs') }}.
Without thought {{ beside('think', 0, 50, machine='zen5') }}.'''

[[sweep]]
machine = ["zen5", "neoverse_v2"]
lock = ["mcs", "thin"]
workload = "random_threads"
parameters = { iterations = 200, critical = 0, think = [0, 50] }
"""


def test_the_shipped_questions_are_read() -> None:
    names = RUNTIMES.names()
    assert len(names) >= 7
    for name in names:
        asked = load(name)
        assert asked.cells and asked.title.endswith("?")


def test_an_answer_is_what_the_runs_say(tmp_path: Path) -> None:
    file, db = tmp_path / "own.toml", tmp_path / "own.db"
    file.write_text(OWN)
    done = lockcross("runtimes", str(file), "--db", str(db), "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    costs = {(row["machine"], row["think"], row["lock"]): row["ns_per_pair"] for row in rows}
    assert len(rows) == len(costs) == 8
    stored = "SELECT machine, json_extract(parameters, '$.think') AS think, lock, cycles_per_pair"
    stored += " FROM runs ORDER BY id"
    done = lockcross("query", stored, "--db", str(db), "--format", "json")
    for run in json.loads(done.stdout):
        mhz = load_machine(run["machine"]).clock_mhz.number
        cost = costs[run["machine"], run["think"], run["lock"]]
        assert cost == pytest.approx(run["cycles_per_pair"] * 1000 / mhz)
    with reading(db) as connection:
        answer = Answered(load(str(file)), connection).answer()
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


WITH_WORK = """
title = "Is an atomic free?"
asked = "here"
setup = "One thread."
settings = ["machine", "think"]
answer = "{{ less('reservation', 'j9_flat', think=0) }}; {{ free() }}"

[[cells]]
machine = ["zen5", "power10"]
lock = ["nop", "j9_flat", "reservation"]
workload = "lock_use"
parameters = { objects = 1, first = 400, critical = 0, think = [0, 1000] }
"""


def test_costs_are_beside_what_the_program_takes_without_a_lock(tmp_path: Path) -> None:
    """A core of power10 waits for every atomic; one of zen5 works on."""
    file, db = tmp_path / "own.toml", tmp_path / "own.db"
    file.write_text(WITH_WORK)
    done = lockcross("runtimes", str(file), "--db", str(db), "--format", "json")
    assert done.returncode == 0, done.stderr
    read = "SELECT machine, json_extract(parameters, '$.think'), lock, cycles_per_pair FROM runs"
    with sqlite3.connect(db) as connection:
        found = {tuple(place): cost for *place, cost in connection.execute(read)}
    rows = json.loads(done.stdout)
    assert len(rows) == 8 and not [row for row in rows if row["lock"] == "nop"]
    for row in rows:
        machine, work = row["machine"], row["think"]
        cycles = found[machine, work, row["lock"]] - found[machine, work, "nop"]
        cycles += found[machine, 0, "nop"]  # the simplest loop stays in
        mhz = load_machine(machine).clock_mhz.number
        assert row["ns_per_pair"] == pytest.approx(cycles * 1000 / mhz)
    with reading(db) as connection:
        answered = Answered(load(str(file)), connection)
    free = answered.free()
    assert free["power10"] is None and free["zen5"] is not None and 0 < free["zen5"] < 1000 / 5.7
    answer = answered.answer()
    assert answer.endswith(
        f"from {free['zen5']:,.0f} (zen5) to {free['zen5']:,.0f} (zen5) ns, "
        "not up to 1,000 cycles on power10"
    )


BY_OWNER = """
title = "From how many acquisitions?"
asked = "here"
setup = "Two threads."
settings = ["machine", "owner", "first"]
answer = "From {{ thresholds('reservation', 'thin', 'first', 'zen4', owner='running') }}."

[[cells]]
machine = "zen4"
lock = "reservation"
fence = "rmw"
workload = "lock_use"
parameters = { objects = 4, first = [10, 1000], turns = 1, run_length = 1, critical = 0, think = 0 }
threads = 2
cancel_latency = [0, 1000, 100000]

[[cells]]
machine = "zen4"
lock = "thin"
workload = "lock_use"
parameters = { objects = 4, first = [10, 1000], turns = 1, run_length = 1, critical = 0, think = 0 }
threads = 2
"""


def test_what_a_state_of_owners_costs_is_what_runs_with_that_cost_say(tmp_path: Path) -> None:
    """The rows of states lie between runs at other costs; the same cells at a state's own cost are
    run to compare."""
    file, db = tmp_path / "own.toml", tmp_path / "own.db"
    file.write_text(BY_OWNER)
    done = lockcross("runtimes", str(file), "--db", str(db), "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout) if row["lock"] == "reservation"]
    assert {(row["owner"], row["first"]) for row in rows} == {
        (owner, first) for owner in ("ended", "blocked", "running") for first in (10, 1000)
    }
    charges, mhz = load_machine("zen4").charges, load_machine("zen4").clock_mhz.number
    stops = {owner: charges.number(f"stop_{owner}") for owner in ("blocked", "running")}
    direct = tmp_path / "direct.toml"
    costs = str(list(stops.values()))
    direct.write_text(
        BY_OWNER.replace("[0, 1000, 100000]", costs)
        .replace('"owner", ', "")
        .replace(
            "thresholds('reservation', 'thin', 'first', 'zen4', owner='running')", "cost('thin')"
        )
    )
    assert lockcross("runtimes", str(direct), "--db", str(db)).returncode == 0
    read = "SELECT cancel_latency, json_extract(parameters, '$.first'), cycles_per_pair FROM runs"
    with sqlite3.connect(db) as connection:
        found = {(stop, first): cost for stop, first, cost in connection.execute(read)}
    for row in rows:
        if row["owner"] in stops:
            cycles = found[stops[row["owner"]], row["first"]]
            assert row["ns_per_pair"] == pytest.approx(cycles * 1000 / mhz, rel=1e-6)
    with reading(db) as connection:
        answered = Answered(load(str(file)), connection)
    value, low, high = (
        answered.crossings("reservation", "thin", "first", end, owner="running")["zen4"]
        for end in ("value", "low", "high")
    )
    assert value is not None and low is not None and high is not None and low < value < high
    assert answered.answer() == f"From {value:,.0f} ({low:,.0f} to {high:,.0f}) on zen4."


@pytest.mark.parametrize(
    ("thin", "mcs", "said"),
    [
        ((100, 110, 150), (140, 180, 190), "as much"),
        ((100, 110, 130), (140, 180, 190), "less"),
        ((200, 210, 230), (140, 180, 190), "more"),
    ],
)
def test_a_lead_that_the_seeds_turn_is_none(
    thin: tuple[int, ...], mcs: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    """Here the medians always lie far apart."""
    file, db = tmp_path / "own.toml", tmp_path / "own.db"
    own = OWN.replace('["zen5", "neoverse_v2"]', '"zen5"').replace("[0, 50]", "0")
    own = own.replace(" {{ beside('think', 0, 50, machine='zen5') }}", "")
    file.write_text(f"{own}seed = [1, 2, 3]\n")
    assert lockcross("runtimes", str(file), "--db", str(db)).returncode == 0
    with sqlite3.connect(db) as connection:
        for lock, costs in (("thin", thin), ("mcs", mcs)):
            for seed, cost in enumerate(costs, 1):
                changed = "UPDATE runs SET cycles_per_pair = ? WHERE lock = ? AND seed = ?"
                assert connection.execute(changed, (cost, lock, seed)).rowcount == 1
    with reading(db) as connection:
        compared = Answered(load(str(file)), connection).compared("thin", "mcs")
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


@pytest.mark.parametrize(
    "call", ["less('thin', 'tasuki')", "cost('tasuki')", "dearest()", "beside('think', 0, 7)"]
)
def test_an_answer_asks_for_what_was_run(tmp_path: Path, call: str) -> None:
    file, db = tmp_path / "own.toml", tmp_path / "own.db"
    file.write_text(OWN.replace("cheapest()", call))
    done = lockcross("runtimes", str(file), "--db", str(db))
    assert done.returncode == 2 and "own: " in done.stderr


def test_the_page_is_what_the_stored_runs_say() -> None:
    with reading(REFERENCE / "runtimes.db") as connection:
        answered = [Answered(load(name), connection) for name in RUNTIMES.names()]
    assert PAGE.read_text(encoding="utf-8") == page_of(answered), (
        "./lockcross runtimes --db results/reference/runtimes.db --page docs/runtimes.md"
    )
