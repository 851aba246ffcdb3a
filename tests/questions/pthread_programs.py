"""Small random C programs that use mutexes in every way, and know how often each was taken.

A file of C has many programs; its first argument says which runs. How often each mutex was taken
stands in a file that is mapped (SIDE), so it is there however the program ends.
"""

import random

from results.paths import ROOT

SOURCES = ROOT / "tests" / "pthread"
MUTEXES = 12  # of pthreads: plain, recursive, error-checking, robust, in turn; then one of C11
PRELUDE = (SOURCES / "drawn.c").read_text("utf-8")


class Program:
    """The source of one program: a function `program_<number>` and the threads that it starts."""

    def __init__(self, number: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = number
        self._threads: list[str] = []
        steps = self._random.randint(2, 7)
        body = "\n".join(self._step() for _ in range(steps))
        main = f"static int program_{number}(void) {{\n{body}\n{self._end()}\n}}\n"
        self.source = "\n".join([*self._threads, main])

    def _step(self) -> str:
        """A statement of the program itself, mostly a function of drawn.c."""
        either = self._random.choice
        one, times = self._one(), self._random.randint(1, 40)
        fork = either(["fork", "fork", "_Fork"])
        ends = either(["_exit", "exit", "quick_exit", "aborts"])
        closes = either(["closefrom(3)", "closes_each()", "close_range(3, ~0u, 0)"])
        cancelled = either(["waits_for_ever", "counts_for_ever", "locks_until_cancelled"])
        steps = [
            *[self._simple] * 7,
            *[self._runs_threads] * 2,
            self._runs_thread_with_key,
            f"checks({self._one(kind=2)});",
            f"recurse({self._one(kind=1)}, {either([50, 1000, 9000])});",
            f"recovers({self._one(kind=3)});",
            f"pairs_of_c11({times});",
            "waits_of_c11();",
            f"signals({times});",
            f"alarms({one});",
            "jumps_out();",
            f"in_child({fork}, {one}, {ends});",
            "forks_while_it_holds();",
            f"cancel({cancelled}, {one}); many(CONDITION, 3);",
            f"{closes}; writes({one});",
            f"errors_to_a_file({one});",
            f"duplicates({one});",
            f"loads_library({times}, {either([0, 1])});",
            "looks();",
            f"unlocked_by_other({times});",
            f"{either(['atexit', 'at_quick_exit'])}(at_exit);",
            'say("alone", unshare(CLONE_NEWUTS));',
        ]
        step = either(steps)
        return step if isinstance(step, str) else step()

    def _one(self, least: int = 0, kind: int | None = None) -> int | None:
        """A mutex, of this kind, none below `least`: None where there is none."""
        fit = [i for i in range(least, MUTEXES) if kind is None or i % 4 == kind]
        return self._random.choice(fit) if fit else None

    def _simple(self, least: int = 0) -> str:
        """One that may stand within a section or another thread. It takes no mutex below `least`:
        so nobody waits for himself."""
        either = self._random.choice
        one, recursive = self._one(least), self._one(least, kind=1)
        ways = [f"waits({either([-100, 200])}, {either([0, 1])});"]
        if one is not None:
            inner = self._simple(one + 1) if either([True, False]) else ""
            ways += [f"lock({one}); {inner} unlock({one});"] * 2
            ways.append(f"tries({one});")
            ways.append(f"tries_until({one}, {either([-1000, 0, 500])}, {either([0, 1])});")
            ways.append(f"many({one}, {either([10, 300, 20000])});")
        if recursive is not None:
            ways.append(f"recurse({recursive}, {self._random.randint(2, 6)});")
        return either(ways)

    def _thread(self, body: str) -> str:
        """The name of a new function for a thread."""
        name = f"thread_{self._number}_{len(self._threads)}"
        self._threads.append(f"static void *{name}(void *unused) {{ (void)unused; {body} }}")
        return name

    def _runs_threads(self) -> str:
        names = []
        for _ in range(self._random.randint(1, 2)):
            body = " ".join(self._simple() for _ in range(self._random.randint(1, 3)))
            last = self._random.choice(["return 0;", "pthread_exit(0);"])
            names.append(self._thread(f"{body} {last}"))
        threads = ", ".join(self._random.choices(names, k=self._random.randint(1, 4)))
        return f"run((thread_code *[]){{{threads}, 0}});"

    def _runs_thread_with_key(self) -> str:
        name = self._thread(f"pthread_setspecific(key, &key); {self._simple()} return 0;")
        return f"run((thread_code *[]){{{name}, 0}});"

    def _end(self) -> str:
        code = self._random.choice([0, 0, 1, 7, 42])
        by_code = ["return", "return", "exit", "_exit", "quick_exit"]
        ends = [f"{way} ({code});" for way in by_code]
        ends += ["abort();", "raise(SIGKILL); return 0;", "*(volatile int *)0 = 1; return 0;"]
        later = f"pthread_t t; pthread_create(&t, 0, ends_later, (void *){code});"
        ends += ["pthread_exit(0);", f"{later} pthread_exit(0);"]
        ends.append('execl(self, self, "end", (char *)0); return 9;')
        return self._random.choice(ends)


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
