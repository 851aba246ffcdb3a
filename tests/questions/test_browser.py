"""The report's interactive map in a real browser: it shows the database, alone and offline. Skipped
where there is no Chromium or no Playwright."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from results.store.queries import show_run
from results.store.store import Store
from sweeps.model.locks import LockLabel
from sweeps.questions.explore.explore import Exploration
from sweeps.report.report import write_report
from sweeps.report.style import style_of
from tests.browsing import Page, browser
from tests.fakes import exploration as fake
from tests.fakes.exploration import CANCEL, CAS, FENCE, SHARE, Point
from tests.fakes.runner import ModelRunner
from tests.questions.test_explorer import ASKED, small

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright for this machine")

__all__ = ["browser"]
TINT = 0.42  # as in raster.js
COMPARED = ("tasuki", "reservation", "asym_tasuki")  # at first, with these kinds of fence:
X86 = (*COMPARED, "asym_tasuki/rmw")
MIDDLE = Point(CAS[1], FENCE[1], CANCEL[1], SHARE[1])  # the sliders show its values at first
# Points of the grid: places in CAS, FENCE, CANCEL and SHARE. The same place of the map with several
# cancellation costs and shares, and others.
TEN = [(1, 1, 1, 1), (1, 1, 2, 1), (1, 1, 1, 0), (1, 1, 0, 2), (2, 0, 1, 1), (0, 2, 1, 1),
       (2, 2, 2, 0), (0, 0, 1, 2), (2, 1, 0, 0), (0, 1, 2, 1)]  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Explored grids."""
    return fake.explored(tmp_path_factory.mktemp("browser") / "explored.db")


