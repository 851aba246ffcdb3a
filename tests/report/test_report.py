"""The report page: its text, and the tables of the answer."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from results.paths import ROOT
from results.store.queries import ask
from results.store.store import Store
from sweeps.model.locks import LockLabel
from sweeps.questions.crossover.sentences import (
    CrossoverSentence,
    axis_tables,
    lines,
    with_production,
)
from sweeps.questions.crossover.winners import rows, win_words
from sweeps.report.figures import draw_all
from sweeps.report.report import render
from sweeps.study.results import PLAN, StudyResults
from tests.fakes.records import record
from tests.report.test_figures import ON_THE_PAGE

TASUKI, RESERVATION = LockLabel("tasuki"), LockLabel("reservation")


def plain(html: str) -> str:
    """The text between tags."""
    return unescape(re.sub(r"<[^>]*>", "", html))


class Page:
    """A page's tags, the links of its contents, its headings, the rows of its tables, and its
    text. Expressions can read it, since templates made it: whatever they fill in is escaped."""

    def __init__(self, page: str) -> None:
        self._html = re.sub(r"(<(style|script)\b[^>]*>).*?(?=</\2>)", r"\1", page, flags=re.S)
        self.tags = re.findall(r"<([a-z]\w*)", self._html)
        self.text = plain(self._html)
        self.headings = [plain(one) for one in self._elements("h2")]
        self.contents = [
            one for nav in self._elements("nav") for one in re.findall(r'href="([^"]*)', nav)
        ]
        cells = [re.findall(r"<t[dh]\b.*?</t[dh]>", row, re.S) for row in self._elements("tr")]
        self.rows = [[" ".join(plain(cell).split()) for cell in row] for row in cells]

    def _elements(self, tag: str) -> list[str]:
        return re.findall(rf"<{tag}\b.*?</{tag}>", self._html, re.S)

    def all(self, name: str, tag: str = r"\w+") -> list[str]:
        """The values of an attribute, of any tag if none is named."""
        found = re.findall(rf'<{tag}\b[^>]*?\s{name}="([^"]*)"', self._html)
        return [unescape(value) for value in found]


def lines_of(section: str) -> list[str]:
    """Its headings, paragraphs and rows of tables."""
    found = re.finditer(r"<(h\d|p|li|caption|tr)\b.*?</\1>", section, re.S)
    return [" ".join(plain(re.sub("</t[dh]>", " | ", one[0])).split()) for one in found]


def test_a_study_has_its_figures_its_answer_and_no_validation(
    study_page: Path, golden: Callable[[Path, str], None]
) -> None:
    """Of the locks hotspot_light alone ships, and the engine cannot tell the reservation lock's 6
    cycles from nothing else's. The atomic lock's lead falls below a tie's 2 %, since no error of
    the machine is known, at 94 % of the way from 100 cycles of work to 1,000."""
    html = study_page.read_text(encoding="utf-8")
    page = Page(html)
    assert len(page.all("src")) == len(ON_THE_PAGE) and "validation" not in page.all("id")
    told = r'<section id="(?:answer|figures|failures|provenance)".*?</section>'
    said = [line for section in re.findall(told, html, re.S) for line in lines_of(section)]
    golden(ROOT / "tests" / "golden" / "page.words", "\n".join(said) + "\n")


def test_sentences_speak_of_two_locks_and_of_one_side(results: StudyResults) -> None:
    words = [line.words for line in lines(results, "axis")]
    # With the values within which the engine cannot tell: no digit that is not known.
    known = r"tasuki beats reservation above \d,\d00 \(\d+00 to \d,\d00\) cycles"
    assert any(re.fullmatch(known, one) for one in words)
    assert "tasuki beats asymmetric everywhere from 0 to 9,000 cycles" in words


@pytest.fixture
def sentence(results: StudyResults) -> CrossoverSentence:
    return lines(results, "axis")[0]


def test_a_tie_has_no_winner(sentence: CrossoverSentence) -> None:
    of = replace(sentence.of, verdict="tie")
    ends = "everywhere from 0 to 9"
    tie = replace(sentence, of=of, cheaper=TASUKI, dearer=RESERVATION, reach=ends)
    assert tie.words == "tasuki and reservation cost the same everywhere from 0 to 9 cycles"
    assert tie.short == "the same everywhere from 0 to 9"


@pytest.mark.parametrize(
    ("axis", "unit", "bracket", "words"),
    [
        ("threads", "threads", (2, 3), "from 3 (seeds 3 to 4) threads"),
        ("owner_share", "share", (0.85, 0.9), "from 90 (seeds 90 to 95) %"),
    ],
)
def test_what_is_tried_value_by_value_names_the_first_value(
    own: Store, axis: str, unit: str, bracket: tuple[int, int], words: str
) -> None:
    own.connection.execute(
        "UPDATE crossovers SET axis = ?, unit = ?, value = ?, bracket_low = ?, "
        "bracket_high = ? WHERE series GLOB 'axis/*' AND verdict = 'crosses'",
        (axis, unit, bracket[0] + 0.5, *bracket),
    )
    step = bracket[1] - bracket[0]
    own.connection.execute(
        "UPDATE crossover_seeds SET bracket_high = ? + (seed - 1) * ?", (bracket[1], step)
    )
    sentences = lines(StudyResults(own.connection), "axis")
    found, _ = [one for one in sentences if one.of.axis == axis]
    assert found.words == f"tasuki beats reservation {words}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE crossover_seeds SET value = NULL WHERE seed = 2", r".*, 1 of 2 seeds\)"),
        (
            "INSERT INTO crossover_seeds SELECT id, seed, nullif(seed, 1), NULL, NULL "
            "FROM crossovers, (SELECT 1 AS seed UNION SELECT 2) WHERE crossovers.value IS NULL",
            r"tasuki everywhere from 0 to 9,000 \(not with 1 of 2 seeds\)",
        ),
    ],
    ids=["without the crossover", "with which a lock does not win throughout"],
)
def test_seeds_that_say_otherwise_are_counted(own: Store, change: str, said: str) -> None:
    own.connection.execute(change)
    words = [one.short for one in lines(StudyResults(own.connection), "axis")]
    assert any(re.fullmatch(said, one) for one in words)


def test_machines_stand_beside_one_another(results: StudyResults) -> None:
    (table,) = axis_tables(lines(results, "axis"), by_machine=True)
    assert table.columns == ("generic", "narrow")
    assert {row.group for row in table.rows} == {"x86-64"} and not table.has_groups
    ((cheap, dear),) = [row.cells for row in table.rows if row.pair == "tasuki / reservation"]
    assert cheap != dear  # tasuki pays for a CAS twice as dear


def test_leads_below_the_threshold_are_ties(own: Store, database: Path) -> None:
    """reservation is 3.3 % below tasuki on machine known: no tie, unless the study's plan says that
    4 % is one. The named query calls nothing a tie."""

    def compared() -> str:
        table = rows(StudyResults(own.connection))
        (row,) = [row for row in table if row.machine == "known"]
        return win_words(row.contests["full"].compared)

    assert compared() == "reservation 87.0 (3.3 % less than tasuki)"
    PLAN.write(own, PLAN.read(own.connection).model_copy(update={"tie_percent": 4.0}))
    assert compared() == "reservation 87.0, in a tie with tasuki (3.3 %)"
    page = Page(render(own.connection, {}))
    tie = {"known", "reservation and tasuki", "in a tie, 3.3 % over tasuki"}
    assert any(tie <= set(row) for row in page.rows)
    assert "verdict" not in ask(own.connection, "winners", database).columns


def test_fences_of_production_stand_beside_the_full_ones_of_others(
    sentence: CrossoverSentence,
) -> None:
    """For x86-64 the runs with locked RMW are kept, under the names of the locks alone."""
    rmw = [LockLabel(f"{label}/rmw") for label in (TASUKI, RESERVATION)]
    of = replace(sentence.of, lock_a=rmw[0], lock_b=rmw[1])
    produced = replace(sentence, of=of, cheaper=rmw[1], dearer=rmw[0])
    other = replace(sentence, of=replace(sentence.of, flavour="larx"))
    kept = with_production([sentence, produced, other], {"lock": "rmw"})
    assert [(one.of.flavour, one.of.lock_a, one.cheaper) for one in kept] == [
        ("lock", TASUKI, RESERVATION),
        ("larx", other.of.lock_a, other.cheaper),
    ]


def test_locks_that_change_places_again_have_one_cell(sentence: CrossoverSentence) -> None:
    one = replace(sentence, cheaper=TASUKI, dearer=RESERVATION, reach="from 3")
    other = replace(sentence, cheaper=RESERVATION, dearer=TASUKI, reach="from 5")
    (table,) = axis_tables([one, other])
    assert [row.cells for row in table.rows] == [("tasuki from 3; reservation from 5",)]


@pytest.mark.usefixtures("sketched")
def test_what_comes_from_outside_is_escaped(own: Store, tmp_path: Path) -> None:
    evil = "<script>alert('x')</script><img src=x onerror=y>"
    own.add_run(record("evil", status="failed", cause=evil, command=evil), "p")
    own.set_fact("job", {"command": evil, "started": evil, "duration_s": 1, "new_runs": 1})
    own.connection.execute("UPDATE machines SET title = ?", (evil,))
    plan = "UPDATE facts SET value = json_set(value, '$.title', ?) WHERE name = 'plan'"
    own.connection.execute(plan, (evil,))
    page = Page(render(own.connection, draw_all(own.connection, tmp_path)))
    assert page.tags.count("script") == 3
    assert page.tags.count("img") == len(ON_THE_PAGE)
    assert page.text.count(evil) >= 5
