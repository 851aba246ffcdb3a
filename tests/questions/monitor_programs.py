"""Small random Java programs whose acquisitions are all known: they count their actions, by line,
and print that at their end."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from string import Template

from tests.java_agent import SOURCES

_CLASS = Template((SOURCES / "drawn.template").read_text("utf-8"))
_ENDS = ("return", "exit", "exit behind a hook", "exception", "halt")
_COUNTED = re.compile(r"count\((\d+)\)")


@dataclass(frozen=True)
class Drawn:
    """A class `name` whose main runs some programs. `lines[n]`: the line of the actions that it
    counts as n. `whole`: it ends so that the log of its locks has everything."""

    name: str
    source: str
    lines: dict[int, int]
    whole: bool


def drawn(name: str, seed: int, programs: int) -> Drawn:
    """One class with so many programs; the last ends in a way of its own."""
    writer = _Writer(name, random.Random(seed))
    bodies = [writer.program(number) for number in range(programs)]
    end = _ENDS[seed % len(_ENDS)]
    source = _CLASS.substitute(
        name=name,
        programs="\n".join(bodies),
        methods="\n".join(writer.methods),
        calls="\n".join(f"        program{n}();" for n in range(programs)),
        end=end,
        counts=writer.count,
    )
    lines = {
        int(found[1]): number
        for number, line in enumerate(source.splitlines(), 1)
        for found in _COUNTED.finditer(line)
    }
    return Drawn(name, source, lines, end != "halt")


class _Writer:
    """Write programs; their callees are in `methods`, and `count` things are counted."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name = name
        self.chance = chance
        self.methods: list[str] = []
        self.count = 0
        self._names = 0
        self._locks = [*(f"LOCKS[{place}]" for place in range(5)), f"{name}.class", "ONE"]
        self._held = self._locks[:1]  # none; the first may be taken

    def program(self, number: int) -> str:
        """A method that runs one to three threads."""
        bodies = [self._body(3) for _ in range(self.chance.randint(1, 3))]
        threads = ", ".join(f"thread(() -> {{\n{one}\nreturn null; }})" for one in bodies)
        code = bodies[0] if len(bodies) == 1 else f"join({threads});"
        return f"    static void program{number}() throws Exception {{\n{code}\n    }}"

    def _body(self, left: int) -> str:
        return "\n".join(self._statement(left) for _ in range(self.chance.randint(1, 3)))

    def _statement(self, left: int) -> str:
        kinds = [self._block, self._block, self._loop, self._thrown, self._returned, self._method]
        kinds += [self._recursion, self._waits, self._interrupted, self._not_by_its_name]
        kinds += [self._wrong, self._closed, self._endless]
        return self.chance.choice(kinds)(left - 1) if left > 0 else "work += 3;"

    def _counted(self) -> str:
        """Count an action on whose line this stands."""
        self.count += 1
        return f"count({self.count - 1});"

    def _local(self, name: str) -> str:
        self._names += 1
        return f"{name}{self._names}"

    def _lock(self) -> str:
        """One that comes behind those that are held, or the last of them again: two threads that
        hold one each never want each other's."""
        return self.chance.choice(self._locks[self._locks.index(self._held[-1]) :])

    def _section(self, lock: str, *code: Callable[[], str] | str) -> str:
        count = self._counted()
        return f"synchronized ({lock}) {{ {count}\n{self._under(lock, *code)}\n}}"

    def _under(self, lock: str, *code: Callable[[], str] | str) -> str:
        self._held.append(lock)
        body = "\n".join(one if isinstance(one, str) else one() for one in code)
        self._held.pop()
        return body

    def _block(self, left: int) -> str:
        return self._section(self._lock(), lambda: self._body(left))

    def _loop(self, left: int) -> str:
        index, times = self._local("index"), self.chance.choice((1, 3, 200))
        leaves = self.chance.choice(("continue", "break", "work++"))
        once = f"if ({index} == 2) {{ {leaves}; }}"
        body = self._section(self._lock(), once, lambda: self._statement(min(left, 1)))
        return f"for (int {index} = 0; {index} < {times}; {index}++) {{\n{body}\n}}"

    def _thrown(self, left: int) -> str:
        """An exception that leaves several sections."""
        throws = "if (COUNTS.length() > 0) { throw new IllegalStateException(); }"
        outer = self._section(
            self._lock(),
            lambda: self._section(self._lock(), lambda: self._body(left), throws),
        )
        return f"try {{\n{outer}\n}} catch (IllegalStateException error) {{ work += top(error); }}"

    def _new_method(self, head: str, *code: str) -> str:
        name = f"method{len(self.methods)}"
        body = "\n".join(code).replace("SELF", name)
        self.methods.append(f"    {head.replace('SELF', name)} throws Exception {{\n{body}\n}}")
        return name

    def _returned(self, left: int) -> str:
        """A return out of a section, behind a finally."""
        begin, end = "try { if (value > 1) { return value; }", "} finally { work++; }"
        body = self._section(self._lock(), begin, lambda: self._body(left), end)
        name = self._new_method("static int SELF(int value)", body, "return 2;")
        return f"work += {name}({self.chance.randint(0, 3)});"

    def _method(self, left: int) -> str:
        """A synchronized method, left by a return or an exception."""
        lock = self.chance.choice((f"{self.name}.class", "ONE"))
        if lock not in self._locks[self._locks.index(self._held[-1]) :]:
            return self._block(left)
        static = "static " if lock != "ONE" else ""
        name = self._new_method(
            f"{static}synchronized long SELF(long wide, int value)",
            self._counted(),
            "if (value == 9) { throw new IllegalStateException(); }",
            "if (wide == 5) { return value; }",
            self._under(lock, lambda: self._body(left)),
            "return wide;",
        )
        of = "" if static else self.chance.choice(("ONE.", f"new {self.name}()."))
        call = f"work += {of}{name}({self.chance.choice((1, 5))}L, {self.chance.choice((1, 9))});"
        return f"try {{ {call} }} catch (IllegalStateException error) {{ work += top(error); }}"

    def _recursion(self, _: int) -> str:
        deeper = "return depth == 0 ? 1 : 1 + SELF(depth - 1);"
        name = self._new_method("static int SELF(int depth)", self._section(self._lock(), deeper))
        return f"work += {name}({self.chance.choice((0, 2, 100))});"

    def _waits(self, _: int) -> str:
        lock, name = self._lock(), self.chance.choice(("notify", "notifyAll"))
        wait = f"{lock}.wait({self.chance.choice(('1', '0, 5', '1L, 5'))});"
        return self._section(
            lock, f"{wait} {self._counted()}", f"{lock}.{name}(); {self._counted()}"
        )

    def _interrupted(self, _: int) -> str:
        lock = self._lock()
        caught = f"catch (InterruptedException error) {{ {self._counted()} }}"
        return self._section(
            lock,
            "Thread.currentThread().interrupt();",
            f"try {{ {lock}.wait(); work += 1000; }} {caught}",
        )

    def _not_by_its_name(self, _: int) -> str:
        """Waits and notifies by method references and reflection."""
        lock, waits, wakes = self._lock(), self._local("waits"), self._local("wakes")
        code = (
            f"Waiting {waits} = {lock}::wait; {waits}.go(1);\n"
            f"Runnable {wakes} = {lock}::notifyAll; {wakes}.run();",
            f'Object.class.getMethod("wait", long.class).invoke({lock}, 1L);\n'
            f'Object.class.getMethod("notify").invoke({lock});',
        )
        return self._section(lock, self.chance.choice(code))

    def _wrong(self, _: int) -> str:
        code = (
            "synchronized (NOTHING) { work += 1000; }",
            "NOTHING.notify();",
            "new Object().wait(1);",
            "ONE.wait(-1);",
        )
        return (
            f"try {{ {self.chance.choice(code)} }}\n"
            "catch (NullPointerException error) { work += top(error); }\n"
            "catch (IllegalMonitorStateException | IllegalArgumentException error) { work++; }"
        )

    def _closed(self, left: int) -> str:
        return f"try (Inner {self._local('inner')} = new Inner()) {{\n{self._body(left)}\n}}"

    def _endless(self, _: int) -> str:
        """Until the stack is full, which nobody counts."""
        call = self.chance.choice((f"endless({self._lock()}, 0)", f"new {self.name}().endless(0)"))
        return f"try {{ work += {call}; }} catch (StackOverflowError error) {{ work++; }}"
