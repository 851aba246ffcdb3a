"""What holds for all tests."""

import signal
from collections.abc import Iterator

import pytest

from tests.commands import end_all

# A shell starts what it puts into the background of a script with SIGINT ignored, and children
# inherit that: a command would not hear of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests come first: begun last, one would keep one CPU busy while the others wait."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session", autouse=True)
def nothing_goes_on_running() -> Iterator[None]:
    """A test that fails may leave a command behind."""
    yield
    end_all()
