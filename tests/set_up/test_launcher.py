"""The launcher: no rights to install, a broken environment, a second start, which QEMU is taken."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import program
from tests.set_up.launching import launch, shell, stand_in

PROGRAMS = ("qemu-x86_64", "qemu-ppc64le", "qemu-aarch64")
GCC = ("x86_64", "powerpc64le", "aarch64")
PLUGINS = "echo '-plugin           QEMU_PLUGIN'"
NO_PLUGINS = "echo '-cpu model'"


def qemu(folder: Path, script: str = PLUGINS) -> Path:
    """Make a QEMU with the output of `script`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        program(folder, name, script)
    return folder


def test_without_rights_it_says_what_to_install(tree: Path) -> None:
    stand_in(tree, "id", "echo 1000")
    stand_in(tree, "apt-get", "echo must not be called >&2; exit 1")
    done = launch(tree, "plans")
    assert done.returncode == 2 and done.stdout == ""
    line = next(text for text in done.stderr.splitlines() if "apt-get install" in text)
    for package in ("gcc-powerpc64le-linux-gnu", "g++", "python3-venv"):
        assert package in line.split()


FOR_TESTS = (
    'mkdir -p "$work/build"; system_programs=/none; '
    'if [[ -n "$(wanted_for_tests)" ]]; then install_for_tests; fi; echo went on'
)
ASKED = {"LOCKCROSS_BROWSER": "1", "LOCKCROSS_SLURM": "1"}


def test_what_only_tests_need_is_installed_where_it_is_asked_for(tree: Path) -> None:
    asked = tree / "asked"
    stand_in(tree, "apt-get", f'echo "$@" >>"{asked}"')
    assert shell(tree, FOR_TESTS).stdout == "went on\n" and not asked.exists()
    assert shell(tree, FOR_TESTS, **ASKED).stdout == "went on\n"
    for packages in ("chromium", "slurm-wlm munge"):
        assert f"install -y --no-install-recommends {packages}" in asked.read_text()
    stand_in(tree, "chromium")
    stand_in(tree, "slurmctld")
    asked.unlink()
    shell(tree, FOR_TESTS, **ASKED)
    assert not asked.exists()


@pytest.mark.parametrize("user", [0, 1000])
def test_set_up_goes_on_where_there_is_nothing_to_install_from(tree: Path, user: int) -> None:
    stand_in(tree, "id", f"echo {user}")
    stand_in(tree, "apt-get", "exit 100")
    done = shell(tree, FOR_TESTS, **ASKED)
    assert done.stdout == "went on\n" and done.stderr.count("will be skipped") == 2


def test_java_is_for_recording_alone(tree: Path) -> None:
    def missing(command: str) -> list[str]:
        ask = f"if wants_java {command}; then missing_for_java; else echo none; fi"
        return shell(tree, ask).stdout.split()

    assert missing("record -o") == ["default-jdk-headless", "maven"]
    assert missing("record --help") == missing('plans ""') == ["none"]
    assert missing("record -o x --pthread -- app") == ["none"]
    assert missing("record -- app --pthread") == ["default-jdk-headless", "maven"]
    stand_in(tree, "mvn")
    assert missing("record -o") == ["default-jdk-headless"]
    wanted = shell(tree, "system_programs=/none; wanted_for_tests", LOCKCROSS_JAVA="1")
    assert wanted.stdout == "default-jdk-headless\n"


@pytest.mark.parametrize(
    ("said", "old"), [("1.8.0_392", True), ("10.0.2", True), ("11.0.2", False), ("26-ea", False)]
)
def test_the_agent_wants_a_compiler_of_java_11(tree: Path, said: str, old: bool) -> None:
    stand_in(tree, "javac", f"echo javac {said}")
    done = shell(tree, "check_javac; echo fine")
    assert (done.returncode, done.stdout) == ((2, "") if old else (0, "fine\n"))
    assert (f"the javac here is javac {said}" in done.stderr) == old


MVN = """for word; do case $word in -Dmade=*) made=${word#-Dmade=};; esac; done
mkdir -p "$made"
echo built >>"$made/lockcross-agent-1.jar"
echo mvn >>"$HOME.calls"
"""


