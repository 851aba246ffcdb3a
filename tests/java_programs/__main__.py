"""Record the programs of java-programs/ and write the results to docs/java.md:
`./lockcross python -m tests.java_programs [NAME...]`. Needs a JDK, Maven and network; their
libraries are loaded from Maven Central into the build folder. Takes about half an hour.

The section *Held to a JVM* stays as it is: against_jvm.py, beside this, makes it."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results.paths import ROOT
from sweeps.lock_logs.gaps import WITHIN, gaps_of, shares_within
from sweeps.lock_logs.locality import Sections, pattern
from sweeps.lock_logs.log import EventLog, Kind, read_events
from tests.java_programs.programs import FOLDER, PROGRAMS, Program, build, chosen, java

DOCUMENT = ROOT / "docs" / "java.md"
MACHINES = ("zen5", "neoverse_v2", "redwood_cove")
HEAD = "## Held to a JVM"
RECORDED = [program for program in PROGRAMS if not program.microbenchmark]


@dataclass(frozen=True)
class Found:
    """The results of a program: its log's numbers, and the answers of `advise` by machine."""

    program: Program
    log: Mapping[str, Any]
    answers: Mapping[str, Mapping[str, Any]]


def main(names: Sequence[str]) -> None:
    """Record the programs, all if none is named, and write the document of those recorded."""
    build(libraries=True)
    programs = chosen(names, RECORDED)
    for program in programs:
        numbers = recorded(program)
        (FOLDER / f"{program.name}.json").write_text(json.dumps((numbers, {})), "utf-8")
    for program in programs:
        numbers, _ = kept(program.name)
        found = json.dumps((numbers, answers(program.name)))
        (FOLDER / f"{program.name}.json").write_text(found, "utf-8")
        DOCUMENT.write_text(document(), "utf-8")
    print(DOCUMENT)


def kept(name: str) -> Any:
    """Return the stored results of a program: its log's numbers and the answers by machine."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def recorded(program: Program) -> Mapping[str, Any]:
    """Record a program: the numbers of its log, which is kept."""
    print(f"== {program.name}", file=sys.stderr)
    log = FOLDER / f"{program.name}.locks"
    command = java(program)
    run(ROOT / "lockcross", "record", "--compare", "--force", "--output", log, "--", *command)
    return numbers_of(read_events(log))


def answers(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the cost of each machine's locks for the program with the kept log."""
    log = FOLDER / f"{name}.locks"
    said = run(
        ROOT / "lockcross", "advise", "--log", log, "--machines", ",".join(MACHINES), "--ranking",
        "--format", "json", "--db", FOLDER / "advice.db", output=True,
    )  # fmt: skip
    return dict(zip(MACHINES, json.loads(said), strict=True))


def run(*words: object, output: bool = False) -> str:
    """Run a program in a folder of its own. Raises CalledProcessError if it fails."""
    done = subprocess.run(
        [str(word) for word in words], check=True, text=True, cwd=FOLDER,
        stdout=subprocess.PIPE if output else sys.stderr,
    )  # fmt: skip
    return done.stdout or ""


def numbers_of(log: EventLog) -> dict[str, Any]:
    use, events, gaps = pattern(log), log.events, gaps_of(log).gap
    acquired = events[events["kind"] == Kind.ACQUIRED]
    owner = acquired.groupby("object")["thread"].transform("first")
    other = acquired["thread"] != owner
    shared = other.groupby(acquired["object"]).transform("any")
    totals = log.totals
    assert totals is not None and totals.cpu_plain is not None and totals.cpu_recorded is not None
    return {
        "threads": use.threads, "acquisitions": len(acquired),
        "objects": int(acquired["object"].nunique()), "local": float(1 - shared.mean()),
        "before": float((~other.groupby(acquired["object"]).cummax()).mean()),
        "owner": use.owner_share, "nested": use.nested,
        "in_fat": float(Sections(log).operations()["in_fat"].mean()),
        "changes": float(1e6 * acquired.loc[shared, "object"].nunique() / len(acquired)),
        "plain": totals.cpu_plain, "recorded": totals.cpu_recorded,
        "near": [shares_within(gaps, ns, totals.gap_ns) for ns in WITHIN],
    }  # fmt: skip


