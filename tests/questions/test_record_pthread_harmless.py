"""`record --pthread` does not harm the program: problems reported of other recorders, by the
program that showed it. pthread_programs.py has these ways mixed at random."""

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest

from sweeps.lock_logs.log import Kind, read_events
from sweeps.questions.record import preload
from sweeps.questions.record.preload import library, preloaded
from tests.commands import lockcross

COUNTS = "#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
PAIR = "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);"


def compiled(folder: Path, source: str, *flags: str, name: str = "app") -> Path:
    (folder / f"{name}.c").write_text(f"#define _GNU_SOURCE\n{source}")
    command: list[str | Path] = [
        "cc",
        "-O1",
        "-w",
        "-o",
        folder / name,
        folder / f"{name}.c",
        "-pthread",
        *flags,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot be compiled here: {done.stderr[-200:]}")
    return folder / name


def record(log: Path, *command: str | Path) -> "subprocess.CompletedProcess[str]":
    return lockcross("record", "--pthread", "-o", str(log), "--", *map(str, command))


def acquired(log: Path) -> int:
    return int((read_events(log).events["kind"] == Kind.ACQUIRED).sum())


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
def test_closed_descriptors_are_the_programs_own(ends: str, tmp_path: Path) -> None:
    app = compiled(
        tmp_path,
        f"#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n{COUNTS}"
        f"int main(void) {{ {PAIR} {ends} "
        f'int f = open("{tmp_path}/precious.txt", O_CREAT | O_WRONLY, 0644);'
        f'for (int i = 0; i < 30000; i++) {{ {PAIR} if (i % 10000 == 0) {{ dprintf(f, "%d\\n", i);'
        " usleep(120000); } } return 0; }",
    )
    log = tmp_path / "app.locks"
    done = record(log, app)
    assert done.returncode == 0
    assert (tmp_path / "precious.txt").read_text() == "0\n10000\n20000\n"
    assert acquired(log) == 30_001


ALLOCATES = (
    "#include <stdio.h>\n#include <stdlib.h>\n"
    + COUNTS
    + """static int n;
static void *go(void *x) { for (int i = 0; i < 1000; i++) { pthread_mutex_lock(&m); n++;
    free(malloc(64)); pthread_mutex_unlock(&m); } return 0; }
int main(void) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, go, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0); printf("%d\\n", n); return 0; }"""
)
OWN_MALLOC = """#include <pthread.h>
#include <stddef.h>
#include <string.h>
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static char memory[1 << 26] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t size) { pthread_mutex_lock(&heap); void *p = memory + used + 16;
    *(size_t *)(memory + used) = size; used += (size + 31) & ~15ul; pthread_mutex_unlock(&heap);
    return p; }
void free(void *p) { pthread_mutex_lock(&heap); pthread_mutex_unlock(&heap); }
void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
void *realloc(void *p, size_t size) { void *q = malloc(size);
    if (p) memcpy(q, p, ((size_t *)p)[-2] < size ? ((size_t *)p)[-2] : size); return q; }
"""


@pytest.mark.parametrize("preloaded_", [False, True])
@pytest.mark.parametrize("allocator", ["jemalloc", "mimalloc", "tcmalloc_minimal"])
def test_allocators_that_lock(
    allocator: str, preloaded_: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sorted(Path("/usr").glob(f"lib*/*/lib{allocator}.so*"))
    if not found:
        pytest.skip(f"no {allocator} here: LOCKCROSS_ALLOCATORS=1 installs it")
    flags = ["-fno-builtin"]  # or the compiler leaves out a malloc that is freed
    flags += [] if preloaded_ else ["-Wl,--no-as-needed", str(found[0])]
    app = compiled(tmp_path, ALLOCATES, *flags)
    command: list[str | Path] = [app]
    if preloaded_:  # of the program alone: this process is not to have it
        (tmp_path / "run.sh").write_text(
            f'#!/bin/sh\nLD_PRELOAD="{found[0]} $LD_PRELOAD" exec {app}\n'
        )
        command = ["sh", tmp_path / "run.sh"]
    log = tmp_path / "app.locks"
    done = record(log, *command)
    assert (done.returncode, done.stdout) == (0, "4000\n"), done.stderr
    assert acquired(log) >= 4000


def test_a_program_with_its_own_malloc(tmp_path: Path) -> None:
    app = compiled(tmp_path, OWN_MALLOC + ALLOCATES, "-fno-builtin")
    log = tmp_path / "app.locks"
    done = record(log, app)
    assert (done.returncode, done.stdout) == (0, "4000\n"), done.stderr
    assert acquired(log) >= 4000 * 3


def test_the_recorder_calls_nothing_that_locks_or_allocates() -> None:
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", library()], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    at_start = {"dlsym", "dlvsym", "getauxval", "gnu_get_libc_version", "pthread_key_create"}
    without_lock = {"pthread_setspecific", "__errno_location", "__clone"}
    by_unwinder = {"_Unwind_Resume", "__gcc_personality_v0"}
    of_compilers = {name for name in names if name.startswith(("_ITM_", "__gmon", "__cxa_fin"))}
    glibc = {f"__pthread_mutex_{what}" for what in ("lock", "trylock", "unlock")}
    assert names - of_compilers <= at_start | without_lock | by_unwinder | glibc


def test_a_lock_within_a_library_that_is_being_loaded(tmp_path: Path) -> None:
    """Its constructor waits for a thread that locks: the loader's lock is held meanwhile."""
    shared = "-shared -fPIC".split()
    compiled(
        tmp_path,
        f"{COUNTS}static void *go(void *x) {{ {PAIR} return 0; }}"
        "__attribute__((constructor)) static void begin(void) {"
        "pthread_t t; pthread_create(&t, 0, go, 0); pthread_join(t, 0); }",
        *shared,
        name="own.so",
    )
    # Found by the program's own search path, so by who calls dlopen.
    app = compiled(
        tmp_path,
        '#include <dlfcn.h>\nint main(void) { return dlopen("own.so", RTLD_NOW) ? 3 : 4; }',
        "-Wl,-rpath,$ORIGIN",
    )
    log = tmp_path / "app.locks"
    assert record(log, app).returncode == 3
    assert acquired(log) == 1


def test_main_ends_by_pthread_exit(tmp_path: Path) -> None:
    app = compiled(
        tmp_path,
        f"{COUNTS}static void *go(void *x) {{ {PAIR} pthread_exit(0); }}"
        "int main(void) { pthread_t t; for (int i = 0; i < 3; i++) pthread_create(&t, 0, go, 0);"
        "pthread_exit(0); }",
    )
    log = tmp_path / "app.locks"
    assert record(log, app).returncode == 0
    assert acquired(log) == 3


def test_lock_and_unlock_are_no_cancellation_points(tmp_path: Path) -> None:
    app = compiled(
        tmp_path,
        "#include <stdio.h>\n" + COUNTS + "static volatile int in, go, n;\n"
        f"static void *work(void *x) {{ {PAIR} in = 1; while (!go) ;"
        "for (int i = 0; i < 20000; i++) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }"
        "pthread_testcancel(); return 0; }"
        "int main(void) { pthread_t t; void *r; pthread_create(&t, 0, work, 0); while (!in) ;"
        "pthread_cancel(t); go = 1; pthread_join(t, &r);"
        f'printf("%d %d\\n", r == PTHREAD_CANCELED, n); {PAIR} return 0; }}',
    )
    log = tmp_path / "app.locks"
    done = record(log, app)
    assert (done.returncode, done.stdout) == (0, "1 20000\n")
    assert acquired(log) == 20_002


def test_the_process_looks_as_without_a_recorder(tmp_path: Path) -> None:
    """One thread, no further descriptor, no child: so it may enter a user namespace, too."""
    app = compiled(
        tmp_path,
        "#include <errno.h>\n#include <sched.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        f"#include <sys/wait.h>\n#include <unistd.h>\n{COUNTS}int main(void) {{ {PAIR}"
        'system("ls /proc/$PPID/task | wc -l; ls /proc/$PPID/fd | wc -l");'
        'printf("%d %d\\n", waitpid(-1, 0, __WALL), errno == ECHILD);'
        'printf("%d\\n", unshare(CLONE_NEWUSER)); return 0; }',
    )
    plain = subprocess.run([app], capture_output=True, text=True, check=True)
    assert record(tmp_path / "app.locks", app).stdout == plain.stdout


def test_a_limit_of_the_programs_own(tmp_path: Path) -> None:
    app = compiled(
        tmp_path,
        f"#include <sys/resource.h>\n{COUNTS}int main(void) {{"
        "struct rlimit l = {1000, 1000}; setrlimit(RLIMIT_FSIZE, &l); setrlimit(RLIMIT_NPROC, &l);"
        f"l.rlim_cur = l.rlim_max = 3; setrlimit(RLIMIT_NOFILE, &l);"
        f"for (int i = 0; i < 20000; i++) {{ {PAIR} }} return 0; }}",
    )
    log = tmp_path / "app.locks"
    assert record(log, app).returncode == 0
    assert acquired(log) == 20_000


@pytest.mark.skipif(os.geteuid() != 0, reason="gives up rights that only root has")
def test_rights_and_environment_that_are_given_up(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    app = compiled(
        tmp_path,
        f"#include <stdlib.h>\n#include <unistd.h>\n{COUNTS}int main(void) {{"
        'clearenv(); if (chroot("/proc") || setgid(65534) || setuid(65534)) return 9;'
        f"for (int i = 0; i < 20000; i++) {{ {PAIR} }} return 0; }}",
    )
    assert record(folder / "app.locks", app).returncode == 0
    assert acquired(folder / "app.locks") == 20_000


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("_exit(5);", 5),
        ("quick_exit(6);", 6),
        ("abort();", 134),
        ("*(volatile int *)0 = 0;", 139),
        ("raise(9);", 137),
    ],
)
def test_a_short_program_is_recorded_however_it_ends(end: str, code: int, tmp_path: Path) -> None:
    app = compiled(
        tmp_path,
        f"#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n{COUNTS}"
        f"int main(void) {{ for (int i = 0; i < 100; i++) {{ {PAIR} }} {end} }}",
    )
    log = tmp_path / "app.locks"
    done = record(log, app)
    assert done.returncode == code and f"ended with code {code}" in done.stderr
    assert acquired(log) == 100


def test_mutexes_of_c11(tmp_path: Path) -> None:
    app = compiled(
        tmp_path,
        "#include <threads.h>\n#include <time.h>\nint main(void) { mtx_t m; cnd_t c;"
        "mtx_init(&m, mtx_timed); cnd_init(&c); struct timespec t = {0};"
        "for (int i = 0; i < 10; i++) { mtx_lock(&m); mtx_trylock(&m); cnd_timedwait(&c, &m, &t);"
        "mtx_unlock(&m); mtx_trylock(&m); mtx_unlock(&m); mtx_timedlock(&m, &t); mtx_unlock(&m); }"
        "return 0; }",
    )
    log = tmp_path / "app.locks"
    assert record(log, app).returncode == 0
    kinds = read_events(log).events["kind"].value_counts()
    assert kinds[Kind.ACQUIRED] == kinds[Kind.RELEASE] == 30
    assert kinds[Kind.WAIT] == kinds[Kind.WAITED] == 10


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["true"], 1, "true locked no mutex"),
        (["sh", "-c", "exit 7"], 7, "locked no mutex"),
        (["sh", "-c", "kill -SEGV $$"], 139, "SIGSEGV ended it before"),
        (["env", "-i", "sleep", "0.3"], 1, "sleep was started .* a cleared environment"),
    ],
)
def test_why_nothing_was_recorded(command: list[str], code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "app.locks.4711").write_text("of an earlier run")
    done = record(tmp_path / "app.locks", *command)
    assert done.returncode == code and re.search(said, done.stderr), done.stderr
    assert "setuid" not in done.stderr and "4711" not in done.stderr
    assert f"nothing was recorded; the program ended with code {code % 256 if code > 1 else 0}" in (
        done.stderr
    )