def test_the_agent_is_built_again_when_a_source_has_changed(tree: Path) -> None:
    source = tree / "java-agent" / "src" / "main" / "A.java"
    source.parent.mkdir(parents=True)
    (tree / "java-agent" / "pom.xml").write_text("two")
    stand_in(tree, "javac", "echo javac 17")
    stand_in(tree, "mvn", MVN)
    build = 'mkdir -p "$work/build"; java_ready || set_up_java; java_ready && echo ready'
    for content, times in (("one", 1), ("one", 1), ("three", 2)):
        source.write_text(content)
        assert shell(tree, build).stdout == "ready\n"
        assert len((tree / "home.calls").read_text().split()) == times
    jar = tree / "build" / "java-agent" / "lockcross-agent-1.jar"
    assert jar.read_text() == "built\n"  # nothing is left of the first
    stand_in(tree, "mvn", "echo no network >&2; exit 1")
    source.write_text("four")
    done = shell(tree, build)
    assert done.returncode == 1 and "no network" in done.stderr
    assert "the Java agent could not be built" in done.stderr


def test_an_environment_that_lost_a_part_is_found_out(tree: Path) -> None:
    packages = tree / ".venv/lib/python3.11/site-packages"
    python = tree / ".venv/bin/python"
    for folder in (packages / "typer", packages / "pip-1.dist-info", python.parent):
        folder.mkdir(parents=True)
    python.symlink_to("/usr/bin/python3")

    def ready(first: str = "true") -> bool:
        return shell(tree, f"{first}; venv_ready").returncode == 0

    assert not ready()
    stamp = 'cd "$work"; venv_packages >.venv/contents; venv_state requirements.txt >.venv/stamp'
    assert ready(stamp)
    (packages / "added").mkdir()
    (packages / "pip-1.dist-info").rename(packages / "pip-2.dist-info")  # as Datasette brings it
    assert ready()
    (packages / "typer").rmdir()
    assert not ready()
    assert ready(stamp)
    with (tree / "requirements.txt").open("a") as requirements:
        requirements.write("# changed\n")
    assert not ready()
    assert ready(stamp)
    python.unlink()
    assert not ready()


def all_ready(tree: Path) -> Path:
    """Make everything look set up and kept, as it was a while ago; returns QEMU's folder."""
    for name in ("g++", "make", *(f"{isa}-linux-gnu-gcc" for isa in GCC)):
        stand_in(tree, name)
    places = "qemu-timing/Makefile qemu-timing/src/base/a.cc sweeps/run/start.c build/engine.stamp"
    places += " build/start.stamp build/start build/qemu-timing/liblockcross-timing.so .venv/stamp"
    places += " .venv/contents .venv/bin/python .venv/lib/python3.11/site-packages/typer/core.py"
    for place in places.split():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text("as it was")
    return qemu(tree / "bin")


def looked(tree: Path, **variables: str) -> str:
    """Return the results that a launcher takes over from the last look, if any."""
    return shell(tree, "if nothing_changed; then echo $qemu $qemu_why; fi", **variables).stdout


def look(tree: Path) -> None:
    """Look at everything."""
    while int(time.time()) <= int(max(path.stat().st_ctime for path in tree.rglob("*"))):
        time.sleep(0.05)  # what changes in the second of a look counts as changed
    assert shell(tree, "choose_qemu; save_fingerprint $EPOCHSECONDS").returncode == 0


def test_while_nothing_changes_a_launcher_looks_once(tree: Path) -> None:
    folder = all_ready(tree)
    assert looked(tree) == ""
    look(tree)
    assert looked(tree) == f"{folder} the system's, which has plugins\n"
    assert looked(tree, PATH=f"{tree}/bin:/none") == ""
    assert looked(tree, LOCKCROSS_BROWSER="1") == ""
    assert looked(tree, XDG_CACHE_HOME=str(tree)) == ""
    assert looked(tree) != ""
    (tree / ".venv" / "lib" / "python3.11" / "site-packages" / "typer" / "core.pyc").write_text("")
    assert looked(tree) != ""  # inside of a package nothing is looked at, as ever
    kept = tree / "build" / "fingerprint"
    around, when, *rest = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join([around, f"{int(when) + 1000}\n", *rest]))
    assert looked(tree) == "", "the clock was set back"


