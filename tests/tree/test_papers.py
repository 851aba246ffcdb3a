"""docs/papers.md: all that the papers have is on it, and all names on it exist. That its links,
paths and options exist hold the tests of all documents."""

import re
from typing import NamedTuple

import pytest

from results.paths import PAPER, ROOT
from sweeps.accuracy.published import table
from sweeps.model.locks import FENCE_KINDS, load_locks
from sweeps.model.workloads import WORKLOADS
from sweeps.plans import REPRODUCTIONS
from sweeps.questions.list.workloads import first_sentence
from sweeps.questions.reproduce import overtake
from tests.tree.test_documents import code, commands

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
# How many each chapter has; papers that number them throughout have chapter 0.
FIGURES = {
    "Kawachiya": {2: 13, 3: 1, 4: 13, 5: 11, 6: 17, 7: 1, 8: 3},
    "Bacon": {0: 6},
    "Odaira": {},
    "Serrano": {0: 2},
    "Welc": {0: 8},
}
TABLES = {"Kawachiya": {2: 2, 4: 6, 5: 6, 6: 2, 8: 1}, "Bacon": {0: 2}}
WITHOUT_VERDICT = re.compile(
    r"none: (code|drawing|description|program|no numbers|open)(;|$)|below$|\["
)
VERDICTS = {*REPRODUCTIONS.names(), overtake.NAME}
CITES = re.compile(r"Kawachiya|Bacon|Odaira|Serrano|Welc")
LOCKS = load_locks()
VARIANTS = {
    f"{lock.name}:{variant.name}": variant
    for lock in LOCKS.values()
    for variant in lock.variant_lines
}
NAMES = {"locks": {*LOCKS, *VARIANTS}, "workloads": set(WORKLOADS), "reproduce": VERDICTS}


class Row(NamedTuple):
    paper: str
    place: str
    here: str
    verdict: str


def rows() -> list[Row]:
    """The rows of the tables that say where things are."""
    found = []
    for section in PAGE.split("\n## ")[1:]:
        for line in section.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" |")]
            if line.startswith("| ") and len(cells) == 4 and cells[-1] != "verdict":
                found.append(Row(section.split()[0], cells[0], cells[2], cells[3]))
    return found


def numbers(place: str, kind: str) -> set[str]:
    """The figures or tables of a row: "Tables 4.2, 4.6" has two of them, "4.2 to 4.6" five."""
    found = set()
    for listed in re.findall(rf"{kind}s? ([\d.]+(?:(?:, | to )[\d.]+)*)", place):
        for part in listed.split(", "):
            first, _, last = part.partition(" to ")
            chapter, point, low = first.rpartition(".")
            high = (last or first).rpartition(".")[2]
            found |= {f"{chapter}{point}{n}" for n in range(int(low), int(high) + 1)}
    return found


@pytest.mark.parametrize("paper", FIGURES)
def test_every_figure_and_table_is_there_and_no_other(paper: str) -> None:
    for kind, counts in (("Figure", FIGURES[paper]), ("Table", TABLES.get(paper, {}))):
        wanted = {
            f"{chapter}.{n}" if chapter else str(n)
            for chapter, count in counts.items()
            for n in range(1, count + 1)
        }
        places = [row.place for row in rows() if row.paper == paper]
        assert places
        assert set().union(*(numbers(place, kind) for place in places)) == wanted


def test_every_lock_and_benchmark_of_the_papers_is_there() -> None:
    wanted = {name for name, lock in LOCKS.items() if CITES.search(lock.source)}
    wanted |= {label for label, variant in VARIANTS.items() if CITES.search(variant.summary)}
    wanted |= {name for name in WORKLOADS if CITES.search(first_sentence(name))}
    assert len(wanted) > 50
    assert not wanted - {name for row in rows() for name in code(row.here)}


def test_every_table_of_theirs_is_there() -> None:
    assert not {path.name for path in PAPER.glob("*.csv")} - set(code(PAGE))


def test_every_reproduction_is_there_and_every_row_says_what_came_of_it() -> None:
    named = {name for row in rows() for name in code(row.verdict)}
    assert named == VERDICTS
    without = [row.verdict for row in rows() if not code(row.verdict)]
    vague = [verdict for verdict in without if not WITHOUT_VERDICT.match(verdict)]
    assert not vague


def test_what_is_here_has_a_name_that_exists() -> None:
    known = {*NAMES["locks"], *NAMES["workloads"], *FENCE_KINDS}
    known |= {
        f"{key}={word}"
        for workload in WORKLOADS.values()
        for key in workload.keys
        for word in getattr(workload.keys[key], "choices", ())
    }
    spans = {span for row in rows() for span in code(row.here)}
    plain = {span for span in spans if not re.search(r"/|\.csv$", span)}
    assert plain and not plain - known


def test_commands_name_what_exists() -> None:
    checked = 0
    for command, *words in commands(PAGE):
        known = NAMES.get("locks" if command in ("footprint", "prove") else command)
        for word in words if known else []:
            if not word.startswith("--") and word != "NAME":
                checked += 1
                assert known and word in known, (command, word)
    assert checked


PROGRAMS = ("eSuite", "HotJava", "Ibench", "Amplace")


def published(name: str, program: str, **others: str) -> dict[str, float]:
    wanted = {"program": program, **others}
    (row,) = [row for row in table(name).rows if wanted.items() <= row.items()]
    return {column: float(str(row[column] or 0)) for column in row if column not in wanted}


@pytest.mark.parametrize("program", PROGRAMS)
def test_table_4_6_follows_from_table_4_3(program: str) -> None:
    """A first flat section is as long as the average one, which the thesis does not say. By
    tasuki's rule all operations of the wait group are inflated."""
    nowait, wait = (published("K_table_4_3", program, group=group) for group in ("nowait", "wait"))
    all_operations = published("K_table_4_2_synchronized", program)["operations"]
    flat = sum(
        group["objects_heavily"] * group["operations_per_flat_section"] for group in (nowait, wait)
    )
    thin = nowait["operations"] + wait["operations"] - flat
    fat = round(nowait["objects_heavily"] * nowait["fat_sections_per_object"])
    tasuki = fat * nowait["operations_per_fat_section"] + wait["operations"]
    rule = {
        ("original", "inflations"): nowait["objects_heavily"] + wait["objects_heavily"],
        ("original", "ratio_inflated"): thin / all_operations * 100,
        ("ours", "inflations"): fat + wait["objects_heavily"],
        ("ours", "ratio_inflated"): tasuki / all_operations * 100,
        ("ours", "deflations"): fat,
    }
    column = 1 + PROGRAMS.index(program)
    lines = [line for line in PAGE.splitlines() if line.startswith(("| thin: ", "| tasuki: "))]
    assert len(lines) == len(rule)
    for line, ((jdk, name), value) in zip(lines, rule.items(), strict=True):
        ours, theirs = line.strip("|").split(" | ")[column].strip().split(", ")
        assert ours == (f"{value:.2f}" if name == "ratio_inflated" else f"{value:,.0f}")
        assert float(theirs.replace(",", "")) == published(f"K_table_4_6_{jdk}", program)[name]