def test_a_library_that_finds_its_own_symbols_first_is_said(tmp_path: Path) -> None:
    compiled(tmp_path, f"{COUNTS}void go(void) {{ {PAIR} }}", "-shared", "-fPIC", name="own.so")
    app = compiled(
        tmp_path,
        f'#include <dlfcn.h>\nint main(void) {{ void *l = dlopen("{tmp_path}/own.so", RTLD_NOW |'
        'RTLD_DEEPBIND); if (!l) return 9; ((void (*)(void))dlsym(l, "go"))(); return 0; }',
    )
    done = record(tmp_path / "app.locks", app)
    assert done.returncode == 1 and "RTLD_DEEPBIND" in done.stderr


def test_a_program_with_address_sanitizer(tmp_path: Path) -> None:
    source = f"{COUNTS}int main(void) {{ for (int i = 0; i < 50; i++) {{ {PAIR} }} return 3; }}"
    app = compiled(tmp_path, source, "-fsanitize=address")
    log = tmp_path / "app.locks"
    done = record(log, app)
    assert done.returncode == 3 and "ASAN_OPTIONS" in done.stderr, done.stderr
    assert acquired(log) == 50


def test_logs_of_processes_that_still_run_are_said(tmp_path: Path) -> None:
    app = compiled(
        tmp_path,
        f"#include <unistd.h>\n{COUNTS}int main(int n, char **w) {{ {PAIR} if (n > 1) sleep(2);"
        'else if (fork() == 0) execl("/proc/self/exe", "app", "on", (char *)0);'
        "else usleep(200000); return 0; }",
    )
    done = record(tmp_path / "app.locks", app)
    assert done.returncode == 0
    assert "still runs" in done.stderr and "further processes" in done.stderr


