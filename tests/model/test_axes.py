"""The axes of a cell and lock labels stand once: what is made from them leaves none out."""

import inspect
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from results.store.export import frames
from results.store.store import Store
from sweeps.model.axes import LATENCIES
from sweeps.model.cell import AXES, COLUMNS, Cell, command, option, read_cell, selected
from sweeps.model.locks import LockLabel
from sweeps.plans.sweep import Sweep
from sweeps.questions.read.runs import list_runs
from sweeps.questions.run.command import run
from sweeps.questions.validate.answer import summarize
from sweeps.questions.validate.table import validation_parts
from sweeps.report.style import LOOKS, look
from tests.synthetic import record
from tests.synthetic_gem5 import Gem5Data

LABELS = {
    "tasuki": ("tasuki", "", "full"),
    "asym_tasuki/rmw": ("asym_tasuki", "", "rmw"),
    "thin:unlk_cas": ("thin", "unlk_cas", "full"),
    "reservation:signal/store_forward": ("reservation", "signal", "store_forward"),
}


@pytest.mark.parametrize(("label", "parts"), LABELS.items())
def test_a_label_is_its_parts(label: str, parts: tuple[str, str, str]) -> None:
    parsed = LockLabel(label)
    assert (parsed.lock, parsed.variant, parsed.fence) == parts
    assert LockLabel.of(*parts) == label
    assert parsed.with_full_fences == LockLabel.of(parts[0], parts[1])


def test_a_label_is_printed_for_people() -> None:
    assert LockLabel("asym_tasuki").words() == "asymmetric"
    assert LockLabel("reservation:signal/rmw").words() == "reservation (signal), locked RMW"


def test_a_variant_has_its_locks_colour_and_other_lines() -> None:
    plain, variant = look(LockLabel("reservation")), look(LockLabel("reservation:signal/rmw"))
    assert variant.colour == plain.colour == LOOKS["reservation"].colour
    assert (variant.line, variant.hatch) != (plain.line, plain.hatch)
    bars = Figure().subplots().bar([0], [1], hatch=variant.hatch)
    assert len(bars) == 1


def test_a_variant_takes_part_in_contests_of_its_lock(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
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


def test_runs_that_differ_in_cores_are_two_settings(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
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


def test_the_export_keeps_whole_numbers_whole(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        store.add_run(record("one", cores=2, cas_latency=20), "test")
        store.add_run(record("two"), "test")
        frame = pd.concat(frames(store.connection, "wide")[1])
    for axis in (axis for axis in AXES if axis.quantity):
        assert str(frame[axis.name].dtype) == "Int64", axis.name
    assert frame["cores"].tolist()[0] == 2
    assert np.array([frame["cores"].isna().tolist()]).tolist() == [[False, True]]


def test_the_table_of_runs_has_every_axis(tmp_path: Path) -> None:
    given = record("one", cores=2, variant="signal", cas_latency=3, seed=7)
    with Store(tmp_path / "a.db") as store:
        store.add_run(given, "test")
        row = store.connection.execute(f"SELECT {selected()} FROM runs").fetchone()
        listed = list_runs(store.connection, 1).columns
    assert read_cell(row) == Cell(**{name: getattr(given, name) for name in COLUMNS})
    assert {axis.name for axis in AXES} <= set(listed)


def test_plans_and_the_command_line_have_every_axis() -> None:
    assert {axis.name for axis in AXES} <= set(Sweep.model_fields)
    assert {axis.name for axis in AXES} <= set(inspect.signature(run).parameters)


def test_the_command_says_every_axis_that_is_set() -> None:
    cell = Cell(
        machine="m", isa="i", flavour="f", lock="l", variant="v", workload="w", cores=1,
        cas_latency=2,
        fence_latency=3, cancel_latency=4, parameters={"objects": 5},
    )  # fmt: skip
    words = command(cell).split()
    assert [words[words.index(option(axis)) + 1] for axis in LATENCIES] == ["2", "3", "4"]
    assert {option(axis.name) for axis in AXES} <= set(words) and "objects=5" in words
    assert "--cancel-latency" in words and "--cores" not in command(replace(cell, cores=None))
