"""The finished page of the main job (docs/report.html) and one of a synthetic study: that they
stand alone, and in a real browser how long they are, that they fit, sort, fold, print, and are dark
where that is wanted. A screen is 1,000 by 1,000 pixels."""

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sweeps.report.documents import PAGE
from tests.browsing import Page, browser
from tests.report.test_report import Page as Parsed

__all__ = ["browser"]

SCREEN = 1000
WIDTHS = (390, 1000, 1920)
_ADDRESS = re.compile(r"""(?:src|href|action|srcset)=["']([^"']*)|url\(([^)]*)""")


@pytest.fixture(params=["made", "finished"])
def path(request: pytest.FixtureRequest, study_page: Path) -> Path:
    return study_page if request.param == "made" else PAGE


def test_it_is_small_and_needs_nothing_else(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    page = Parsed(text)
    assert len(text.encode()) < 1_500_000
    addresses = {one or other for one, other in _ADDRESS.findall(text)}
    assert addresses
    assert all(one.startswith(("#", "data:image/")) for one in addresses)
    assert not re.findall(r"<link|<iframe|<object|@import|fetch\(|XMLHttp", text)
    assert "default-src 'none'" in text and "prefers-color-scheme: dark" in text
    assert page.tags.count("script") == 3  # the map's data, its script and the page's; no sources
    for source, alt in zip(page.all("src"), page.all("alt", "img"), strict=True):
        head, data = source.split(",", 1)
        assert head == "data:image/webp;base64" and len(alt) > 40
        with Image.open(io.BytesIO(base64.b64decode(data))) as image:
            assert image.width > 400


def test_its_contents_lead_to_every_section(path: Path) -> None:
    page = Parsed(path.read_text(encoding="utf-8"))
    assert page.headings[:4] == ["The answer", "Contents", "Figures", "Explore the map"]
    assert page.headings[-1] == "Provenance"
    ids, sections = page.all("id"), page.all("id", "section")
    assert len(ids) == len(set(ids))
    assert {"answer", "figures", "explorer", "by-machine", "provenance"} <= set(ids)
    assert {link.removeprefix("#") for link in page.all("href")} <= set(ids)
    assert page.contents == [f"#{section}" for section in sections]
    assert len(sections) == len(page.headings) - 1


def load(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    page.locator("#explorer-costs tbody tr").first.wait_for()


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": SCREEN, "height": SCREEN})
    shown = context.new_page()
    load(shown, path)
    yield shown
    context.close()


def test_it_is_at_most_fifteen_screens(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollHeight") <= 15 * SCREEN


@pytest.mark.parametrize("width", WIDTHS)
def test_it_never_scrolls_sideways(page: Page, path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": SCREEN})
    load(page, path)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lost = page.evaluate(
        "[...document.querySelectorAll('table')].filter((one) => !one.closest('.scroll')).length"
    )
    assert lost == 0


def test_dark_mode_is_dark_and_figures_stay_on_white(page: Page, path: Path) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        load(page, path)
        seen[scheme] = page.evaluate(
            "['body', 'figure img', '.sheet'].map((one) =>"
            " getComputedStyle(document.querySelector(one)).backgroundColor)"
        )
    white = "rgb(255, 255, 255)"
    assert seen["light"] == [white] * 3
    assert seen["dark"][1:] == [white] * 2
    red, green, blue = map(int, re.findall(r"\d+", seen["dark"][0]))
    assert max(red, green, blue) < 60


def column(page: Page, table: str, number: int) -> list[str]:
    return page.evaluate(
        "([table, number]) => [...document.querySelector(table).tBodies[0].rows]"
        ".map((row) => row.cells[number].textContent.trim())",
        [table, number],
    )


def test_tables_sort_by_the_keyboard(page: Page) -> None:
    """By the CAS, a number, and by the ISA, a word; and back."""
    table = "#by-machine table"
    page.evaluate("document.querySelector('#by-machine').open = true")
    before = column(page, table, 2)
    for key, number in (("CAS", 2), ("ISA", 1)):
        head = page.locator(f"{table} >> nth=0 >> button.sort").get_by_text(key, exact=True)
        for way in ("ascending", "descending"):
            head.focus()
            page.keyboard.press("Enter")
            cells = column(page, table, number)
            values = [float(one) for one in cells] if number == 2 else cells
            assert values == sorted(values, reverse=way == "descending")
            sorts = page.evaluate(
                f"[...document.querySelector('{table}').tHead.rows[0].cells]"
                ".map((one) => one.ariaSort)"
            )
            assert sorts[number] == way and sum(one is not None for one in sorts) == 1
    assert sorted(before) == sorted(column(page, table, 2))


@pytest.mark.parametrize("place", ["by-machine", "provenance", "crossovers"])
def test_a_link_opens_what_it_leads_into(page: Page, place: str) -> None:
    shown = page.locator(f"#{place} table").first
    assert not shown.is_visible()
    page.evaluate(f"location.hash = '#{place}'")
    shown.wait_for(state="visible")


def test_on_paper_what_is_folded_is_left_out(page: Page) -> None:
    page.evaluate("document.querySelector('#provenance details').open = true")
    page.emulate_media(media="print")
    assert page.locator("#provenance table").first.is_visible()
    assert page.locator("#figures img").first.is_visible()
    for hidden in ("#crossovers", "#by-machine", ".here"):
        assert not page.locator(hidden).first.is_visible()