@pytest.fixture(scope="module")
def path(database: Path) -> Path:
    with Store(database, read_only=True) as store:
        return write_report(store.connection, database.with_name("report.html"), {})


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Page]:
    """The page, open. At the end: nothing was asked for but itself, and the console is empty."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    shown, said, asked = context.new_page(), [], []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("request", lambda request: asked.append(request.url))
    open_at(shown, path)
    yield shown
    context.close()
    assert said == []
    addresses = {url.partition("#")[0] for url in asked if not url.startswith("blob:")}
    assert addresses == {path.as_uri()}


def open_at(page: Page, path: Path, fragment: str = "") -> None:
    page.goto("about:blank")
    page.goto(path.as_uri() + fragment)
    page.locator("#explorer-costs tbody tr").first.wait_for()


def rows(page: Page) -> dict[str, str]:
    """The costs in the table, by lock label."""
    return page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#explorer-costs tbody tr')]"
        ".map((row) => [row.dataset.label, row.cells[1].textContent]))"
    )


def at_the_pointer(page: Page, at: Point, dx: float = 0, dy: float = 0) -> tuple[float, float]:
    """Move the pointer to a place of the map. Returns where it is on the canvas."""
    page.locator("#explorer-cursor").scroll_into_view_if_needed()
    box = page.locator("#explorer-cursor").bounding_box()
    left, top, right, bottom = 46, 10, box["width"] - 12, box["height"] - 42
    x = left + at.cas / CAS[-1] * (right - left) + dx
    y = bottom - at.fence / FENCE[-1] * (bottom - top) + dy
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_timeout(80)  # the next frame is drawn
    return x, y


def slide(page: Page, at: Point) -> None:
    """Move both sliders to their stops at these values."""
    for name, value, words in (
        ("Cost of a cancellation", at.cancel, f"{at.cancel:,} cycles, simulated"),
        ("Owner's share", at.share, f"{100 * at.share:g} %, simulated"),
    ):
        slider = page.get_by_role("slider", name=name)
        slider.fill(str(slider.evaluate("(slider, value) => slider.stops.indexOf(value)", value)))
        assert slider.get_attribute("aria-valuetext") == words, value


def click(page: Page, at: Point) -> None:
    at_the_pointer(page, at)
    page.mouse.down()
    page.mouse.up()


def stored(
    at: Point, labels: Sequence[str] = X86, on: tuple[str, str] = ("generic", "lock")
) -> dict[str, str]:
    """What the table of costs is to say."""
    return {label: f"{fake.cost(label, at, *on):.2f}" for label in labels}


def pixel(page: Page, x: float, y: float) -> list[int]:
    """Red, green, blue and alpha of the map."""
    return page.evaluate(
        """([x, y]) => {
          const canvas = document.createElement("canvas"), often = {willReadFrequently: true};
          const one = canvas.getContext("2d", often);
          one.drawImage(document.getElementById("explorer-map"), -Math.round(x), -Math.round(y));
          return [...one.getImageData(0, 0, 1, 1).data];
        }""",
        [x, y],
    )


def tint(label: str) -> list[float]:
    """The colour of the region in which a lock wins."""
    colour = style_of(LockLabel(label)).colour
    return [255 - (255 - int(colour[i : i + 2], 16)) * TINT for i in (1, 3, 5)]


def test_ten_points_cost_what_the_database_says_and_have_the_colour_of_the_lock_that_wins(
    page: Page,
) -> None:
    winners, coloured = set(), 0
    for cas, fence, cancel, share in TEN:
        at = Point(CAS[cas], FENCE[fence], CANCEL[cancel], SHARE[share])
        slide(page, at)
        at_the_pointer(page, at)
        expected = stored(at)
        assert rows(page) == expected
        assert page.locator("#explorer-basis").text_content().startswith("Simulated")
        ranked = sorted((float(cycles), label) for label, cycles in expected.items())
        (first, winner), (second, _) = ranked[:2]
        if (at.cas, at.fence) == (CAS[1], FENCE[1]):
            winners.add(winner)
        if first > 0.8 * second:
            continue  # near a border: some pixels further another lock may win
        # Inside the map, and beside the mark of the measured point.
        dx, dy = (9 if at.cas < CAS[-1] else -9), (9 if at.fence == FENCE[-1] else -9)
        *seen, _ = pixel(page, *at_the_pointer(page, at, dx, dy))
        assert all(abs(a - b) <= 1 for a, b in zip(seen, tint(winner), strict=True)), (at, seen)
        coloured += 1
    assert len(winners) > 1  # the sliders decide who wins at one and the same place
    assert coloured >= 6
    stops = page.get_by_role("slider", name="Owner's share").evaluate("(slider) => slider.stops")
    assert stops == [twentieths / 20 for twentieths in range(10, 21)]


def test_between_points_it_says_so(page: Page) -> None:
    at = Point(85, 90, CANCEL[1], SHARE[1])
    slide(page, at)
    at_the_pointer(page, at)
    basis = page.locator("#explorer-basis").text_content()
    assert basis == (
        "Interpolated between CAS 22 and 152, mfence 32 and 152, on machine generic (out of order)."
    )
    shown = float(rows(page)["tasuki"])
    assert abs(shown - (40 + at.cas + at.fence)) < 0.5  # the model is linear; a pixel is 0.2 cycles


def test_the_keyboard_moves_the_cursor_and_it_is_read_out(page: Page) -> None:
    page.locator("#explorer-cursor").focus()
    for key in ("Home", "Shift+ArrowLeft", "Shift+ArrowDown"):
        page.keyboard.press(key)
    playwright.expect(page.locator("#explorer-status")).to_contain_text("CAS 22, mfence 32")
    assert rows(page) == stored(MIDDLE)
    said = page.locator("#explorer-status").text_content()
    assert said.startswith("CAS 22, mfence 32: ") and "Simulated" in said
    page.keyboard.press("ArrowUp")
    assert "fence=33&" in f"{page.url}&"


def test_locks_and_kinds_of_fence_are_chosen(page: Page) -> None:
    page.get_by_role("checkbox", name="thin").check()
    assert page.get_by_role("checkbox", name="locked RMW").is_checked()
    at_the_pointer(page, MIDDLE)
    expected = stored(MIDDLE, (*X86, "thin"))
    assert rows(page) == expected
    page.get_by_role("checkbox", name="locked RMW").uncheck()
    expected.pop("asym_tasuki/rmw")
    at_the_pointer(page, MIDDLE)
    assert rows(page) == expected
    for name in ("tasuki", "reservation", "asymmetric", "thin"):
        page.get_by_role("checkbox", name=name).uncheck()
    # The page is painted anew with its next frame.
    playwright.expect(page.locator("#explorer-where")).to_have_text("No lock is chosen.")


def test_isa_core_and_machine_are_chosen(page: Page) -> None:
    page.get_by_role("combobox", name="ISA").select_option("POWER")
    page.get_by_role("combobox", name="Core").select_option("in order")
    assert page.get_by_role("combobox", name="Machine").input_value() == "generic_inorder"
    at_the_pointer(page, MIDDLE)
    assert rows(page) == stored(MIDDLE, COMPARED, ("generic_inorder", "larx"))
    assert "hwsync 32" in page.locator("#explorer-where").text_content()


def choose(page: Page, machine: str) -> None:
    page.get_by_role("combobox", name="Processor").select_option(machine)
    page.wait_for_timeout(80)


def painted(page: Page) -> bool:
    """Tell whether the map has a field: its upper right corner is no white."""
    width = page.locator("#explorer-map").evaluate("(map) => map.width")
    *colour, alpha = pixel(page, width - 30, 20)
    return alpha > 0 and min(colour) < 250


def test_a_processor_is_shown_with_its_own_values_and_runs(page: Page) -> None:
    assert page.get_by_role("combobox", name="Processor").input_value() == "generic"
    for machine, field in (("generic", True), ("known", False), ("generic", True)):
        choose(page, machine)
        expected = {label: f"{fake.as_is_cost(label, machine, 'lock'):.1f}" for label in X86}
        assert rows(page) == expected
        winner = min(expected, key=lambda label: fake.as_is_cost(label, machine, "lock"))
        said = page.locator("#explorer-where").text_content()
        assert f"{machine}{'*' * (machine == 'known')} as it is" in said
        assert f"{fake.OWN_CANCEL[machine]:,}): {LockLabel(winner).words()}" in said
        slider = page.get_by_role("slider", name="Cost of a cancellation")
        assert slider.get_attribute("aria-valuetext").startswith(
            f"{fake.OWN_CANCEL[machine]:,} cycles"
        )
        assert painted(page) == field  # no field of another core
        shown = page.locator("#explorer-commands").text_content().splitlines()
        assert len(shown) == len(X86)
        assert all(f"--machine {machine} " in one and "latency" not in one for one in shown)


def address_of(page: Page, path: Path) -> str:
    """What its address says, which shows the same where it is opened anew."""
    before, fragment = rows(page), "#" + page.url.partition("#")[2]
    open_at(page, path, fragment)
    assert rows(page) == before
    return fragment


def test_the_address_keeps_the_processor(page: Page, path: Path) -> None:
    choose(page, "known")
    assert "processor=known" in address_of(page, path)
    page.get_by_role("combobox", name="ISA").select_option("POWER")  # it has none of that
    assert page.get_by_role("combobox", name="Processor").input_value() == "generic"


def test_whatever_moves_the_point_leaves_the_processor(page: Page) -> None:
    own = fake.as_is_cost("reservation", "known", "lock")
    for how in ("slider", "field", "key", "click"):
        choose(page, "known")
        assert rows(page)["reservation"] == f"{own:.1f}", how
        if how == "slider":
            page.get_by_role("slider", name="Cost of a cancellation").focus()
            page.keyboard.press("ArrowRight")
        elif how == "field":
            page.get_by_role("spinbutton", name="CAS").fill("50")
            page.keyboard.press("Enter")
        elif how == "key":
            page.locator("#explorer-cursor").focus()
            page.keyboard.press("ArrowUp")
        else:
            click(page, Point(85, 90, 0, 0))
        page.wait_for_timeout(80)
        assert page.get_by_role("combobox", name="Processor").input_value() == "", how
        said = page.locator("#explorer-processor").text_content()
        assert "no longer known: machine generic's core, interpolated" in said, how
        assert "on machine generic (out of order)" in page.locator("#explorer-basis").text_content()
        assert painted(page) and "processor=" not in page.url
        # But for the click it is near the processor's place; generic's core is the cheaper one.
        assert how == "click" or float(rows(page)["reservation"]) < own - 15


def test_a_kind_of_fence_that_does_not_hold_is_named_with_that(
    browser: Any, tmp_path: Path
) -> None:
    with Store(tmp_path / "kinds.db") as store:
        plan = small().model_copy(update={"fence_kinds": ["rmw", "store_forward"]})
        Exploration(plan, *ASKED, store, ModelRunner(store)).run()
        path = write_report(store.connection, tmp_path / "report.html", {})
    shown = browser.new_page()
    open_at(shown, path)
    where = shown.locator("#explorer-where")
    box = shown.get_by_role("checkbox", name="store forwarding")
    assert not box.is_checked() and "store forwarding" not in where.text_content()
    box.check()
    shown.wait_for_timeout(80)
    assert "tasuki, store forwarding" in where.text_content()
    assert "does not hold on every processor" in where.text_content()


def test_a_view_can_be_sent(page: Page, path: Path) -> None:
    at = Point(CAS[2], FENCE[0], CANCEL[2], SHARE[0])
    page.get_by_role("checkbox", name="thin").check()
    slide(page, at)
    click(page, at)
    assert "locks=tasuki,reservation,asym_tasuki,thin" in address_of(page, path)
    assert rows(page)["thin"] == stored(at, ("thin",))["thin"]


def test_an_odd_address_does_no_harm(page: Page, path: Path) -> None:
    for odd in ("cas=NaN&share=x&machine=vax&locks=vax&fences=", "cancel=1e99"):
        page.goto("about:blank")
        page.goto(f"{path.as_uri()}#explorer?{odd}")
        assert page.locator("#explorer-where").text_content(), odd


def test_the_commands_are_those_of_the_runs(page: Page, database: Path) -> None:
    at = Point(CAS[2], FENCE[1], CANCEL[0], SHARE[2])
    slide(page, at)
    click(page, at)
    with Store(database, read_only=True) as store:
        ids = store.connection.execute("SELECT id FROM runs WHERE machine = 'generic'").fetchall()
        known = {show_run(store.connection, run_id).columns["command"] for (run_id,) in ids}
    shown = page.locator("#explorer-commands").text_content().splitlines()
    assert len(shown) == len(X86) and set(shown) <= known
    for line, label in zip(shown, sorted(X86), strict=True):
        assert re.search(r"--cas-latency 150\b.*owner_share=1", line), label
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the commands").click()
    playwright.expect(page.locator("#explorer-said")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == shown


def test_the_map_is_saved_as_png(page: Page) -> None:
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename == "lockcross-generic-lock.png"
    data = Path(download.value.path()).read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 20_000


def test_it_fits_the_screen(page: Page) -> None:
    for width in (1280, 768, 390, 320):  # the last is 1280 at a zoom of 400 %
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)
        box = page.locator("#explorer-map").bounding_box()
        assert 0.6 * min(width, 900) <= box["width"] <= width
        wide = page.evaluate(
            "[...document.querySelectorAll('#explorer *')].filter((one) =>"
            " !one.closest('.scroll, pre') && one.getBoundingClientRect().right > innerWidth + 1)"
            ".map((one) => one.outerHTML)"
        )
        assert wide == [], width


def test_on_paper_there_is_the_map_and_its_costs_without_controls(page: Page) -> None:
    page.locator("#explorer-paper[src^='data:image/png']").wait_for(state="attached")
    page.emulate_media(media="print")
    shown = page.locator("#explorer-paper")
    assert shown.is_visible() and shown.evaluate("(image) => image.naturalWidth") == 1440
    assert page.locator("#explorer-costs").is_visible()
    controls = page.locator("#explorer select, #explorer input, #explorer button")
    assert not any(controls.nth(n).is_visible() for n in range(controls.count()))
    assert "owner's share 90\u00a0%" in page.locator("#explorer-label").text_content()


def test_every_control_has_a_name_and_is_reached_by_the_keyboard(page: Page) -> None:
    nameless = page.evaluate(
        "[...document.querySelectorAll('#explorer select, #explorer input')]"
        ".filter((one) => !one.labels.length).map((one) => one.id)"
    )
    assert nameless == []
    reached = set()
    page.locator("#explorer-flavour").focus()
    for _ in range(36):
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.value"))
        page.keyboard.press("Tab")
    controls = [f"explorer-{name}" for name in "core cancel share cas place cursor png".split()]
    assert {"tasuki", "full", *controls} <= reached