def unpack_an_old_file(tree: Path) -> None:
    source = tree / "qemu-timing/src/base/a.cc"
    source.write_text("another, unpacked with its old time")
    os.utime(source, (1, 1))


@pytest.mark.parametrize(
    "change",
    [
        unpack_an_old_file,
        lambda tree: (tree / "qemu-timing/src/base/new.cc").write_text(""),
        lambda tree: (tree / "qemu-timing/src/base/a.cc").unlink(),
        lambda tree: (tree / "requirements.txt").write_text(""),
        lambda tree: (tree / "sweeps/run/start.c").write_text(""),
        lambda tree: (tree / "build/qemu-timing/liblockcross-timing.so").unlink(),
        lambda tree: (tree / "build/start").unlink(),
        lambda tree: shutil.rmtree(tree / ".venv/lib/python3.11/site-packages/typer"),
        lambda tree: (tree / ".venv/bin/python").unlink(),
        lambda tree: (tree / "bin/aarch64-linux-gnu-gcc").unlink(),
        lambda tree: program(tree / "bin", "qemu-ppc64le", "exit 127"),
        lambda tree: program(tree / "bin", "g++", "echo another"),
        lambda tree: program(tree / "bin", "chromium", ""),
        lambda tree: (tree / "sweeps/setup/work.sh").touch(),
    ],
    ids=range(14),
)
def test_any_change_is_looked_at(tree: Path, change: Callable[[Path], object]) -> None:
    all_ready(tree)
    look(tree)
    assert looked(tree) != ""
    change(tree)
    assert looked(tree) == ""


# Which QEMU ------------------------------------------------------------------------------------


def chosen(tree: Path, **variables: str) -> list[str]:
    """The folder that is taken and why, or nothing."""
    done = shell(tree, 'choose_qemu || exit 0; echo "$qemu"; echo "$qemu_why"', **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def built_before(tree: Path) -> Path:
    folder = qemu(tree / "home" / ".cache" / "lockcross" / "qemu" / "x86_64-10.0")
    (folder / "source").write_text("source package qemu 1:10.0\n")
    return folder


def test_the_users_qemu_comes_first_then_the_systems_then_one_built_before(tree: Path) -> None:
    """The system's only if it has plugins."""
    assert chosen(tree) == []
    qemu(tree / "bin", NO_PLUGINS)
    assert chosen(tree) == []
    built = built_before(tree)
    assert chosen(tree) == [str(built), "built here from source package qemu 1:10.0"]
    qemu(tree / "bin")
    assert chosen(tree) == [str(tree / "bin"), "the system's, which has plugins"]
    own = qemu(tree / "own qemu")
    found = chosen(tree, LOCKCROSS_QEMU=str(own))
    assert found == [str(own), "named by LOCKCROSS_QEMU"]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: (folder / "qemu-aarch64").unlink(), "qemu-aarch64 is not there"),
        (lambda folder: qemu(folder, NO_PLUGINS), "qemu-x86_64 was built without plugins"),
        (lambda folder: qemu(folder, "exit 127"), "qemu-x86_64 does not run"),
    ],
)
def test_a_qemu_of_no_use_is_refused_by_name(
    tree: Path, spoil: Callable[[Path], object], why: str
) -> None:
    own = qemu(tree / "own")
    spoil(own)
    done = launch(tree, "plans", LOCKCROSS_QEMU=str(own))
    assert done.returncode == 2
    assert f"LOCKCROSS_QEMU={own}: {why}" in done.stderr and done.stderr.count("\n") == 1


def test_a_static_qemu_package_is_not_installed_but_its_source_is_built(tree: Path) -> None:
    ubuntu = "ubuntu-virt'; echo 'Built-Using: glibc (= 2.43)"
    for depends, wanted in (("libc6 (>= 2.34), libglib2.0-0", True), ("", False), (ubuntu, False)):
        stand_in(tree, "apt-cache", f"echo 'Package: qemu-user'; echo 'Depends: {depends}'")
        packages = shell(tree, "qemu_of_package=/none; missing_for_qemu").stdout.split()
        assert ("qemu-user" in packages) is wanted
        assert ("ninja-build" in packages) is not wanted


