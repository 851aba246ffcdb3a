"""The SST engine as far as it can be shown without an SST: finding, compiling, refusing, placing
and asking. The output of runs: test_sst_output.py."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.engines.base import Limits, load_engine, refusal
from sweeps.engines.sst import find as sst_find
from sweeps.engines.sst.engine import places
from sweeps.engines.sst.find import LIBRARY, Sst, element, find_sst
from sweeps.model.cell import Cell
from sweeps.model.machine import MemorySystem, load_machine, machine_named
from tests.commands import lockcross, program
from tests.fakes.cells import cell_of

MESH = "sst_mesh16"


def cell(machine: str = MESH, **more: object) -> Cell:
    """A cell of two threads."""
    keys = {"iterations": 10, "critical": 0, "think": 0}
    given = {"engine": "sst", "workload": "threads", "threads": 2, "parameters": keys}
    return cell_of(machine=machine, **given | more)


# What is found ----------------------------------------------------------------------------------

COMPILER = """
echo "$@" >> {log}
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo compiled > "$2"; shift; done
"""


def fake_sst(folder: Path, info: str = "PROCESSED 1 .so FILES") -> Sst:
    """Fill a folder with programs that answer as those of SST; `compiler` notes its calls."""
    folder.mkdir(exist_ok=True)
    program(folder, "compiler", COMPILER.format(log=folder / "log"))
    program(folder, "sst", "echo 'SST-Core Version (14.1.0)'")
    program(folder, "sst-info", f"echo '{info} '")
    cases = f"--CXX) echo {folder}/compiler;; *LDFLAGS) echo -shared;; *) echo -fPIC;;"
    program(folder, "sst-config", f"case $1 in {cases} esac")
    return Sst(str(folder / "sst"), str(folder / "sst-config"), "14.1.0", "a test")


@pytest.fixture
def no_sst(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH without SST; a folder is returned in which compiled elements are kept."""
    monkeypatch.delenv(sst_find.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sst_find, "ELEMENTS", tmp_path / "elements")
    return tmp_path


def test_a_missing_sst_is_said_with_its_documentation(no_sst: Path) -> None:
    with pytest.raises(LockcrossError, match="SST is not found; name its program sst") as error:
        find_sst()
    assert sst_find.DOCUMENTATION in error.value.message and error.value.exit_code == 1
    assert "absent  engine sst: SST (optional): SST is not found" in lockcross("doctor").stdout


