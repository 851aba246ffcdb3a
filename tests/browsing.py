"""A real browser, for tests of pages. They are skipped where there is no Chromium or no
Playwright."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
_QUIET = "--disable-background-networking --disable-component-update --disable-sync"

Page = Any  # of Playwright, which is not always there


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, in which nothing is open."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright for this machine")
    if CHROMIUM is None:
        pytest.skip("no Chromium (apt-get install chromium): pages are not tried")
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", *_QUIET.split()]
        )
        yield one
        one.close()
