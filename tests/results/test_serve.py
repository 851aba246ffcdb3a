"""The database in a browser: named queries are pages, on the loopback alone, nothing is written."""

import html
import json
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.errors import LockcrossError
from results.extras import REQUIREMENTS, Extra
from results.store.queries import ask, named_queries
from results.store.store import Store
from tests.commands import lockcross, start


@pytest.fixture(scope="module")
def address(database: Path) -> Iterator[str]:
    """Serve the database, and return its address as the server says it."""
    try:
        Extra("Datasette", REQUIREMENTS / "browser.txt", megabytes=5).install()
    except LockcrossError as error:
        pytest.skip(error.message)
    running = start("serve", "--db", str(database), "--port", "0")
    assert running.stderr is not None
    found = None
    while found is None:
        line = running.stderr.readline()
        assert line, "it has ended"
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
    yield f"{found[0]}/study"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 0


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return html.unescape(answer.read().decode())


def test_every_query_gives_the_commands_rows(address: str, database: Path) -> None:
    for name, description in named_queries().items():
        with Store(database, read_only=True) as store:
            answer = ask(store.connection, name, database)
        page = get(f"{address}/query_{name}.json?_shape=arrays")
        assert json.loads(page)["rows"] == [list(row) for row in answer.rows[:1000]], name
        assert description in get(address)


def test_nothing_can_be_written(address: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        get(f"{address}?sql=delete+from+runs")


def test_no_database(tmp_path: Path) -> None:
    done = lockcross("serve", "--db", str(tmp_path / "none.db"))
    assert done.returncode == 2 and "there is no such database" in done.stderr
