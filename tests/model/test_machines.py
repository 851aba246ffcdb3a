"""Machines: every figure has its source, and a faulty description says where."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from results.errors import LockcrossError
from sweeps.engines.base import load_engine, refusal
from sweeps.model import machine as machine_module
from sweeps.model.axes import MAX_LATENCY
from sweeps.model.cell import Cell, isa_and_flavour
from sweeps.model.engines import ENGINES
from sweeps.model.isa import ISAS
from sweeps.model.machine import (
    GROUPS,
    STOPS,
    Charges,
    Core,
    Figure,
    Interconnect,
    Machine,
    Memory,
    MemorySystem,
    Ordering,
    OutOfOrder,
    about,
    load_machine,
    machine_named,
    machine_names,
    options,
)
from sweeps.run.runner import record_of
from sweeps.support.paths import MACHINES
from sweeps.support.toml import Documents, parse
from tests.commands import lockcross
from tests.fakes.cells import cell_of


def description(name: str) -> str:
    """Return the whole of a machine, including figures that its file takes from another."""
    return load_machine(name).as_toml()


def complaint(machine: str, place: str, new: str | int) -> str:
    """Return what is said of a machine of which a figure has another number, or a line is another,
    or below the head of a table stands one more."""
    lines = description(machine).splitlines()
    number = next(n for n, line in enumerate(lines) if f"{line} ".startswith(f"{place} "))
    line = new if isinstance(new, str) else f"{place} = {{ value = {new}, source = 'x' }}"
    lines[number] = f"{place}\n{line}" if place.startswith("[") else line
    with pytest.raises(ValueError) as error:
        parse(Machine, "\n".join(lines))
    return str(error.value)


def test_figures_of_the_sources() -> None:
    stops = load_machine("p4xeon").charges
    assert stops.number("stop_running") == round(18.986 * 1700)
    assert stops.number("stop_blocked") == round(6.741 * 1700)
    p3 = load_machine("p3").latency["x86_64"]
    around = 3 + 1  # the load and the addition beside the operation, in cycles
    assert p3["cas_success"].number == round(107.3 * 0.7) - around
    assert p3["fence_mfence"].number == p3["rmw"].number == round(58.2 * 0.7) - around
    assert load_machine("skylake").latency["x86_64"]["fence_mfence"].number == 33


SLEPT_ON = re.compile(r"slept on, (\d+) cycles.* as on zen4 \((\d+)\)")


@pytest.mark.parametrize("name", machine_names())
def test_a_stop_that_was_not_measured_is_another_machines(name: str) -> None:
    """The rule is in sweeps/machines/README.md: as many cycles; sleeping parts, as many us."""
    machine = load_machine(name)
    for stop in STOPS:
        figure = machine.charges.figure(stop)
        if figure.derived is None:
            continue
        if slept := SLEPT_ON.search(figure.source or ""):
            assert stop == "stop_blocked" and figure.number == sum(map(int, slept.groups()))
            continue
        origin, _, of = (figure.source or "").partition(",")[0].partition(".charges.")
        other = load_machine(origin)
        assert of == stop and figure.number == other.charges.number(stop)
        clock = machine.clock_mhz.number / other.clock_mhz.number
        low, high = other.charges.figure(stop).interval
        if stop != "stop_running":
            assert figure.interval == (low, high)
        elif "high measured" not in (figure.source or ""):
            assert figure.interval == (low, round(high * clock))


def test_a_figure_may_have_an_interval() -> None:
    open_ended = Figure(value=7, source="x", high=9)
    assert (open_ended.number, open_ended.interval) == (7, (7, 9))
    assert Figure(derived=7, source="x").interval == (7, 7)
    with pytest.raises(ValidationError, match="7 is not from low, 8, to high, 9"):
        Figure(value=7, source="x", low=8, high=9)
    with pytest.raises(ValidationError, match="either"):
        Figure(derived=7, why="x")


def test_a_former_file_has_one_stop_for_all_states() -> None:
    former = LIKE + '[charges]\nstop = { value = 7, source = "a test" }\n'
    charges = parse(Machine, former).charges
    assert [charges.number(stop) for stop in STOPS] == [7, 7, 7]


SUM = re.compile(r"(\d+) = front_end \+ 1 \+ mispredict \+ lat_alu")


@pytest.mark.parametrize("name", machine_names())
def test_a_published_misprediction_is_the_sum_of_its_parts(name: str) -> None:
    machine = load_machine(name)
    mispredict = machine.core.mispredict
    if found := SUM.search(mispredict.source or mispredict.why or ""):
        parts = (machine.out_of_order.front_end, mispredict, machine.core.lat_alu)
        assert sum(part.number for part in parts) + 1 == int(found[1])


def test_machines_are_listed_by_group_with_their_costs_or_room() -> None:
    groups = {name: load_machine(name).group for name in machine_names()}
    assert set(groups.values()) == set(GROUPS)
    assert groups["generic"] == groups["zen5"] == "contemporary, out of order"
    assert groups["p3"] == "older, out of order" and groups["generic_inorder"] == "in order"
    listed = lockcross("machines").stdout
    assert all(f"\n{group}" in listed for group in GROUPS)
    assert re.search(r"skylake +x86_64 +out of order 4-wide +18 +33 ", listed)
    room = {"sst_bus": 32, "sst_mesh16": 16, "sst_mesh64": 64, "sst_mesh128": 128}
    for name, nodes in room.items():
        system = load_machine(name).sst
        assert system.nodes == nodes
        assert re.search(rf"{system.topology}: {nodes}\b", listed)
    shown = lockcross("machines sst_mesh64").stdout
    assert re.search(r"sst.topology +mesh", shown) and re.search(r"sst.link_bytes +32", shown)


def test_lines_travel_between_the_cores_of_real_processors() -> None:
    """Each states its behaviour, with its source or why it is assumed."""
    generic = load_machine("generic").memory
    machines = map(load_machine, machine_names())
    real = [one for one in machines if one.group == "contemporary, out of order" and one.processors]
    assert {"zen4", "skylake", "neoverse_n1", "power9"} <= {one.name for one in real}
    for one in real:
        memory = one.memory
        assert memory.time_of_flight.number == 1, one.name
        assert memory.lat_jitter.number <= round(memory.lat_dirty.number / 10), one.name
        upgrade = memory.lat_upgrade.number + memory.lat_invalidate.number
        assert upgrade <= 1.5 * memory.lat_dirty.number, one.name
        for name in ("time_of_flight", "lat_jitter", "migratory", "ask_early"):
            assert getattr(memory, name) != getattr(generic, name), (one.name, name)


def test_generic_is_the_same_on_every_isa() -> None:
    generic, in_order = load_machine("generic"), load_machine("generic_inorder")
    assert (generic.latency, generic.charges) == (in_order.latency, in_order.charges)
    latency = generic.latency
    assert set(latency) == set(ISAS)
    for key in ("cas_success", "cas_failure", "rmw"):
        assert len({figures[key].number for figures in latency.values()}) == 1
    assert len({latency[isa.name][isa.full_fence].number for isa in ISAS.values()}) == 1


MISTAKES = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("machine", "place", "new", "said"),
    [(machine, *row) for machine, rows in MISTAKES.items() for row in rows],
)
def test_mistakes_are_named(machine: str, place: str, new: str | int, said: str) -> None:
    assert said in complaint(machine, place, new)


def test_an_unknown_key_is_named_with_those_of_its_table() -> None:
    said = complaint("p3", "[core]", "speed = 1")
    assert "core.speed: unknown key; allowed are width, lat_alu" in said and "lat_l1" not in said


def test_an_engine_is_told_whether_a_core_is_out_of_order() -> None:
    assert load_machine("generic").figures("x86_64")["out_of_order"].number == 1
    assert "out_of_order" not in load_machine("generic_inorder").figures("x86_64")


TABLES = [(Core, ""), (OutOfOrder, ""), (Ordering, ""), (Memory, ""), (Charges, "charge_")]


def test_every_option_is_read() -> None:
    """As many as entries stand in the file; no machine file gives the rest."""
    given = {prefix + name for table, prefix in TABLES for name in table.model_fields}
    left = {name for name in options() if name not in given}
    fences = {name for name in left if name.startswith("fence_")}
    assert left - fences == {"out_of_order", "cas_success", "cas_failure", "rmw", "seed"}
    assert all(one.low <= one.default <= one.high for one in options().values())


def test_a_latency_that_can_be_set_has_the_plugins_bound() -> None:
    latencies = ("cas_success", "rmw", "charge_stop_running")
    assert {options()[name].high for name in latencies} == {MAX_LATENCY}


@pytest.mark.parametrize(("table", "prefix"), TABLES)
def test_a_figure_has_the_bounds_of_its_option(table: type[Core], prefix: str) -> None:
    for name in table.model_fields:
        option, said = options()[prefix + name], about(table, name)
        assert (said["low"], said["high"]) == (option.low, option.high)
        assert said["power_of_two"] == option.power_of_two


@pytest.mark.parametrize("name", ["generic", "generic_inorder"])
def test_a_machine_has_the_bounds_of_the_engine(name: str) -> None:
    bounds = {one.name: (one.low, one.high) for one in options().values()}
    tables = tomllib.loads(description(name))
    isa, charges = tables["latency"]["x86_64"], tables["charges"]
    given = {
        key: (tables[table], key)
        for table in ("core", "memory", "out_of_order")
        for key in tables.get(table, {})
    }
    given |= {key: (isa, key) for key in isa}
    given |= {f"charge_{key}": (charges, key) for key in charges}
    assert given.keys() <= bounds.keys()
    for option, (table, key) in given.items():
        before = table[key]
        for number in (bounds[option][1] + 1, 2 * bounds[option][1], 10**30, bounds[option][0] - 1):
            table[key] = {"assumption": number, "why": "a test"}
            with pytest.raises(ValidationError, match=rf"\b{key}\n|\b{key}\.assumption"):
                Machine.model_validate(tables)
        table[key] = before
    assert Machine.model_validate(tables) == load_machine(name)


LIKE = """
name = "mine"
title = "Mine"
like = "generic"
isas = ["x86_64"]
[core]
lat_mul = { value = 5, source = "a test" }
"""


@pytest.mark.parametrize(
    ("machine", "isa", "flavour", "meant"),
    [
        ("neoverse_n1", "", "", ("aarch64", "lse")),
        ("power9", "", "", ("ppc64le", "larx")),
        ("generic", "", "llsc", ("aarch64", "llsc")),
        ("generic", "ppc64le", "", ("ppc64le", "larx")),
        ("generic", "", "", ("x86_64", "lock")),
        ("generic", "mips", "", ("mips", "")),
    ],
)
def test_what_is_left_out_follows_from_what_is_given(
    machine: str, isa: str, flavour: str, meant: tuple[str, str]
) -> None:
    assert isa_and_flavour(machine, isa, flavour) == meant


def test_a_machine_takes_what_it_does_not_state_from_another() -> None:
    generic, mine = load_machine("generic"), parse(Machine, LIKE)
    assert mine.core.lat_mul.number == 5 and mine.clock_mhz == generic.clock_mhz
    assert mine.core.model_copy(update={"lat_mul": generic.core.lat_mul}) == generic.core
    assert (mine.memory, mine.charges) == (generic.memory, generic.charges)
    assert mine.out_of_order == generic.out_of_order
    assert (mine.latency, mine.ordering) == (
        {"x86_64": generic.latency["x86_64"]},
        {"x86_64": generic.ordering["x86_64"]},
    )
    narrow = LIKE.replace("[core]", "out_of_order = false\n[core]")
    with pytest.raises(ValueError, match="a core without a table out_of_order has 2 at most"):
        parse(Machine, narrow)
    in_order = parse(Machine, narrow + 'width = { value = 1, source = "a test" }')
    assert in_order.out_of_order is None and not in_order.ordering
    known = load_machine("sst_mesh64").sst
    on_mesh = LIKE.replace("generic", "sst_mesh64")
    assert parse(Machine, on_mesh).sst == known
    bus = parse(
        Machine,
        f"{on_mesh}[sst]\ntopology = 'bus'\nslices = {{ value = 1, source = 'a test' }}\n"
        "bus_latency = { value = 1, source = 'a test' }",
    ).sst
    assert bus.columns is None and bus.lat_slice == known.lat_slice
    assert parse(Machine, mine.as_toml()) == mine


@pytest.mark.parametrize(
    ("like", "said"),
    [
        ('"vax"', "like: 'vax' is unknown; allowed are altra, cortex_a55,"),
        ('"mine"', "like: 'mine' is unknown"),
        ("3", "like: 3"),
        (
            '"generic"\ninterconnect = "ether"',
            "interconnect: 'ether' is unknown; allowed are altra",
        ),
        ('"generic"\ninterconnect = 3', "interconnect: 3"),
    ],
)
def test_a_machine_is_like_one_of_the_tree(like: str, said: str) -> None:
    with pytest.raises(ValueError) as error:
        parse(Machine, LIKE.replace('"generic"', like))
    assert said in str(error.value)


def test_no_machine_is_like_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, like in (("egg", "hen"), ("hen", "egg")):
        text = f'name = "{name}"\ntitle = "x"\nlike = "{like}"\nisas = ["aarch64"]\n'
        (tmp_path / f"{name}.toml").write_text(text)
    monkeypatch.setattr(machine_module, "FILES", Documents("machine", tmp_path))
    machine_module._tables.cache_clear()
    with pytest.raises(LockcrossError, match="like: 'hen' takes figures from this one; allowed"):
        load_machine.__wrapped__("egg")
    machine_module._tables.cache_clear()


def test_cores_are_put_on_another_interconnect() -> None:
    graviton, altra = load_machine("neoverse_n1"), load_machine("altra")
    assert altra.core == graviton.core and altra.out_of_order == graviton.out_of_order
    assert (graviton.clock_mhz.number, altra.clock_mhz.number) == (2500, 3000)
    assert altra.memory.number("lat_dirty") > 4 * graviton.memory.number("lat_dirty")
    assert altra.memory.lat_l2 == graviton.memory.lat_l2
    taken = LIKE.replace('"generic"', '"zen4"\ninterconnect = "altra"')
    mine = parse(Machine, taken)
    assert mine.memory.lat_dirty == altra.memory.lat_dirty
    assert mine.core.lat_alu == load_machine("zen4").core.lat_alu
    own = taken + '[memory]\nlat_dirty = { value = 7, source = "a test" }\n'
    assert parse(Machine, own).memory.number("lat_dirty") == 7
    assert parse(Machine, own).memory.lat_upgrade == altra.memory.lat_upgrade


def test_an_interconnect_says_nothing_of_cores() -> None:
    text = (MACHINES / "interconnects" / "altra.toml").read_text()
    more = text.replace("[memory]", '[memory]\nlat_l1 = { value = 4, source = "a test" }')
    with pytest.raises(ValueError, match=r"memory.lat_l1: belongs to a core, .* lat_memory,"):
        parse(Interconnect, more)


def test_a_users_own_machine_is_kept_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine_module, "OWN_MACHINES", tmp_path / "kept")
    file = tmp_path / "mine.toml"
    file.write_text(LIKE)
    name = machine_named(str(file))
    (kept,) = (tmp_path / "kept").iterdir()
    assert "like" not in kept.read_text() and kept.stem == name
    assert load_machine(name) == parse(Machine, LIKE).model_copy(update={"name": name})
    assert set(record_of(name).description) == set(record_of("generic").description)
    file.write_text(parse(Machine, LIKE).as_toml())
    assert machine_named(str(file)) == name  # it stands for what the machine is


def test_every_option_is_listed_with_its_meaning() -> None:
    rows = json.loads(lockcross("machines", "--options", "--format", "json").stdout)
    assert all(row["meaning"] for row in rows)
    listed = {(row["table"].strip("[]"), row["option"]): row for row in rows}
    generic = tomllib.loads(description("generic"))
    for table in ("core", "out_of_order", "memory", "charges"):
        for name, one in generic[table].items():
            row = listed[table, name]
            assert row["generic"] == one["assumption"] and row["unit"] and "to" in row["allowed"]
    for isa in ISAS:
        assert {name for table, name in listed if table == f"latency.{isa}"} == set(
            generic["latency"][isa]
        )
        row = listed[f"ordering.{isa}", "atomic_start"]
        assert row["generic"] in row["allowed"] and "when_drained (as the" in row["allowed"]
    assert {name for table, name in listed if table == "sst"} == set(MemorySystem.model_fields)


@pytest.mark.parametrize("name", ["generic", "sst_mesh64", "sst_bus"])
def test_engines_are_given_what_they_say_that_they_read(name: str) -> None:
    machine, isa = load_machine(name), "x86_64"
    tables = {
        "core": machine.core,
        "out_of_order": machine.out_of_order or (),
        "ordering": machine.ordering.get(isa, ()),
        "memory": machine.memory,
        "latency": machine.latency[isa].items(),
        "charges": machine.charges,
        "sst": machine.sst or (),
    }
    for one in ENGINES:
        can = load_engine(one.label).capabilities()
        if "sst" in can.tables and machine.sst is None:
            continue
        cell = cell_of("nop", engine=one.label, machine=name, isa=isa)
        given = set(load_engine(one.label).options(cell))
        for table, figures in tables.items():
            prefix = {"charges": "charge_", "sst": "sst_"}.get(table, "")
            for key, figure in figures:
                reads = table in can.tables and key not in can.unread and figure is not None
                assert (prefix + key in given) == reads, (one.label, table, key)


def test_cores_are_far_where_a_machine_has_clusters() -> None:
    def a_cell(machine: str) -> Cell:
        return cell_of("nop", engine="qemu/far", machine=machine, threads=2)

    far, near = load_engine("qemu/far"), load_engine("qemu")
    assert near.options(a_cell("zen5"))["cluster"] == 8
    assert far.options(a_cell("zen5")) == near.options(a_cell("zen5")) | {"cluster": 1}
    assert refusal(a_cell("zen5")) == ""
    assert "machine: generic: it has no clusters" in refusal(a_cell("generic"))


def test_a_machines_atomic_is_the_whole_operation() -> None:
    cell = cell_of(machine="skylake")
    figures = load_machine("skylake").figures("x86_64")
    options = load_engine("qemu").options(cell)
    for name in ("cas_success", "cas_failure", "rmw"):
        assert options[name] + options["lat_l1"] == figures[name].number


def test_set_latencies_take_the_place_of_the_machines_own() -> None:
    latencies = {"cas_latency": 7, "fence_latency": 8, "cancel_latency": 9}
    own, changed = (
        load_engine("qemu").options(cell_of(flavour="larx", **given)) for given in ({}, latencies)
    )
    different = {key: changed[key] for key in own if own[key] != changed[key]}
    assert different == {
        "cas_success": 7,
        "cas_failure": 7,
        "rmw": 7,
        "fence_hwsync": 8,
        "charge_stop_running": 9,
        "charge_stop_blocked": 9,
        "charge_stop_ended": 9,
    }
    assert set(own) == set(changed) and "fence_mfence" not in own
    # All that the description gives reaches the engine.
    tables = tomllib.loads(description("generic"))
    assert own.keys() >= tables["core"].keys() | tables["memory"].keys()
