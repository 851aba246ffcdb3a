"""Record the programs of java-programs/ and write the results to docs/java.md:
`./lockcross python -m tests.java_programs [NAME...]`. Needs a JDK, Maven and network; their
libraries are loaded from Maven Central into the build folder. Takes about half an hour.

The section *Held to a JVM* stays as it is: against_jvm.py, beside this, makes it."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.paths import ROOT
from sweeps.lock_logs.gaps import WITHIN, gaps_of, shares_within
from sweeps.lock_logs.locality import Sections, pattern
from sweeps.lock_logs.log import EventLog, Kind, read_events
from tests.java_programs.programs import FOLDER, PROGRAMS, Program, build, chosen, java

DOCUMENT = ROOT / "docs" / "java.md"
MACHINES = ("zen5", "neoverse_v2", "redwood_cove")
PAGE = Path(__file__).with_name("page.txt")
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
    """Record a program: the numbers of its log, which is kept. Raises CalledProcessError."""
    print(f"== {program.name}", file=sys.stderr)
    log = FOLDER / f"{program.name}.locks"
    words = ["record", "--compare", "--force", "--output", log, "--", *java(program)]
    subprocess.run([ROOT / "lockcross", *words], check=True, cwd=FOLDER, stdout=sys.stderr)
    return numbers_of(read_events(log))


def answers(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return each machine's answer for the program's kept log. Raises CalledProcessError."""
    asked = ["advise", "--log", FOLDER / f"{name}.locks", "--machines", ",".join(MACHINES)]
    how = ["--ranking", "--format", "json", "--db", FOLDER / "advice.db"]
    said = subprocess.check_output([ROOT / "lockcross", *asked, *how], text=True, cwd=FOLDER)
    return dict(zip(MACHINES, json.loads(said), strict=True))


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
    made = PAGE.read_text("utf-8").format(
        machine=machine(),
        machines=",".join(MACHINES),
        local=lines([one.program.title, *local(one.log)] for one in every),
        near=table(
            ["program", *(f"{ns} ns" for ns in WITHIN)],
            ([one.program.title, *map(interval, one.log["near"])] for one in every),
        ),
        overhead=lines([one.program.title, *overhead(one.log)] for one in every),
        shares="\n\n".join(shares(every, machine_) for machine_ in MACHINES),
    )
    _, head, held_to_a_jvm = DOCUMENT.read_text("utf-8").partition(HEAD)
    return made + head + held_to_a_jvm


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


def shares(every: Sequence[Found], machine_: str) -> str:
    """The section of a machine: a row a program."""
    costs = [
        (one.program.title, cost_by_lock(one.answers[machine_])) for one in every if one.answers
    ]
    locks = sorted({lock for _, each in costs for lock in each})
    rows = ([name, *(each.get(lock, "") for lock in locks)] for name, each in costs)
    return f"### {machine_}\n\n{table(['program', *locks], rows)}"


def cost_by_lock(answer: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for lock, one in answer["program"]["costs"].items():
        words = f"{100 * one['share']:.2f} %"
        if one["share_low"] is not None:
            words += f" ({100 * one['share_low']:.2f} to {100 * one['share_high']:.2f})"
        cheapest = lock in (answer["cheapest"], *answer["tie"])
        found[lock] = f"**{words}**" if cheapest else words
    return found


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return f"{lines([heads])}\n|{'---|' * len(heads)}\n{lines(rows)}"


def lines(rows: Iterable[Sequence[str]]) -> str:
    """The rows of a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
