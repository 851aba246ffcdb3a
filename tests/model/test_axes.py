"""The axes of a cell and lock labels stand once: everything made from them has all."""

import inspect
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from results.store.batches import batches
from results.store.queries import ask
from results.store.store import Store
from sweeps.model.axes import AXES, LATENCIES, option
from sweeps.model.cell import COLUMNS, Cell, command, digest, distinguishing, read_cell, selected
from sweeps.model.locks import LockLabel
from sweeps.questions.read.runs import list_runs, runs
from sweeps.questions.run.command import run
from sweeps.questions.validate.answer import summarize
from sweeps.questions.validate.table import validation_parts
from sweeps.report.style import STYLES, style_of
from sweeps.study.plan import Cells
from tests.fakes.cells import cell_of
from tests.fakes.records import record
from tests.fakes.validation import Gem5Data
from tests.run.jobs import write_plan
from tests.trees import Tree


@pytest.mark.parametrize(
    ("label", "parts", "words"),
    [
        ("tasuki", ("tasuki", "", "full"), "tasuki"),
        ("asym_tasuki", ("asym_tasuki", "", "full"), "asymmetric"),
        ("asym_tasuki/rmw", ("asym_tasuki", "", "rmw"), "asymmetric, locked RMW"),
        ("thin:unlk_cas", ("thin", "unlk_cas", "full"), "thin (unlk_cas)"),
        (
            "reservation:signal/store_forward",
            ("reservation", "signal", "store_forward"),
            "reservation (signal), store forwarding",
        ),
    ],
)
def test_a_label_is_its_parts(label: str, parts: tuple[str, str, str], words: str) -> None:
    parsed = LockLabel(label)
    assert (parsed.lock, parsed.variant, parsed.fence) == parts
    assert LockLabel.of(*parts) == label
    assert parsed.with_full_fences == LockLabel.of(parts[0], parts[1])
    assert parsed.words() == words


def test_a_variant_has_its_locks_colour_and_other_lines() -> None:
    plain = style_of(LockLabel("reservation"))
    variant = style_of(LockLabel("reservation:signal/rmw"))
    assert variant.colour == plain.colour == STYLES["reservation"].colour
    assert (variant.line, variant.hatch) != (plain.line, plain.hatch)
    bars = Figure().subplots().bar([0], [1], hatch=variant.hatch)
    assert len(bars) == 1


def test_a_variant_takes_part_in_contests_of_its_lock(store: Store) -> None:
    data = Gem5Data(store)
    runs = []
    for variant, on_gem5, embedded in (("", 50.0, 50.0), ("signal", 40.0, 60.0)):
        for engine, cost in (("gem5/timing", on_gem5), ("qemu", embedded)):
            runs.append(data.run(engine, "reservation", cost, variant=variant))
    store.set_series("validation/timing_uncontended", runs)
    store.set_fact("java_locks", {"names": ["reservation"]})
    (found,) = summarize(store.connection)
    assert found.contests == 1
    (change,) = found.winner_changes
    assert (change.reference, change.candidate) == ("reservation:signal", "reservation")
    text = io.StringIO()
    Console(file=text, width=300).print(*validation_parts(store.connection), sep="\n")
    assert "reservation (signal)" in text.getvalue()


def test_runs_that_differ_in_cores_are_two_settings(store: Store) -> None:
    data = Gem5Data(store)
    runs = [
        data.run(engine, "thin", cost, threads=4, cores=cores)
        for cores, costs in ((1, (10.0, 11.0)), (2, (20.0, 30.0)))
        for engine, cost in zip(("gem5/timing", "qemu"), costs, strict=True)
    ]
    store.set_series("validation/timing_contended", runs)
    (found,) = summarize(store.connection)
    assert found.cells == 2 and not found.left_out
    assert "4 threads on 2 cores" in found.worst_cell


def test_the_export_keeps_whole_numbers_whole(store: Store) -> None:
    store.add_run(record("one", cores=2, cas_latency=20), "test")
    store.add_run(record("two"), "test")
    kinds, read = batches(store.connection, "wide")
    rows = [dict(zip(kinds, row, strict=True)) for batch in read for row in batch.rows()]
    assert {kinds[axis.name] for axis in AXES if axis.quantity} == {int}
    assert [row["cores"] for row in rows] == [2, None]
    assert isinstance(rows[0]["cores"], int)


