"""The checker of proofs/checker: its unit tests, its reports on failures, bounds, random runs."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sweeps.questions.prove.proofs.own_checker import building
from tests import litmus_runs
from tests.litmus_runs import SOURCES

CLIENT = """
#include <stdint.h>
#include "prove.h"
typedef struct { uint64_t low, high, more; } triple_t;
static uint32_t x, y, word, plain;
static triple_t from = {1, 2, 3}, to;
static uint32_t *nowhere, *shared_local;
const unsigned prove_threads = 2;
void prove_setup(void) { word = 7; plain = 0; }
static void store(uint32_t *p, uint32_t value) { __atomic_store_n(p, value, __ATOMIC_RELAXED); }
static uint32_t load(uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static void none(void) {}
static void assertion(void) { prove_assert(load(&word) == 8, "the word is 8"); }
static void fatal(void) { lock_fatal("it ends here"); }
static void wild(void) { *(volatile uint32_t *)nowhere = 1; }
static void endless(void) { while (*(volatile uint32_t *)&plain == 0) {} }
static void stuck(void) { for (;;) __asm__ volatile(""); }
static void waits(void) { while (load(&x) == 0) prove_wait(); }
static void circles(void) { while (load(&x) == 0) { store(&y, 1); store(&y, 2); prove_wait(); } }
static void copies(void) { to = from; prove_assert(to.high == 2 && to.more == 3, "copied"); }
static void beyond(void) {
    for (unsigned i = 0; load(&x) == 0; i++)
        if (i == 2)
            prove_beyond_bound();
}
static void halts(void) { for (;;) { (void)load(&y); prove_wait(); } }
static void sets_once(void) { store(&x, 1); }
static void sets(void) { store(&x, 1); store(&x, 0); }
static void large(void) { for (unsigned i = 0; i < 200; i++) store(&x, i); }
static void floods(void) { for (unsigned i = 0; i < 300; i++) store(&x, i); }
static void lends(void) {
    uint32_t local = 0;
    __atomic_store_n(&shared_local, &local, __ATOMIC_RELEASE);
}
static void borrows(void) {
    uint32_t *p = __atomic_load_n(&shared_local, __ATOMIC_ACQUIRE);
    if (p) store(p, 1);
}
static void (*const bodies[][2])(void) = {
    {assertion, none}, {fatal, none}, {wild, none}, {endless, none}, {waits, none},
    {circles, none}, {copies, none}, {beyond, none}, {sets, none}, {large, large},
    {lends, borrows}, {waits, sets}, {stuck, none}, {beyond, sets_once}, {halts, beyond},
    {floods, waits},
};
void prove_thread(unsigned index) { bodies[prove_parameter][index](); }
void prove_end(void) {}
void prove_invariant(void) { prove_assert(prove_parameter != 8 || x == 0, "x stays 0"); }
"""
NAMES = (
    "assertion fatal wild endless waits circles copies beyond invariant large local late stuck "
    "perhaps-beyond halts-beyond flood"
).split()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of many clients."""
    return litmus_runs.build(CLIENT, tmp_path_factory.mktemp("client"), litmus_runs.library())


def result_of(program: Path, name: str, *options: str, model: str = "sc") -> dict[str, Any]:
    """Return the checker's report on a client."""
    return litmus_runs.run(program, model, NAMES.index(name), *options)[1]


@pytest.mark.long
def test_unit_tests() -> None:
    command = ["make", "-C", str(SOURCES), f"BUILD={litmus_runs.BUILT}", "test"]
    with building():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("model", litmus_runs.MODELS)
@pytest.mark.parametrize(
    ("name", "kind", "what"),
    [
        ("assertion", "assertion", "the word is 8"),
        ("fatal", "assertion", "it ends here"),
        ("wild", "assertion", "null pointer"),
        ("endless", "loop", "without prove_wait"),
        ("stuck", "assertion", "accesses no shared memory"),
        ("waits", "deadlock", "wait for ever"),
        ("circles", "deadlock", "wait for ever"),
        ("invariant", "invariant", "x stays 0"),
        ("local", "assertion", "another thread's local variable"),
        ("late", "deadlock", "wait for ever"),
    ],
)
def test_failures(program: Path, model: str, name: str, kind: str, what: str) -> None:
    result = result_of(program, name, model=model)
    assert (result["verdict"], result["failure"]["kind"]) == ("failed", kind)
    assert what in result["failure"]["what"]


@pytest.mark.parametrize("model", litmus_runs.MODELS)
def test_structures_are_copied(program: Path, model: str) -> None:
    assert result_of(program, "copies", model=model)["verdict"] == "proved"


def test_a_trace_says_where_and_what(program: Path) -> None:
    rows = result_of(program, "assertion")["trace"]
    assert [row["access"] for row in rows] == ["load rlx", "fails"]
    assert rows[0]["object"] == "word"
    assert rows[0]["value"] == "7"
    assert rows[0]["place"].startswith("client.c:")
    assert rows[0]["function"] == "load"
    last = result_of(program, "waits")["trace"][-1]
    assert last["access"].startswith("waits for ever")


def test_a_trace_shows_the_buffer(program: Path) -> None:
    rows = result_of(program, "late", model="tso")["trace"]
    assert any(row["buffer"].endswith(":4=1") for row in rows)
    assert any(row["access"] == "becomes visible" for row in rows)


def test_the_clients_own_bound_is_told(program: Path) -> None:
    result = result_of(program, "perhaps-beyond")
    assert result["verdict"] == "proved"
    assert result["bounds"]["beyond_client_bound"] > 0


@pytest.mark.parametrize("name", ["beyond", "halts-beyond"])
@pytest.mark.parametrize("model", litmus_runs.MODELS)
def test_the_clients_own_bound_is_no_end(program: Path, model: str, name: str) -> None:
    """Nothing but the bound can be reached, so nobody knows whether a thread waits for ever."""
    result = result_of(program, name, model=model)
    assert (result["verdict"], result["bounds"]["reached"]) == ("bound", "the client's own")


def test_too_many_stores_are_a_bound(program: Path) -> None:
    result = result_of(program, "flood", model="weak")
    assert result["verdict"] == "bound"
    assert result["bounds"]["reached"] == "stores to one place that threads may still read"


def test_bounds_are_told(program: Path) -> None:
    result = result_of(program, "large", "--states", "50")
    assert (result["verdict"], result["bounds"]["reached"]) == ("bound", "states")
    assert result["bounds"]["states"] == 50
    small = result_of(program, "large", "--buffer", "2", "--states", "5000", model="tso")
    assert small["bounds"]["buffer_was_full"]
    assert result["bounds"]["buffer"] == 63


def test_the_same_run_gives_the_same_states(program: Path) -> None:
    first, second = (result_of(program, "large", "--states", "3000") for _ in range(2))
    for result in (first, second):
        del result["seconds"]
    assert first == second


def test_random_runs(program: Path) -> None:
    found = result_of(program, "waits", "--random", "5", model="weak")
    assert found["failure"]["kind"] == "deadlock"
    assert result_of(program, "late", "--random", "200")["failure"]["kind"] == "deadlock"
    none = result_of(program, "copies", "--random", "5")
    assert (none["verdict"], none["bounds"]["reached"]) == ("bound", "runs")


@pytest.mark.parametrize(
    "options", [["--model", "arm"], ["--states"], ["--seed", "x"], ["-h", "1"]]
)
def test_a_wrong_command_line(program: Path, options: list[str]) -> None:
    done = subprocess.run([program, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("prover: ")
    assert "usage" in done.stderr


def test_text_is_for_people(program: Path) -> None:
    done = subprocess.run(
        [program, "--model", "sc", "--text"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.startswith("failed under sc")
    with pytest.raises(json.JSONDecodeError):
        json.loads(done.stdout)
