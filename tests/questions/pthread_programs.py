"""Small random C programs that use mutexes in every way, and know how often each was taken.

A file of C has many programs; its first argument says which runs. How often each mutex was taken
stands in a file that is mapped (SIDE), so it is there however the program ends.
"""

import random
from collections.abc import Callable

from results.paths import ROOT

SOURCES = ROOT / "tests" / "pthread"
MUTEXES = 12  # of pthreads: plain, recursive, error-checking, robust, in turn; then one of C11
PRELUDE = (SOURCES / "drawn.c").read_text("utf-8")


class Program:
    """The source of one program: a function `program_<number>` and those that it starts."""

    def __init__(self, number: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = number
        self._threads = 0
        self._functions: list[str] = []
        steps = self._random.randint(2, 7)
        body = "\n".join(self._step(0) for _ in range(steps))
        self._functions.append(f"static int program_{number}(void) {{\n{body}\n{self._end()}\n}}\n")
        self.source = "\n".join(self._functions)

    def _step(self, least: int) -> str:
        """A statement, of which no mutex is taken below `least`: so nobody waits for himself."""
        name: Callable[[int], str] = self._random.choice(
            [
                self._pair, self._pair, self._recursive, self._checking, self._try, self._timed,
                self._c11, self._c11_wait, self._wait, self._many, self._recurse, self._threads_of,
                self._threads_of, self._signal, self._alarm, self._jump, self._fork,
                self._fork_held, self._cancelled, self._robust, self._files, self._error_file,
                self._duplicates, self._library, self._look, self._key, self._by_other,
                self._atexit, self._user,
            ]
        )  # fmt: skip
        return "{ " + name(least) + " }"

    def _one(self, least: int, kind: int | None = None) -> int:
        fit = [i for i in range(least, MUTEXES) if kind is None or i % 4 == kind]
        return self._random.choice(fit) if fit else -1

    def _simple(self, least: int) -> str:
        """One that may stand within a section or another thread."""
        choice = [self._pair, self._try, self._timed, self._recursive, self._many, self._wait]
        return "{ " + self._random.choice(choice)(least) + " }"

    def _pair(self, least: int) -> str:
        one = self._one(least)
        if one < 0:
            return ";"
        inner = self._simple(one + 1) if self._random.random() < 0.5 else ";"
        return f"lock({one}); {inner} unlock({one});"

    def _recursive(self, least: int) -> str:
        one, deep = self._one(least, 1), self._random.randint(2, 6)
        return f"recurse({one}, {deep});" if one >= 0 else ";"

    def _checking(self, least: int) -> str:
        one = self._one(least, 2)
        return (
            f'say("unlock", pthread_mutex_unlock(&mutexes[{one}])); lock({one}); '
            f'say("again", pthread_mutex_lock(&mutexes[{one}])); unlock({one});'
        )

    def _try(self, least: int) -> str:
        one = self._one(least)
        if one < 0:
            return ";"
        return f"if (pthread_mutex_trylock(&mutexes[{one}]) == 0) {{ took({one}); unlock({one}); }}"

    def _timed(self, least: int) -> str:
        one, wait = self._one(least), self._random.choice([-1000, 0, 500])
        if one < 0:
            return ";"
        how = self._random.choice(
            [
                f"pthread_mutex_timedlock(&mutexes[{one}], &t)",
                f"pthread_mutex_clocklock(&mutexes[{one}], CLOCK_REALTIME, &t)",
            ]
        )
        return (
            f"struct timespec t = after(CLOCK_REALTIME, {wait}); "
            f"if ({how} == 0) {{ took({one}); unlock({one}); }}"
        )

    def _c11(self, least: int) -> str:
        rounds = self._random.randint(1, 30)
        return (
            f"for (int i = 0; i < {rounds}; i++) {{ if (mtx_lock(&c11) == thrd_success) "
            "{ took(C11); if (mtx_trylock(&c11_timed) == thrd_success) { took(C11_TIMED); "
            "mtx_unlock(&c11_timed); } mtx_unlock(&c11); } }"
        )

    def _c11_wait(self, least: int) -> str:
        return (
            "struct timespec t = after(CLOCK_REALTIME, 300); "
            "if (mtx_timedlock(&c11_timed, &t) == thrd_success) { took(C11_TIMED); "
            "mtx_unlock(&c11_timed); } t = after(CLOCK_REALTIME, 300); mtx_lock(&c11); took(C11); "
            'say("timed out", cnd_timedwait(&c11_changed, &c11, &t) == thrd_timedout); '
            "mtx_unlock(&c11);"
        )

    def _wait(self, least: int) -> str:
        wait = self._random.choice([-100, 200])
        how = self._random.choice(
            [
                "pthread_cond_timedwait(&c, &m, &t)",
                "pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &t)",
            ]
        )
        how = how.replace("&c", "&changed").replace("&m", "&mutexes[CONDITION]")
        return (
            f"struct timespec t = after(CLOCK_REALTIME, {wait}); lock(CONDITION); {how}; "
            "pthread_cond_broadcast(&changed); unlock(CONDITION);"
        )

    def _many(self, least: int) -> str:
        one = self._one(least)
        return f"many({one}, {self._random.choice([10, 300, 20000])});" if one >= 0 else ";"

    def _recurse(self, least: int) -> str:
        return f"recurse({self._one(0, 1)}, {self._random.choice([50, 1000, 9000])});"

    def _threads_of(self, least: int) -> str:
        names, count = [], self._random.randint(1, 4)
        for _ in range(self._random.randint(1, 2)):
            self._threads += 1
            name = f"thread_{self._number}_{self._threads}"
            names.append(name)
            body = " ".join(self._simple(0) for _ in range(self._random.randint(1, 3)))
            last = self._random.choice(["return 0;", "pthread_exit(0);"])
            self._functions.append(
                f"static void *{name}(void *unused) {{ (void)unused; {body} {last} }}"
            )
        starts = "".join(
            f"pthread_create(&t[{i}], 0, {self._random.choice(names)}, 0);" for i in range(count)
        )
        joins = f"for (int i = 0; i < {count}; i++) pthread_join(t[i], 0);"
        return f"pthread_t t[{count}]; {starts} {joins}"

    def _signal(self, least: int) -> str:
        return f"for (int i = 0; i < {self._random.randint(1, 20)}; i++) raise(SIGUSR1);"

    def _alarm(self, least: int) -> str:
        return (
            "struct itimerval fast = {{0, 100}, {0, 100}}, off = {{0, 0}, {0, 0}}; "
            f"setitimer(ITIMER_REAL, &fast, 0); many({self._one(0)}, 30000); "
            "setitimer(ITIMER_REAL, &off, 0);"
        )

    def _jump(self, least: int) -> str:
        return (
            "for (volatile int i = 0; i < 5; i++) if (!sigsetjmp(back, 1)) "
            "{ jumps = 1; raise(SIGUSR2); } jumps = 0; many(0, 10);"
        )

    def _fork(self, least: int) -> str:
        how = self._random.choice(["_exit(3)", "exit(4)", "quick_exit(5)", "abort()"])
        fork = self._random.choice(["fork()", "fork()", "_Fork()"])
        return (
            f"pid_t p = {fork}; if (p == 0) {{ child = 1; many({self._one(0)}, 20000); {how}; }} "
            'int status = 0; waitpid(p, &status, 0); say("child", status); '
            'say("no more", wait(0) == -1 && errno == ECHILD);'
        )

    def _fork_held(self, least: int) -> str:
        return (
            "lock(0); pid_t p = fork(); "
            "if (p == 0) { child = 1; unlock(0); many(0, 9); _exit(0); } "
            'unlock(0); int status = 0; waitpid(p, &status, 0); say("held", status);'
        )

    def _cancelled(self, least: int) -> str:
        return self._random.choice(
            [
                "cancel(waits_for_ever, 0); many(CONDITION, 3);",
                "cancel(counts_for_ever, 0);",
                f"cancel(locks_until_cancelled, {self._one(0)});",
            ]
        )

    def _robust(self, least: int) -> str:
        one = self._one(0, 3)
        return (
            f"pthread_t t; pthread_create(&t, 0, dies_with, (void *){one}); pthread_join(t, 0); "
            f"int r = pthread_mutex_lock(&mutexes[{one}]); "
            f'if (r == 0 || r == EOWNERDEAD) took({one}); say("robust", r); '
            f"if (r == EOWNERDEAD) pthread_mutex_consistent(&mutexes[{one}]); unlock({one});"
        )

    def _files(self, least: int) -> str:
        how = self._random.choice(
            ["closefrom(3);", "for (int f = 3; f < 1024; f++) close(f);", "close_range(3, ~0u, 0);"]
        )
        return (
            f'{how} int f = open("kept.txt", O_CREAT | O_TRUNC | O_RDWR, 0644); say("file", f); '
            f"for (int i = 0; i < 5; i++) {{ many({self._one(0)}, 5000); "
            'dprintf(f, "%d\\n", i); } '
            'say("size", lseek(f, 0, SEEK_END)); close(f);'
        )

    def _error_file(self, least: int) -> str:
        return (
            'int kept = dup(2); close(2); int f = open("errors.txt", O_CREAT | O_TRUNC | O_RDWR, '
            f'0644); many({self._one(0)}, 9000); say("errors", lseek(f, 0, SEEK_END)); '
            "dup2(kept, 2); close(kept);"
        )

    def _duplicates(self, least: int) -> str:
        return (
            'int f = open("copies.txt", O_CREAT | O_TRUNC | O_RDWR, 0644); '
            f"for (int i = f + 1; i < 200; i++) dup2(f, i); many({self._one(0)}, 9000); "
            'say("copies", lseek(f, 0, SEEK_END)); closefrom(f);'
        )

    def _library(self, least: int) -> str:
        times = self._random.randint(1, 40)
        return (
            'char path[4096]; snprintf(path, sizeof path, "%s.so", self); '
            "void *l = dlopen(path, RTLD_NOW); if (!l) { say(dlerror(), 0); return 9; } "
            'void *(*work)(int) = (void *(*)(int))dlsym(l, "work"); '
            f"uint64_t address = (uintptr_t)work({times}); "
            f"if (side[LIBRARY].count == 0 || side[LIBRARY].address == address) "
            f"{{ side[LIBRARY].address = address; side[LIBRARY].count += {times}; }} else "
            f'say("elsewhere", 0); if ({self._random.randint(0, 1)}) dlclose(l);'
        )

    def _look(self, least: int) -> str:
        return (
            'say("threads", entries("/proc/self/task")); say("files", entries("/proc/self/fd")); '
            'say("children", waitpid(-1, 0, WNOHANG | __WALL)); say("single", errno == ECHILD);'
        )

    def _key(self, least: int) -> str:
        self._threads += 1
        name = f"thread_{self._number}_{self._threads}"
        self._functions.append(
            f"static void *{name}(void *unused) {{ (void)unused; pthread_setspecific(key, &key); "
            f"{self._simple(0)} return 0; }}"
        )
        return f"pthread_t t; pthread_create(&t, 0, {name}, 0); pthread_join(t, 0);"

    def _by_other(self, least: int) -> str:
        return (
            f"for (int i = 0; i < {self._random.randint(1, 20)}; i++) {{ pthread_t t; lock(OTHER); "
            "pthread_create(&t, 0, unlocks_other, 0); pthread_join(t, 0); }"
        )

    def _atexit(self, least: int) -> str:
        return self._random.choice(["atexit(at_exit);", "at_quick_exit(at_exit);"])

    def _user(self, least: int) -> str:
        return 'say("alone", unshare(CLONE_NEWUTS));'

    def _end(self) -> str:
        code = self._random.choice([0, 0, 1, 7, 42])
        return self._random.choice(
            [
                f"return {code};",
                f"return {code};",
                f"exit({code});",
                f"_exit({code});",
                f"quick_exit({code});",
                "abort();",
                "raise(SIGKILL); return 0;",
                "*(volatile int *)0 = 1; return 0;",
                "pthread_exit(0);",
                f"pthread_t t; pthread_create(&t, 0, ends_later, (void *){code}); pthread_exit(0);",
                'execl(self, self, "end", (char *)0); return 9;',
            ]
        )


def source(numbers: range, seed: int) -> str:
    """A file with these programs."""
    programs = "".join(Program(one, seed * 1_000_003 + one).source for one in numbers)
    cases = "".join(f"    case {one}: return program_{one}();\n" for one in numbers)
    return f"""{PRELUDE}
{programs}
int main(int count, char **words) {{
    if (count < 3) {{ say("became", count); return 5; }}
    begin(words[0], words[2]);
    switch (atoi(words[1])) {{
{cases}    }}
    return 99;
}}
"""
