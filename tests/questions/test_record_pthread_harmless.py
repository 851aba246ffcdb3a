"""`record --pthread` does not harm the program: problems reported of other recorders, by the
program that showed it. pthread_programs.py has these ways mixed at random."""

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.lock_logs.log import Kind, read_events
from sweeps.questions.record import preload
from sweeps.questions.record.preload import library, preloaded
from tests.questions.recording import ended
from tests.questions.test_record_pthread import record

SOURCES = ROOT / "tests" / "pthread"
SHARED = ("-shared", "-fPIC")


def compiled(folder: Path, source: str, *flags: str, name: str = "app") -> Path:
    (folder / f"{name}.c").write_text(source)
    command = ["cc", "-O1", "-w", "-include", SOURCES / "pairs.h", "-o", folder / name]
    command += [folder / f"{name}.c", "-pthread", *flags]
    done = ended(command)
    if done.returncode:
        pytest.skip(f"cannot be compiled here: {done.stderr[-200:]}")
    return folder / name


def ran(log: Path, source: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    """A program that was compiled and recorded beside its log."""
    return record(log, compiled(log.parent, source, *flags))


def acquired(log: Path) -> int:
    return int((read_events(log).events["kind"] == Kind.ACQUIRED).sum())


def source_of(name: str) -> str:
    return (SOURCES / f"{name}.c").read_text("utf-8")


def main(statements: str) -> str:
    return f"int main(void) {{ {statements} return 0; }}"


PROGRAMS = {  # its source, exit code, output, acquisitions and waits
    "main ends by pthread_exit": (
        """static void *go(void *x) { pairs(1); pthread_exit(0); }
        int main(void) { pthread_t t; for (int i = 0; i < 3; i++) pthread_create(&t, 0, go, 0);
            pthread_exit(0); }""",
        (0, "", 3, 0),
    ),
    "lock and unlock are no cancellation points": (
        source_of("cancelled"),
        (0, "1 20000\n", 20_002, 0),
    ),
    "a limit of the program's own": (
        main("""struct rlimit l = {1000, 1000};
            setrlimit(RLIMIT_FSIZE, &l); setrlimit(RLIMIT_NPROC, &l);
            l.rlim_cur = l.rlim_max = 3; setrlimit(RLIMIT_NOFILE, &l); pairs(20000);"""),
        (0, "", 20_000, 0),
    ),
    "mutexes of C11": (source_of("c11"), (0, "", 30, 10)),
    "it ends by _exit": (main("pairs(100); _exit(5);"), (5, "", 100, 0)),
    "it ends by quick_exit": (main("pairs(100); quick_exit(6);"), (6, "", 100, 0)),
    "it aborts": (main("pairs(100); abort();"), (134, "", 100, 0)),
    "it writes to nowhere": (main("pairs(100); *(volatile int *)0 = 0;"), (139, "", 100, 0)),
    "it kills itself": (main("pairs(100); raise(9);"), (137, "", 100, 0)),
}


@pytest.mark.parametrize(("source", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_recorded_and_does_as_it_does(
    source: str, expected: tuple[int, str, int, int], log: Path
) -> None:
    done = ran(log, source)
    kinds = read_events(log).events["kind"].value_counts()
    found = kinds[Kind.ACQUIRED], kinds.get(Kind.WAIT, 0)
    assert (done.returncode, done.stdout, *found) == expected
    assert (kinds[Kind.RELEASE], kinds.get(Kind.WAITED, 0)) == found
    assert done.returncode == 0 or f"ended with code {done.returncode}" in done.stderr


@pytest.mark.parametrize(
    "ends",
    [
        "closefrom(3);",
        "close_range(3, ~0u, 0);",
        "for (int f = 3; f < 4096; f++) close(f);",
        'for (int f = 3, o = open("/dev/null", 1); f < 1024; f++) dup2(o, f); closefrom(3);',
        "close(2);",
        "close(0); close(1); close(2);",
    ],
)
def test_closed_descriptors_are_the_programs_own(ends: str, log: Path) -> None:
    source = f"""pairs(1); {ends} int f = open("precious.txt", O_CREAT | O_WRONLY, 0644);
        for (int i = 0; i < 3; i++) {{ dprintf(f, "%d\\n", i); usleep(120000); pairs(10000); }}"""
    assert ran(log, main(source)).returncode == 0
    assert (log.parent / "precious.txt").read_text() == "0\n1\n2\n"
    assert acquired(log) == 30_001


ALLOCATES, OWN_MALLOC = source_of("allocates"), source_of("own_malloc")
KEEPS_MALLOC = "-fno-builtin"  # or the compiler leaves out a malloc that is freed


@pytest.mark.parametrize("preloaded_", [False, True])
@pytest.mark.parametrize("allocator", ["jemalloc", "mimalloc", "tcmalloc_minimal"])
def test_allocators_that_lock(allocator: str, preloaded_: bool, log: Path) -> None:
    found = sorted(Path("/usr").glob(f"lib*/*/lib{allocator}.so*"))
    if not found:
        pytest.skip(f"no {allocator} here: LOCKCROSS_ALLOCATORS=1 installs it")
    linked = [] if preloaded_ else ["-Wl,--no-as-needed", str(found[0])]
    app = compiled(log.parent, ALLOCATES, KEEPS_MALLOC, *linked)
    command: list[str | Path] = [app]
    if preloaded_:  # of the program alone: this process is not to have it
        command = ["sh", "-c", f'LD_PRELOAD="{found[0]} $LD_PRELOAD" exec {app}']
    done = record(log, *command)
    assert (done.returncode, done.stdout) == (0, "4000\n"), done.stderr
    assert acquired(log) >= 4000


def test_a_program_with_its_own_malloc(log: Path) -> None:
    done = ran(log, OWN_MALLOC + ALLOCATES, KEEPS_MALLOC)
    assert (done.returncode, done.stdout) == (0, "4000\n"), done.stderr
    assert acquired(log) >= 4000 * 3


def test_the_recorder_calls_nothing_that_locks_or_allocates() -> None:
    done = ended(["nm", "-D", "--undefined-only", library()], check=True)
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    at_start = {"dlsym", "dlvsym", "getauxval", "gnu_get_libc_version", "pthread_key_create"}
    without_lock = {"pthread_setspecific", "__errno_location", "__clone"}
    by_unwinder = {"_Unwind_Resume", "__gcc_personality_v0"}
    of_compilers = {name for name in names if name.startswith(("_ITM_", "__gmon", "__cxa_fin"))}
    glibc = {f"__pthread_mutex_{what}" for what in ("lock", "trylock", "unlock")}
    assert names - of_compilers <= at_start | without_lock | by_unwinder | glibc


def test_a_lock_within_a_library_that_is_being_loaded(log: Path) -> None:
    """Its constructor waits for a thread that locks: the loader's lock is held meanwhile."""
    source = """static void *go(void *x) { pairs(1); return 0; }
        __attribute__((constructor)) static void begin(void) {
            pthread_t t; pthread_create(&t, 0, go, 0); pthread_join(t, 0); }"""
    compiled(log.parent, source, *SHARED, name="own.so")
    # Found by the program's own search path, so by who calls dlopen.
    loads = main('return dlopen("own.so", RTLD_NOW) ? 3 : 4;')
    assert ran(log, loads, "-Wl,-rpath,$ORIGIN").returncode == 3
    assert acquired(log) == 1


def test_the_process_looks_as_without_a_recorder(log: Path) -> None:
    """One thread, no further descriptor, no child: so it may enter a user namespace, too."""
    source = """pairs(1); system("ls /proc/$PPID/task | wc -l; ls /proc/$PPID/fd | wc -l");
        printf("%d %d\\n", waitpid(-1, 0, __WALL), errno == ECHILD);
        printf("%d\\n", unshare(CLONE_NEWUSER));"""
    app = compiled(log.parent, main(source))
    assert record(log, app).stdout == ended([app], check=True).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="gives up rights that only root has")
def test_rights_and_environment_that_are_given_up(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    source = 'clearenv(); if (chroot("/proc") || setgid(65534) || setuid(65534)) return 9;'
    app = compiled(tmp_path, main(f"{source} pairs(20000);"))
    assert record(folder / "app.locks", app).returncode == 0
    assert acquired(folder / "app.locks") == 20_000


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["true"], 1, "true locked no mutex"),
        (["sh", "-c", "exit 7"], 7, "locked no mutex"),
        (["sh", "-c", "kill -SEGV $$"], 139, "SIGSEGV ended it before"),
        (["env", "-i", "sleep", "0.3"], 1, "sleep was started .* a cleared environment"),
    ],
)
def test_why_nothing_was_recorded(command: list[str], code: int, said: str, log: Path) -> None:
    log.with_name(f"{log.name}.4711").write_text("of an earlier run")
    done = record(log, *command)
    assert done.returncode == code and re.search(said, done.stderr), done.stderr
    assert "setuid" not in done.stderr and "4711" not in done.stderr
    ended = f"the program ended with code {code if code > 1 else 0}"
    assert f"nothing was recorded; {ended}" in done.stderr