def test_the_table_of_runs_has_every_axis(store: Store) -> None:
    given = record("one", cores=2, variant="signal", cas_latency=3, seed=7)
    store.add_run(given, "test")
    row = store.connection.execute(f"SELECT {selected(store.connection)} FROM runs").fetchone()
    listed = list_runs(store.connection, 1).columns
    assert read_cell(row) == Cell(**{name: getattr(given, name) for name in COLUMNS})
    assert {axis.name for axis in AXES} <= set(listed)


def test_plans_and_the_command_line_have_every_axis() -> None:
    names = {axis.name for axis in AXES}
    assert names <= set(Cells.model_fields)
    assert names <= set(inspect.signature(run).parameters) & set(inspect.signature(runs).parameters)


def test_the_command_says_every_axis_that_is_set() -> None:
    latencies = dict(zip(LATENCIES, range(2, 6), strict=True))
    cell = cell_of(variant="v", cores=1, **latencies, parameters={"objects": 5})
    words = command(cell).split()
    assert [words[words.index(option(axis)) + 1] for axis in LATENCIES] == ["2", "3", "4", "5"]
    assert {option(axis.name) for axis in AXES} <= set(words) and "objects=5" in words
    assert "--cancel-latency" in words and "--cores" not in command(replace(cell, cores=None))


def test_a_cells_digest_is_that_of_earlier_versions() -> None:
    cell = cell_of(threads=2, cas_latency=30, parameters={"iterations": 100})
    assert (
        digest(distinguishing(cell))
        == "dba4e1bbb0026b34bf892055f41c6ae400842c581a665937ae03de8eedaa60da"
    )


AXIS = (
    "    bus_latency: Annotated[int | None, "
    'Quantity("bus latency", "cycles", 0, 1000, "Cycles of the bus.", "bus set to")] = None'
)
MEANING = """    if cell.bus_latency is not None:
        options["lat_dirty"] = cell.bus_latency"""


@pytest.mark.long
def test_a_new_axis_is_a_line_of_the_table_and_what_it_means_to_an_engine(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    with Store(database) as store:
        store.add_run(record("before"), "test")
    tree = Tree(tmp_path / "tree")
    tree.insert("sweeps/model/axes.py", "seed: Annotated", AXIS)
    tree.insert("sweeps/engines/qemu/engine.py", "if cell.cancel_latency is not None", MEANING)
    axes = {"isa": "x86_64", "workload": "random_threads", "threads": 2, "bus_latency": [50, 900]}
    plan = write_plan(tmp_path, latencies=1, iterations=1000, lock=["thin", "tasuki"], **axes)

    def said(*words: str) -> str:
        done = tree.lockcross(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    kept = ("--db", str(database))
    assert "bus_latency" in said("runs", *kept, "--format", "csv")  # before it has the column
    words = "run --lock thin --workload random_threads --threads 2 --cas-latency 1".split()
    near, far = (
        json.loads(said(*words, *kept, "--bus-latency", cycles, "--format", "json"))[0]["value"]
        for cycles in ("50", "900")
    )
    assert near < far
    refused = tree.lockcross(*words, "--bus-latency", "1001")
    assert refused.returncode == 2 and "1000" in refused.stderr

    said("sweep", str(plan), *kept)
    listed = json.loads(said("runs", *kept, "--bus-latency", "900", "--format", "json"))
    assert [row["lock"] for row in listed] == ["tasuki", "thin"]
    assert "bus_latency" in said("compare", "--plan", "plan", "--along", "bus_latency", *kept)
    shown = said("show", str(listed[0]["id"]), *kept)
    assert "--bus-latency 900" in shown
    with Store(database, read_only=True) as store:
        rows = store.connection.execute("SELECT bus_latency, plan FROM runs ORDER BY id").fetchall()
        assert "bus_latency" in ask(store.connection, "compilers", database).columns
    assert rows[:3] == [(None, "test"), (50, "run"), (900, "run")]
    assert sorted(rows[3:]) == [(50, "plan"), (900, "plan")]  # stored as they end
    words_of = "from sweeps.questions.validate.answer import setting_words as w; "
    words_of += "from sweeps.model.cell import Cell; print(w(Cell(machine='generic', isa='x86_64', "
    words_of += "flavour='lock', lock='thin', workload='sync', parameters={}, bus_latency=7)))"
    (tree.folder / "words.py").write_text(words_of)
    assert "bus set to 7" in tree.python("words").stdout
