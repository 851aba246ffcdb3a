"""Set-up: its downloads and their times, side by side, and how it ends. apt and Python are
stand-ins."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.extras import Extra
from results.paths import ROOT
from sweeps.questions.develop import command as dev
from tests.processes import alive, until
from tests.set_up.launching import launch, run, shell, stand_in, start
from tests.set_up.test_machines_tried import table

# A Python that makes environments of itself; what its pip does, a test says in the file `pip`.
PYTHON = """case "$*" in
    -V) echo Python 3.14.0;;
    "-m venv "*) mkdir -p "$3/bin" "$3/lib/python3.14/site-packages/typer"
        cat "$0" >"$3/bin/python"; chmod +x "$3/bin/python";;
    "-m pip "*) echo "$@" >>"TREE/asked"; . "TREE/pip";;
    "-P -m sweeps "*) echo "ran $4";;
esac"""


def give(tree: Path, pip: str, apt_get: str = "") -> None:
    (tree / "pip").write_text(pip)
    stand_in(tree, "python3.14", PYTHON.replace("TREE", str(tree)))
    stand_in(tree, "apt-get", f'echo "apt-get $*" >>"{tree}/asked"; {apt_get}')


def wait_for(name: str) -> str:
    return f'n=0; until [ -e "{name}" ]; do sleep 0.1; n=$((n + 1)); [ $n -lt 300 ] || exit 9; done'


@pytest.mark.parametrize("word", ["--help", "-h", "--version"])
def test_words_alone_need_two_packages_and_no_compiler(tree: Path, word: str) -> None:
    """Which is said before anything is loaded."""
    said, seen, asked = tree / "said", tree / "seen", tree / "asked"
    give(tree, f'cat "{said}" >"{seen}"')
    done = run(tree, "bash", "-c", f'"{tree}/lockcross" {word} 2>"{said}"')
    assert (done.returncode, done.stdout) == (0, f"ran {word}\n"), said.read_text()
    assert re.search(r"requirements/cli.txt .*\(\d+ MB, about \d+ s\)", seen.read_text())
    assert re.search(r"Python packages of the command line: ready after \d+ s", said.read_text())
    assert "requirements/cli.txt" in asked.read_text() and "apt-get" not in asked.read_text()
    assert "--only-binary :all:" in asked.read_text() and "--require-hashes" in asked.read_text()
    asked.unlink()
    again = launch(tree, word)
    assert again.stdout == f"ran {word}\n" and again.stderr == ""
    assert not asked.exists()
    assert shell(tree, "venv_ready").returncode != 0, "a study needs more"


def test_all_that_is_missing_is_announced(tree: Path) -> None:
    give(tree, "exit 3", "exit 100")
    done = launch(tree, "plans")
    assert done.returncode == 1
    said = done.stderr
    assert re.search(r"about \d+ min in all", said)
    for part in ("system packages: .*g\\+\\+", "the engine", "Python packages of requirements.txt"):
        assert re.search(f"  {part}.*about \\d+ s", said), part


JOBS = """
mkdir -p "$work/build"
missing_for_programs() { [[ -e $root/installed ]] || echo g++; }
wanted_for_tests() { :; }; choose_qemu() { :; }; engine_ready() { :; }; starter_ready() { :; }
"""
BOTH = JOBS + "together get_programs get_packages; echo both"


def test_apt_and_pip_run_side_by_side(tree: Path) -> None:
    """Each waits for the other to begin."""
    give(
        tree,
        f'touch "{tree}/pip began"; {wait_for(f"{tree}/apt began")}',
        f'touch "{tree}/apt began" "{tree}/installed"; {wait_for(f"{tree}/pip began")}',
    )
    done = shell(tree, BOTH)
    assert (done.returncode, done.stdout) == (0, "both\n"), done.stderr
    assert "system packages: ready after" in done.stderr
    assert "Python packages: ready after" in done.stderr
    assert shell(tree, "venv_ready").returncode == 0


FAILS = 'n=0; while [ $n -lt 99 ]; do n=$((n + 1)); echo "fault $n" >&2; done; exit 7'


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("apt", "the packages could not be loaded; try: apt-get install g++"),
        ("pip", "the Python packages could not be installed; check the network"),
    ],
)
def test_a_failure_is_shown_whole_and_ends_the_other(tree: Path, which: str, message: str) -> None:
    waits = f'echo $$ >"{tree}/pid"; exec sleep 300'
    fails = f"{wait_for(f'{tree}/pid')}; {FAILS}"
    give(tree, *((waits, fails) if which == "apt" else (fails, waits)))
    done = shell(tree, BOTH)
    assert done.returncode == 1 and done.stdout == ""
    faults = [line for line in done.stderr.splitlines() if line.startswith("fault")]
    assert faults == [f"fault {number}" for number in range(1, 100)]
    assert message in done.stderr
    assert not alive(int((tree / "pid").read_text()))
    assert shell(tree, "venv_ready").returncode != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_both(tree: Path, number: int) -> None:
    pids = [tree / "pip pid", tree / "apt pid"]
    give(tree, *(f'echo $$ >"{pid}.new"; mv "{pid}.new" "{pid}"; exec sleep 300' for pid in pids))
    process = start(tree, BOTH)
    assert until(lambda: all(pid.exists() for pid in pids))
    process.send_signal(number)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 128 + number
    assert said.count("\n") == 1 and "interrupted" in said
    assert not [pid for pid in pids if alive(int(pid.read_text()))]
    assert shell(tree, "venv_ready").returncode != 0


def test_packages_that_dpkg_was_at_are_no_interrupts_prey(tree: Path) -> None:
    """The end of an unpacking is awaited; nothing is begun after it."""
    give(
        tree,
        "exec sleep 300",
        f'case "$*" in *download-only*) ;; '
        f'*) touch "{tree}/at it"; sleep 1; touch "{tree}/installed";; esac',
    )
    script = JOBS + 'engine_ready() { false; }; make_engine() { touch "$root/engine"; }; '
    process = start(tree, script + "together get_programs get_packages")
    assert until((tree / "at it").exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert (tree / "installed").exists() and not (tree / "engine").exists()


def test_packages_left_half_installed_are_missing(tree: Path) -> None:
    give(tree, "", f'case "$*" in *install*) touch "{tree}/installed";; esac')
    stand_in(tree, "dpkg", f'echo "dpkg $*" >>"{tree}/asked"')
    (tree / "build").mkdir()
    (tree / "build" / "unfinished").write_text("g++\n")
    assert "g++" in shell(tree, "have() { :; }; choose_qemu() { :; }; missing_packages").stdout
    again = (
        'missing() { [[ ! -e $(unfinished) ]] || cat "$(unfinished)"; }; install_packages missing'
    )
    done = shell(tree, again)
    assert done.returncode == 0, done.stderr
    asked = (tree / "asked").read_text().splitlines()
    assert asked[0] == "dpkg --configure -a" and asked[-1].endswith("g++")
    assert not (tree / "build" / "unfinished").exists()


def test_what_an_installation_shows_to_be_missing_is_installed_too(tree: Path) -> None:
    install = f'for last; do :; done; touch "{tree}/$last"'
    give(tree, "", f'case "$*" in *load-only*) ;; *) {install};; esac')
    (tree / "build").mkdir()
    missing = "missing() { for one in first second; do "
    missing += "[[ -e $root/$one ]] || { echo $one; return; }; done; }"
    done = shell(tree, f"{missing}; install_packages missing")
    assert done.returncode == 0, done.stderr
    asked = [line.split()[-1] for line in (tree / "asked").read_text().splitlines()]
    assert asked == ["first", "first", "second", "second"]  # loaded, and then installed
    done = shell(tree, "never() { echo third; }; install_packages never")
    assert done.returncode == 1 and "still missing after the installation: third" in done.stderr


def test_a_step_that_takes_long_is_spoken_of(tree: Path) -> None:
    give(tree, "sleep 1", f'touch "{tree}/installed"')
    done = shell(tree, "tick_s=0; " + BOTH)
    assert re.search(r"still at work after \d+ s: .*Python packages", done.stderr)


def test_pip_is_told_in_a_sentence(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "sweeps/setup/no_build.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, *"-m pip install --no-index --no-build-isolation".split()]
    for words in ([tmp_path], ["-e", tmp_path]):
        done = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 1 and "run ./lockcross in this folder" in said
        assert "Traceback" not in said


@pytest.mark.parametrize("command", [dev.test, dev.check, dev.python])
def test_commands_of_developers_install_what_they_need(
    command: Callable[[], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("lockcross-no-such-package==1.0\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(dev, "TOOLS", Extra("Nothing", wanted, megabytes=1))
    with pytest.raises(LockcrossError, match="Nothing could not be installed") as error:
        command()
    assert "\n" not in error.value.message


def test_a_requirement_of_another_processor_is_none_here(tmp_path: Path) -> None:
    wanted = tmp_path / "wanted.txt"
    wanted.write_text('none==1.0; platform_machine == "vax"  # why\n\npytest>=1 # is here\n')
    assert Extra("Nothing", wanted, megabytes=1).installed()
    wanted.write_text("pytest==0.1\n")
    assert not Extra("Nothing", wanted, megabytes=1).installed()


def test_what_is_announced_is_what_was_measured(tree: Path) -> None:
    loaded = {part: megabytes for part, megabytes, *_ in table("part of set-up")[1]}
    said = shell(tree, 'echo "$system_mb" "$packages_mb" "$command_line_mb"').stdout.split()
    named = ("system packages", "Python packages", "Python packages of the command line")
    assert [loaded[name] for name in named] == said
    assert loaded[dev.TOOLS.name] == str(dev.TOOLS.megabytes)