def test_a_library_that_finds_its_own_symbols_first_is_said(log: Path) -> None:
    compiled(log.parent, "void go(void) { pairs(1); }", *SHARED, name="own.so")
    source = """void *l = dlopen("./own.so", RTLD_NOW | RTLD_DEEPBIND); if (!l) return 9;
        ((void (*)(void))dlsym(l, "go"))();"""
    done = ran(log, main(source))
    assert done.returncode == 1 and "RTLD_DEEPBIND" in done.stderr


def test_a_program_with_address_sanitizer(log: Path) -> None:
    done = ran(log, main("pairs(50); return 3;"), "-fsanitize=address")
    assert done.returncode == 3 and "ASAN_OPTIONS" in done.stderr, done.stderr
    assert acquired(log) == 50


def test_logs_of_processes_that_still_run_are_said(log: Path) -> None:
    source = """int main(int n, char **w) { pairs(1); if (n > 1) sleep(2);
        else if (fork() == 0) execl("/proc/self/exe", "app", "on", (char *)0);
        else usleep(200000); return 0; }"""
    done = ran(log, source)
    assert done.returncode == 0
    assert "still runs" in done.stderr and "further processes" in done.stderr


def test_a_library_loaded_where_another_lay_has_its_own_places(log: Path) -> None:
    for name in ("one", "two"):
        compiled(log.parent, f"void {name}(void) {{ pairs(100); }}", *SHARED, name=f"{name}.so")
    source = """static void use(const char *path, const char *name) {
            void *l = dlopen(path, RTLD_NOW); ((void (*)(void))dlsym(l, name))(); dlclose(l); }"""
    uses = main('use("./one.so", "one"); use("./two.so", "two"); use("./one.so", "one");')
    assert ran(log, source + uses).returncode == 0
    found = read_events(log)
    taken = found.events.loc[found.events["kind"] == Kind.ACQUIRED, "site"]
    modules = taken.map(lambda site: found.sites[site].file)
    assert modules.value_counts().to_dict() == {"one.so": 200, "two.so": 100}


@pytest.mark.parametrize("name", ["a b's: $HOME.locks", "ü,;.locks"])
def test_paths_with_odd_characters(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = compiled(tmp_path, main("pairs(1);"))
    assert record(tmp_path / name, "sh", "-c", str(app)).returncode == 0
    assert acquired(tmp_path / name) == 1
    # The tree itself may lie in such a folder.
    monkeypatch.setattr(preload, "WORK", tmp_path / "my tree: $HOME")
    prepared = preloaded([str(app)], tmp_path / "other.locks", 10**9)
    done = ended(
        prepared.command,
        env=os.environ | dict(prepared.environment),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not set(" :$") & set(prepared.environment["LD_PRELOAD"])