def document() -> str:
    """The page, of the programs that were recorded."""
    every = [
        Found(program, *kept(program.name))
        for program in RECORDED
        if (FOLDER / f"{program.name}.json").exists()
    ]
    _, head, held_to_a_jvm = DOCUMENT.read_text("utf-8").partition(HEAD)
    return "\n".join([
        "# Locks of Java programs",
        "",
        "Made by `./lockcross python -m tests.java_programs`, which loads the programs from Maven "
        f"Central and records them here: {machine()}. Their drivers are in "
        "[java-programs](../java-programs/README.md). Single runs on a machine "
        "that did other work too; the counts do not depend on that, the times do.",
        "",
        "## How local their locks are",
        "Shares of acquisitions, including nested ones, except `by owner` (the object's first "
        "thread), which counts outermost ones. *Changes*: objects that a second thread takes, per "
        "million acquisitions: a reservation lock has as many revocations. *In fat sections*: "
        "operations while somebody contends or waits.",
        "",
        *table(
            ("program", "threads", "acquisitions", "objects", "of one thread alone",
             "before any other thread", "by owner", "changes", "nested", "in fat sections"),
            ([one.program.title, *local(one.log)] for one in every),
        ),
        "",
        "## How near an acquisition is to the last section",
        "Shares of acquisitions, including nested ones, that begin so soon after their thread's "
        "last use of a lock. The time of recording is taken off; in brackets with its least and "
        "its greatest ([how](record.md)). Where work lies between, an out-of-order core hides an "
        "atomic behind it.",
        "",
        *table(
            ("program", *(f"{ns} ns" for ns in WITHIN)),
            ([one.program.title, *map(interval, one.log["near"])] for one in every),
        ),
        "",
        "## The cost of recording",
        "CPU time of the whole process, including the start of JVM and agent, about a second. *A "
        "pair*: the addition by recording per lock operation.",
        "",
        *table(
            ("program", "without, s", "with, s", "times", "a pair, ns", "acquisitions a second"),
            ([one.program.title, *overhead(one.log)] for one in every),
        ),
        "",
        "## The cost of each lock",
        "Share of the program's CPU time, had the processor done the rest of its work as fast as "
        "this one; in brackets the interval from the engine's known error. "
        f"`./lockcross advise --log LOG --machines {','.join(MACHINES)} --ranking`. In bold: the "
        "cheapest and those that tie with it. An object's first acquisition waits for its line "
        "from memory in these runs, where a JVM has just written the object: programs that lock "
        "each object only a few times are charged too much, with every lock alike.",
        *(line for machine_ in MACHINES for line in shares(every, machine_)),
        "",
        head + held_to_a_jvm,
    ])  # fmt: skip


def machine() -> str:
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    return f"{said.splitlines()[0]}, {platform.machine()}, {os.cpu_count()} CPUs"


def local(log: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{log[name]:,.0f}" for name in ("threads", "acquisitions", "objects"))
    yield from (f"{log[name]:.3f}" for name in ("local", "before", "owner"))
    yield f"{log['changes']:,.0f}"
    yield from (f"{log[name]:.3f}" for name in ("nested", "in_fat"))


def interval(shares: Sequence[float]) -> str:
    least, share, most = shares
    return f"{share:.2f} ({least:.2f} to {most:.2f})"


def overhead(log: Mapping[str, Any]) -> Iterator[str]:
    plain, recorded = log["plain"], log["recorded"]
    yield f"{plain:.1f}"
    yield f"{recorded:.1f}"
    yield f"{recorded / plain:.2f}"
    yield f"{1e9 * (recorded - plain) / log['acquisitions']:,.0f}"
    yield f"{log['acquisitions'] / plain:,.0f}"


def shares(every: Sequence[Found], machine_: str) -> Iterator[str]:
    """The lines of a machine: a row a program."""
    costs = [
        (one.program.title, cost_by_lock(one.answers[machine_])) for one in every if one.answers
    ]
    locks = sorted({lock for _, each in costs for lock in each})
    yield from ("", f"### {machine_}", "")
    rows = ([name, *(each.get(lock, "") for lock in locks)] for name, each in costs)
    yield from table(("program", *locks), rows)


def cost_by_lock(answer: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for lock, one in answer["program"]["costs"].items():
        words = f"{100 * one['share']:.2f} %"
        if one["share_low"] is not None:
            words += f" ({100 * one['share_low']:.2f} to {100 * one['share_high']:.2f})"
        cheapest = lock in (answer["cheapest"], *answer["tie"])
        found[lock] = f"**{words}**" if cheapest else words
    return found


def table(heads: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