def apt_get(case: str) -> str:
    """One that knows the distribution's mirrors, and otherwise does as a case of the shell says."""
    mirror = "echo \"'http://mirror/debian/dists/stable/InRelease' x 0 \""
    return f'case "$*" in *print-uris*) {mirror};; {case}; esac'


PACKAGE = apt_get("""*source*qemu) mkdir qemu-10; printf "Version: 1:10.0\\n" >qemu_10.dsc
    printf "#!/bin/sh\\n" >qemu-10/configure; chmod +x qemu-10/configure""")


def build(tree: Path, **tools: str) -> subprocess.CompletedProcess[str]:
    """Try to build one with stand-ins, and print its folder."""
    for name, script in tools.items():
        stand_in(tree, name.replace("_", "-"), script)
    script = 'mkdir -p "$work/build"; exec 9>"$work/build/setup.lock"; build_qemu; echo "$qemu"'
    done = shell(tree, script)
    cache = tree / "home" / ".cache" / "lockcross" / "qemu"
    assert not list(cache.glob(".building-*")), "what a failure left"
    return done


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({"apt_get": apt_get("*) echo no network; exit 100")}, "no network.*check the network"),
        ({"apt_get": apt_get("*source*) echo none; exit 100")}, "none.*source packages"),
        ({"apt_get": "true"}, "no mirror of this distribution"),
        ({"apt_get": "exit 1", "df": "echo h; echo /dev/vda 9 8 100 99% /"}, "has 100 MB free"),
        (
            {"apt_get": PACKAGE, "ninja": "echo '[1/4] CC'; echo broken.c; exit 1"},
            "broken.c.*does not compile",
        ),
    ],
    ids=["no network", "no source", "no mirror", "no disk", "does not compile"],
)
def test_why_a_qemu_cannot_be_built_is_told(tree: Path, tools: dict[str, str], said: str) -> None:
    done = build(tree, **tools)
    assert done.returncode == 1
    assert re.search(said, done.stderr, re.S)


def test_a_build_is_kept_by_its_version_and_shows_its_progress(tree: Path) -> None:
    """With a source package whose configure and ninja are played."""
    qemu(tree / "played")
    ninja = f'for n in 1 2 3 4; do echo "[$n/4] CC"; done; cp "{tree}/played/"* .'
    done = build(tree, apt_get=PACKAGE, ninja=ninja)
    assert done.returncode == 0, done.stderr
    assert "building QEMU: 50 %" in done.stderr
    assert done.stdout.strip().endswith(f"{os.uname().machine}-10.0")
    assert chosen(tree)[1] == "built here from source package qemu 1:10.0"


# Where things go ---------------------------------------------------------------------------------


READ_ONLY = 'writable() { [[ $1 != "$root" ]]; }; choose_work; '  # also for root, who may all


def test_a_tree_that_cannot_be_written_builds_in_a_folder_of_the_users(tree: Path) -> None:
    done = shell(tree, READ_ONLY + 'echo "$work"')
    place = done.stdout.strip()
    assert place.startswith(str(tree / "home" / ".local" / "share" / "lockcross" / "tree-"))
    assert "cannot be written to" in done.stderr and place in done.stderr


def test_a_home_that_cannot_be_written_is_no_hindrance(tree: Path) -> None:
    (tree / "tmp").mkdir()
    done = shell(tree, READ_ONLY + 'echo "$work"', HOME="/dev/null", TMPDIR=str(tree / "tmp"))
    assert done.stdout.startswith(str(tree / "tmp" / "lockcross-")), done.stderr
    done = shell(tree, 'echo "$work"; qemu_cache', HOME="/dev/null")
    assert done.stdout.splitlines() == [str(tree), str(tree / "build" / "qemu")]


def test_a_work_folder_can_be_named(tree: Path) -> None:
    done = shell(tree, 'echo "$work"', LOCKCROSS_WORK=str(tree / "else where"))
    assert done.stdout.strip() == str(tree / "else where")
    done = shell(tree, "true", LOCKCROSS_WORK="/dev/null/none")
    assert done.returncode == 2 and "LOCKCROSS_WORK=/dev/null/none" in done.stderr