def test_a_variable_names_the_program_or_a_folder(
    no_sst: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SST", str(no_sst))
    with pytest.raises(LockcrossError, match="neither the program sst nor a folder with it"):
        find_sst()
    fake_sst(no_sst / "bin")
    for given in (no_sst, no_sst / "bin", no_sst / "bin" / "sst"):
        monkeypatch.setenv("SST", str(given))
        assert find_sst().version == "14.1.0" and find_sst().why == "SST"
    monkeypatch.delenv("SST")
    monkeypatch.setenv("PATH", f"{no_sst / 'bin'}:/bin")
    assert find_sst().why == "PATH"


def test_what_an_sst_lacks_is_said(no_sst: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sst = fake_sst(no_sst / "elementless", info="PROCESSED 0 .so FILES")
    monkeypatch.setenv("SST", sst.path)
    with pytest.raises(LockcrossError, match="has no memHierarchy; build and install sst-elements"):
        find_sst()
    sst = fake_sst(no_sst / "other")
    program(no_sst / "other", "sst", "echo 'some other program'")
    monkeypatch.setenv("SST", sst.path)
    with pytest.raises(LockcrossError, match="prints no version; is it an SST"):
        find_sst()
    Path(sst.config).unlink()
    sst_find._ask.cache_clear()
    with pytest.raises(LockcrossError, match="has no sst-config beside it"):
        find_sst()


# The element ------------------------------------------------------------------------------------


def test_the_element_is_compiled_once(no_sst: Path) -> None:
    sst = fake_sst(no_sst / "sst")
    folder = element(sst)
    assert (folder / LIBRARY).read_text() == "compiled\n"
    assert [path.name for path in folder.iterdir()] == [LIBRARY]  # nothing is left of the way
    calls = (no_sst / "sst" / "log").read_text()
    element.cache_clear()
    assert element(sst) == folder
    assert (no_sst / "sst" / "log").read_text() == calls
    sources = list(sst_find.SOURCES.glob("*.cc"))
    assert calls.count("\n") == len(sources) + 1
    assert all(str(source) in calls for source in sources)


def test_another_sst_has_an_element_of_its_own(no_sst: Path) -> None:
    here, there = fake_sst(no_sst / "a"), fake_sst(no_sst / "b")
    assert element(here) != element(there)
    assert element(replace(here, version="15.0.0")) != element(here)


def test_the_compilers_first_error_is_said(no_sst: Path) -> None:
    sst = fake_sst(no_sst / "sst")
    said = "a.cc:1:10: warning: old\\na.cc:7:1: error: no member named 'x'\\nb.cc:2: error: more"
    program(no_sst / "sst", "compiler", f'printf "{said}" >&2\nexit 1')
    with pytest.raises(LockcrossError) as error:
        element(sst)
    assert error.value.message.endswith("cannot be compiled: a.cc:7:1: error: no member named 'x'")
    assert error.value.exit_code == 1
    assert not list((no_sst / "elements").glob("[!.]*"))
    (no_sst / "sst" / "compiler").unlink()
    with pytest.raises(LockcrossError, match="the compiler that sst-config names, does not run"):
        element(sst)


def test_two_processes_compile_it_once(no_sst: Path) -> None:
    code = f"""
from pathlib import Path
from sweeps.engines.sst import find
from sweeps.engines.sst.find import Sst
find.ELEMENTS = Path({str(no_sst / "elements")!r})
find.element({fake_sst(no_sst / "sst")!r})
"""
    both = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    calls = (no_sst / "sst" / "log").read_text().count("\n")
    assert calls == len(list(sst_find.SOURCES.glob("*.cc"))) + 1


# Labels, places, refusals -----------------------------------------------------------------------


@pytest.mark.parametrize("label", ["sst/", "sst/here", "sst/near/far", "sst/at-x", "ssst"])
def test_unknown_labels_are_the_users_mistake(label: str) -> None:
    with pytest.raises(LockcrossError, match=r"known|allowed are") as error:
        load_engine(label)
    assert error.value.exit_code == 2


def test_cores_are_placed_by_the_label() -> None:
    mesh = load_machine(MESH).sst
    assert places("", mesh, 3) == [0, 1, 2]
    assert places("near", mesh, 6) == [0, 1, 4, 2, 5, 8]
    assert places("far", mesh, 4) == [0, 15, 11, 14]
    assert places("at-10", mesh, 4) == [0, 10, 1, 2]
    for name in ("", "near", "far", "at-3"):
        assert sorted(places(name, mesh, 16)) == list(range(16))


def test_a_ring_is_closed() -> None:
    figures = load_machine(MESH).sst.model_dump(exclude_none=True)
    rows, columns = ({"assumption": n, "why": "a test"} for n in (1, 8))
    ring = MemorySystem.model_validate(
        figures | {"topology": "ring", "columns": columns, "rows": rows, "slices": columns}
    )
    assert places("far", ring, 4) == [0, 4, 3, 5]
    assert places("near", ring, 4) == [0, 1, 7, 2]


@pytest.mark.parametrize(
    ("machine", "more", "why"),
    [
        ("generic", {}, "machine: generic: it has no table [sst]"),
        (MESH, {"threads": 17}, f"threads: 17: machine {MESH}, a mesh, has room for 16 cores"),
        ("sst_bus", {"threads": 33}, "threads: 33: machine sst_bus, a bus, has room for 32 cores"),
        ("sst_bus", {"engine": "sst/far"}, "engine: sst/far: far: on a bus all cores are as near"),
        (MESH, {"engine": "sst/at-16"}, "at-16: allowed is a node from 1 to 15"),
        (MESH, {"engine": "sst/far", "threads": 1}, "one core has nothing to be far of"),
        ("host", {}, "machine: host: engine sst simulates machines of sweeps/machines only"),
    ],
)
def test_what_does_not_fit_is_refused(machine: str, more: dict[str, object], why: str) -> None:
    assert why in refusal(cell(machine, **more))


def test_atomics_of_the_interconnect_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    both = load_machine("generic_far").model_copy(update={"sst": load_machine("sst_bus").sst})
    file.write_text(both.as_toml())
    own = machine_named(str(file))
    assert "SST runs all in the core" in refusal(cell(own, isa="aarch64", flavour="lse"))


# What is asked for ------------------------------------------------------------------------------


def asked(one: Cell) -> dict[str, Any]:
    """The file that sst-configs/run.py reads."""
    (text,) = load_engine(one.engine).inputs(one, Path("/prog"), Limits(instructions=7)).values()
    return json.loads(text)


def test_sst_is_asked_for_the_machine_and_the_same_guest_as_the_embedded_engines() -> None:
    one = cell("sst_mesh64", engine="sst/far", cas_latency=30)
    found = asked(one)
    mesh = load_machine("sst_mesh64").sst
    assert found["sst"] == mesh.settings() and found["place"] == places("far", mesh, 2)
    assert (found["clock_mhz"], found["line"], found["cores"], found["lat_l1"]) == (2000, 64, 2, 2)
    guest = found["guest"]
    embedded = load_engine("qemu").command(one, Path("/prog"), Limits(instructions=7))
    assert len(guest) == len(embedded)
    (index,) = [n for n, word in enumerate(guest) if word != embedded[n]]
    ours, theirs = (set(words[index].split(",")) for words in (guest, embedded))
    assert ours - theirs == {"link=@FD@"}
    gone = {word.partition("=")[0] for word in theirs - ours}
    assert gone == set(
        "l2_size l2_ways lat_l2 lat_memory lat_dirty lat_upgrade lat_invalidate max_cpu_ms".split()
    )
    assert "cas_success=30" in ours and "max_instructions=7" in ours
    bus = asked(cell("sst_bus"))
    assert bus["sst"] == load_machine("sst_bus").sst.settings() and "place" not in bus


def test_everything_that_changes_an_answer_is_part_of_the_identity() -> None:
    near, far = (
        load_engine(label).options(cell(engine=label)) for label in ("sst/near", "sst/far")
    )
    assert near["place"] == "0 1" and far["place"] == "0 15"
    assert {name: n for name, n in near.items() if name != "place"}.items() <= far.items()
    assert near["sst_lat_link"] == 1 and near["width"] == 1 and "lat_l2" not in near