def test_a_library_loaded_where_another_lay_has_its_own_places(tmp_path: Path) -> None:
    for name in ("one", "two"):
        work = f"void {name}(void) {{ for (int i = 0; i < 100; i++) {{ {PAIR} }} }}"
        compiled(tmp_path, COUNTS + work, "-shared", "-fPIC", name=f"{name}.so")
    use = "".join(
        f'l = dlopen("{tmp_path}/{name}.so", RTLD_NOW); ((void (*)(void))dlsym(l, "{name}"))();'
        "dlclose(l);"
        for name in ("one", "two", "one")
    )
    app = compiled(tmp_path, f"#include <dlfcn.h>\nint main(void) {{ void *l; {use} return 0; }}")
    log = tmp_path / "app.locks"
    assert record(log, app).returncode == 0
    found = read_events(log)
    taken = found.events.loc[found.events["kind"] == Kind.ACQUIRED, "site"]
    modules = taken.map(lambda site: found.sites[site].file)
    assert modules.value_counts().to_dict() == {"one.so": 200, "two.so": 100}


@pytest.mark.parametrize("name", ["a b's: $HOME.locks", "ü,;.locks"])
def test_paths_with_odd_characters(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = compiled(tmp_path, f"{COUNTS}int main(void) {{ {PAIR} return 0; }}")
    assert record(tmp_path / name, "sh", "-c", str(app)).returncode == 0
    assert acquired(tmp_path / name) == 1
    # The tree itself may lie in such a folder.
    monkeypatch.setattr(preload, "WORK", tmp_path / "my tree: $HOME")
    prepared = preloaded([str(app)], tmp_path / "other.locks", 10**9)
    done = subprocess.run(
        prepared.command,
        env=os.environ | dict(prepared.environment),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not set(" :$") & set(prepared.environment["LD_PRELOAD"])
