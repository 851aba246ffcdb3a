"""The database in a browser: every page answers on the loopback, and what it must not do."""

import html
import json
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.browser import server, site
from results.errors import LockcrossError
from results.extras import Extra
from results.store.queries import TABLES, ask, named_queries
from results.store.store import Store
from sweeps.questions.bench import large
from tests.commands import lockcross, start
from tests.fakes.study import study


@pytest.fixture(scope="module")
def datasette() -> None:
    """Skips in one line where it cannot be had."""
    try:
        server.DATASETTE.install()
    except LockcrossError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("study") / "a study.db")


@pytest.fixture(scope="module")
def process(datasette: None, database: Path) -> Iterator["subprocess.Popen[str]"]:
    running = start("serve", "--db", str(database), "--port", "0")
    yield running
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (0, "")


@pytest.fixture(scope="module")
def address(process: "subprocess.Popen[str]") -> str:
    """Of the database, as the command says it."""
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/a_study", said)
    return said


def get(address: str) -> tuple[int, str]:
    """Status and text of a page."""
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.status, html.unescape(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.code, html.unescape(error.read().decode())


def test_the_first_page_has_every_query_with_its_description(address: str) -> None:
    status, page = get(address)
    assert status == 200
    for words in named_queries().values():
        assert words in page


@pytest.mark.parametrize("name", sorted(named_queries()))
def test_every_query_gives_the_commands_rows(address: str, database: Path, name: str) -> None:
    with Store(database, read_only=True) as store:
        answer = ask(store.connection, name, database)
    status, text = get(f"{address}/{site.query_name(name)}.json?_shape=arrays")
    assert status == 200
    assert json.loads(text)["rows"] == [list(row) for row in answer.rows[:1000]]
    status, page = get(f"{address}/{site.query_name(name)}")
    assert status == 200 and named_queries()[name] in page


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_a_page(address: str, table: str) -> None:
    assert get(f"{address}/{table}")[0] == 200


def test_runs_have_facets(address: str, database: Path) -> None:
    _, page = get(f"{address}/runs")
    for facet in site.FACETS:
        assert f'data-column="{facet}"' in page
    _, text = get(f"{address}/runs.json?_shape=objects&machine=known&lock=thin")
    with Store(database, read_only=True) as store:
        expected = store.connection.execute(
            "SELECT id FROM runs WHERE machine = 'known' AND lock = 'thin' ORDER BY id DESC"
        ).fetchall()
    assert [row["id"] for row in json.loads(text)["rows"]] == [run for (run,) in expected]


def test_a_run_leads_to_its_metrics_crossovers_and_command(address: str, database: Path) -> None:
    with Store(database, read_only=True) as store:
        run, command = store.connection.execute(
            "SELECT id, command FROM runs JOIN crossover_runs ON run_id = id"
        ).fetchone()
        metrics = store.connection.execute(
            "SELECT name, value, unit FROM metrics WHERE run_id = ? ORDER BY name", (run,)
        ).fetchall()
    _, page = get(f"{address}/runs/{run}")
    links = re.findall(r'href="(/a_study/\w+_of_run\?run=\d+)"', page)
    assert command in page and len(links) == 4
    base = address.removesuffix("/a_study")
    pages = {link: get(base + link.replace("?", ".json?_shape=arrays&")) for link in links}
    assert {status for status, _ in pages.values()} == {200}
    rows = {link: json.loads(text)["rows"] for link, (_, text) in pages.items()}
    assert rows[f"/a_study/metrics_of_run?run={run}"] == [list(row) for row in metrics]
    assert rows[f"/a_study/command_of_run?run={run}"][0][0] == command
    assert rows[f"/a_study/crossovers_of_run?run={run}"]
    assert (
        f'<a href="/a_study/runs/{run}">'
        in get(f"{address}/slowest")[1] + get(f"{address}?sql=select+{run}+as+run_id")[1]
    )


def test_long_sql_ends_at_its_limit(address: str) -> None:
    endless = "WITH+RECURSIVE+n(i)+AS+(SELECT+1+UNION+ALL+SELECT+i%2B1+FROM+n)+SELECT+max(i)+FROM+n"
    status, page = get(f"{address}?sql={endless}")
    assert status == 400 and "SQL Interrupted" in page


@pytest.mark.parametrize("page", [".db", "/runs.csv?_stream=1"])
def test_downloads_are_off(address: str, page: str) -> None:
    assert get(f"{address}{page}")[0] in (400, 403)


def test_nothing_can_be_written(address: str) -> None:
    assert get(f"{address}?sql=delete+from+runs")[0] == 400


def test_downloads_are_there_when_asked_for(tmp_path: Path, database: Path) -> None:
    words = site.command(tmp_path / "x.db", 1, downloads=True)
    assert words[words.index("allow_download") + 1] == "on"
    assert site.command(tmp_path / "x.db", 1)[words.index("allow_download") + 1] == "off"


def test_only_this_machine_is_served(tmp_path: Path) -> None:
    words = site.command(tmp_path / "x.db", 1)
    assert words[words.index("--host") + 1] == "127.0.0.1"
    done = lockcross("serve", "--public")
    assert done.returncode == 2 and "--public" in done.stderr


def test_a_port_that_is_taken(datasette: None, database: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = lockcross("serve", "--db", str(database), "--port", port)
    assert done.returncode == 2 and f"port {port}" in done.stderr and "--port 0" in done.stderr


def test_no_database(tmp_path: Path) -> None:
    done = lockcross("serve", "--db", str(tmp_path / "none.db"))
    assert done.returncode == 2 and "there is no such database" in done.stderr


def test_a_server_that_does_not_start_says_why() -> None:
    words = ["sh", "-c", "echo first >&2; echo it is broken >&2; exit 3"]
    with pytest.raises(LockcrossError, match="it is broken"), server.served(words, 1):
        pass


def test_what_cannot_be_installed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("lockcross-no-such-package==1.0\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    nothing = Extra("Nothing", wanted, megabytes=1)
    assert not nothing.installed()
    with pytest.raises(LockcrossError, match="Nothing could not be installed") as error:
        nothing.install()
    assert "\n" not in error.value.message


def test_the_measurement_on_a_small_database(datasette: None) -> None:
    found = large.measured(600)
    what = [row["what"] for row in found.records]
    assert {"size", "winners", "page: runs with their facets", "page: query winners"} <= set(what)
    assert sum(str(one).startswith("export") for one in what) == 3


def test_a_made_up_database_is_small_for_its_runs(tmp_path: Path) -> None:
    large.fill(tmp_path / "a.db", 2000)
    with Store(tmp_path / "a.db", read_only=True) as store:
        assert store.connection.execute("SELECT count(*) FROM runs").fetchone() == (2000,)
    assert (tmp_path / "a.db").stat().st_size < 2000 * 2000, "bytes a run"
