"""validate --against jvm: the arithmetic on samples that are made up, what is refused, and one real
run of a microbenchmark."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.errors import LockcrossError
from results.paths import REFERENCE
from results.store.store import Store, reading
from sweeps.questions.validate.jvm.answer import (
    HELD,
    Difference,
    Held,
    measured_difference,
    predicted_difference,
)
from sweeps.questions.validate.jvm.definition import JvmDefinition, chosen_programs, is_of_jvm
from sweeps.questions.validate.jvm.modes import find_jvm
from sweeps.questions.validate.jvm.programs import SOURCES, environment
from sweeps.questions.validate.jvm.run import validate
from sweeps.questions.validate.jvm.table import newly_missed, page, parts, reason, summary
from sweeps.questions.validate.validate import load_validation
from tests.commands import lockcross, program
from tests.java_agent import needs_java
from tests.java_programs.__main__ import DOCUMENT, HEAD, REFERENCE_FILE, held_to_a_jvm

BIASED, STACK = "biased locking", "stack locking"


def definition(**changes: Any) -> JvmDefinition:
    shipped = load_validation("jvm")
    assert isinstance(shipped, JvmDefinition)
    return JvmDefinition.model_validate(shipped.model_dump() | changes)


def of_a(**changes: Any) -> JvmDefinition:
    """With one program, made up."""
    return definition(program=[{"name": "a", "title": "A", "words": ["A"]} | changes])


def held(
    measured: tuple[float, float, float], predicted: float, kept: float = 0.0, **changes: Any
) -> Held:
    """A program with differences in ns a pair."""
    whole = Held(
        program="a",
        title="A",
        flag="UseBiasedLocking",
        first=BIASED,
        second=STACK,
        options={BIASED: ["-XX:+UseBiasedLocking"], STACK: ["-XX:-UseBiasedLocking"]},
        java="openjdk 17",
        processor="made up",
        machine="zen5",
        measured_on="2026-01-01",
        acquisitions=10**9,
        threads=2,
        seconds={BIASED: [2.0, 2.0], STACK: [6.0, 8.0]},
        kept_seconds={BIASED: [2.0], STACK: [2.0 + kept]},
        measured=Difference(*measured),
        kept=Difference(kept, kept - 1, kept + 1),
        predicted=Difference(predicted, predicted - 2, predicted + 2),
        magnitude=0.5,
    )
    return replace(whole, **changes)


def test_a_difference_is_the_median_of_pairs_with_its_interval() -> None:
    first = [1.0, 5.0, 2.0, 3.0, 1.0, 2.0, 4.0, 9.0]  # what drifts is in both
    second = [a + more for a, more in zip(first, [2, 1, 3, 2, 9, 2, 0, 2], strict=True)]
    found = measured_difference(first, second, 10**9)
    assert (found.value, found.low, found.high) == (2, 0, 9)
    assert not found.clear and not measured_difference(second, first, 10**9).clear


@pytest.mark.parametrize(("size", "cut"), [(2, 0), (5, 0), (8, 0), (9, 1), (12, 2), (40, 13)])
def test_the_interval_of_a_median_leaves_out_what_chance_may(size: int, cut: int) -> None:
    """By the tables of the sign test at 5 %, both sides; below six values none is left out."""
    found = measured_difference([0.0] * size, [float(n + 1) for n in range(size)], 10**9)
    assert (found.low, found.high) == (1 + cut, size - cut)
    assert found.clear


ADVICE = {
    "locks": [{"label": "hotspot_stack/rmw", "cost": 40.0}, {"label": "biased/rmw", "cost": 10.0}],
    "contended": None,
    "error": {"low": 0.5, "high": 1.5},
}


def test_a_prediction_is_the_difference_of_the_costs_and_of_their_ends() -> None:
    found = predicted_difference(ADVICE, ("biased", "hotspot_stack"), 2000)
    assert (found.value, found.low, found.high) == (15, (20 - 15) / 2, (60 - 5) / 2)
    other_way = predicted_difference(ADVICE, ("hotspot_stack", "biased"), 2000)
    assert other_way.value == -15
    half = ADVICE | {"contended": {"share": 0.5}, "error": None}
    assert predicted_difference(half, ("biased", "hotspot_stack"), 2000) == Difference(
        7.5, None, None
    )


@pytest.mark.parametrize(
    ("measured", "predicted", "missed"),
    [
        ((10, 9, 11), 10, []),
        ((10, 9, 11), 15, []),
        ((10, 9, 11), 15.1, ["magnitude"]),
        ((10, 9, 11), 4.9, ["magnitude"]),
        ((10, 9, 11), -1, ["sign", "magnitude"]),
        ((-10, -11, -9), -8, []),
        ((-10, -11, -9), 0, ["sign", "magnitude"]),
        ((1, -1, 3), -50, []),  # within its spread
    ],
)
def test_a_bar_is_held_against_what_exceeds_its_spread(
    measured: tuple[float, float, float], predicted: float, missed: list[str]
) -> None:
    one = held(measured, predicted)
    assert one.missed_bars == newly_missed(of_a(), one) == missed
    knowing = of_a(known={"UseBiasedLocking": ["magnitude"]}, missed="a reason")
    assert newly_missed(knowing, one) == [bar for bar in missed if bar != "magnitude"]
    assert ("a reason" in reason(knowing, one)) == bool(missed)
    assert newly_missed(knowing, replace(one, flag="LockingMode")) == missed


def test_the_table_says_what_was_measured_and_why_a_bar_is_missed() -> None:
    every = [
        held((10, 9, 11), 12, kept=11),
        held((2, 1, 3), 12, kept=11, title="B"),
        held((2, -1, 3), 12, kept=11, title="C"),
        held((2, 1, 3), -2, kept=11, title="D", program="d"),
    ]
    about = of_a(name="d", known={"UseBiasedLocking": ["sign", "magnitude"]}, missed="as it is")
    _, *words = parts(about, every, {"E": "no Maven"})
    text = "\n".join(map(str, words))
    assert "B: magnitude missed; the JVM's compiler leaves out locks" in text
    assert "D: sign and magnitude missed, as known; as it is" in text
    assert "left out, E: no Maven" in text and "C: " not in text
    assert summary(every) == (
        "3 of 4 measured differences exceed their spread; of these the sign is right in 2, the "
        "magnitude within 50 % in 1. Where the JVM leaves out no lock, 4 exceed it, and the "
        "magnitude is within that in 3."
    )
    lines = list(page(about, every))
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    (row,) = [line for line in lines if line.startswith("| A ")]
    # 10 ns each of a thousand million pairs, of two seconds
    assert "| +10.00 (+9.00 to +11.00) | +500.0 % |" in row and row.endswith("| yes | yes |")
    (row,) = [line for line in lines if line.startswith("| B ")]
    assert row.endswith("| yes | NO |")


def test_what_was_held_is_kept_and_asked_for(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    one = held((10, 9, 11), 12, kept=11)
    with Store(db) as store:
        HELD.of("UseBiasedLocking/a").write(store, one)
        assert HELD.every(store.connection) == [one]
    done = lockcross("query", "jvm", "--db", str(db), "--format", "json")
    (row,) = json.loads(done.stdout)
    assert (row["program"], row["measured_ns"], row["predicted_ns"]) == ("A", 10, 12)
    assert (row["measured_low"], row["predicted_high"], row["no_lock_left_out_ns"]) == (9, 14, 11)


def test_the_shipped_definition_names_programs_that_are_there() -> None:
    shipped = definition()
    for one in shipped.program:
        folder = SOURCES / ("with-libraries" if one.libraries else "alone")
        assert (folder / f"{one.words[0]}.java").exists()
    usual = chosen_programs(shipped, [])
    assert sum(one.microbenchmark for one in usual) >= 3
    assert sum(one.libraries for one in usual) >= 6
    assert [one.name for one in chosen_programs(shipped, ["javac"])] == ["javac"]
    assert is_of_jvm("[[program]]") and not is_of_jvm('set = "[[program]]"')


MODES = definition().modes[0].model_dump()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"modes": [MODES | {"first": MODES["first"] | {"lock": "x"}}]}, "'x' is unknown"),
        ({"program": [{"name": "a", "title": "A", "words": ["A"]}] * 2}, "two programs have one"),
        (
            {"program": [{"name": "a", "title": "A", "words": ["A"], "known": {"X": ["sign"]}}]},
            "say in `missed` why",
        ),
        (
            {
                "program": [
                    {
                        "name": "a",
                        "title": "A",
                        "words": ["A"],
                        "known": {"X": ["sign"]},
                        "missed": "so",
                    }
                ]
            },
            "no modes by the flag 'X'",
        ),
    ],
)
def test_mistakes_of_a_definition_are_named(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        definition(**changes)


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, *others: str) -> None:
    """Only a folder is in PATH, with links to some programs that are there."""
    for name in others:
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))


def test_a_jvm_is_asked_for_its_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag that is there and keeps its value, whatever is set, is no mode."""
    asked = 'case "$*" in *-XX:-Use*) biased=false;; *) biased=true;; esac\n'
    asked += """echo "     bool UseBiasedLocking   = $biased   {product} {command line}"\n"""
    version = """echo 'openjdk version "17.0.1" 2021-10-19' >&2\n"""
    program(tmp_path, "java", asked + version)
    on_path(monkeypatch, tmp_path)
    found = find_jvm(definition())
    assert found.modes.flag == "UseBiasedLocking" and found.version.endswith('"17.0.1" 2021-10-19')
    flag = "echo '  int LockingMode  := 2 {product} {default}'\n"
    program(tmp_path, "java", flag + version)
    with pytest.raises(LockcrossError, match=r"17.0.1.* has no two locking modes") as caught:
        find_jvm(definition())
    assert caught.value.exit_code == 2 and "first in PATH" in caught.value.message


@pytest.mark.parametrize(
    ("java", "words"),
    [
        (None, "java: no such program"),
        ("exit 1", "is no HotSpot"),
        ("exit 0", "has no two locking modes"),
    ],
)
def test_a_jvm_without_modes_is_refused(
    java: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if java is not None:
        program(tmp_path, "java", java)
    on_path(monkeypatch, tmp_path)
    with pytest.raises(LockcrossError, match=words) as caught:
        find_jvm(definition())
    assert caught.value.exit_code == 2


def test_mistakes_of_a_command_are_named() -> None:
    done = lockcross("validate", "--against", "jvm", "--subsets", "nonesuch")
    assert done.returncode == 2 and "'nonesuch' is unknown; known are byte_writer" in done.stderr
    done = lockcross("validate", "--against", "jvm", "--machine", "ppc604")
    assert done.returncode == 2 and "machine ppc604: does not describe this host" in done.stderr


@needs_java
def test_without_maven_programs_without_libraries_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real JDK, no `mvn`: the programs with libraries are left out, which is no failure."""
    on_path(monkeypatch, tmp_path, "java", "javac")
    some = chosen_programs(definition(), ["xalan", "fop"])
    try:
        outcome = validate(definition(), some, "generic", 1, tmp_path / "a.db")
    except LockcrossError as error:
        pytest.skip(error.message)  # a JDK whose JVM has no two modes
    assert not outcome.held and not outcome.failed
    assert set(outcome.left_out) == {"Xalan 2.7", "FOP 2.9"}
    assert "mvn: no such program" in outcome.left_out["FOP 2.9"]


@needs_java
@pytest.mark.long
@pytest.mark.usefixtures("agent")
def test_a_microbenchmark_is_held_to_the_jvm_that_is_here(tmp_path: Path) -> None:
    """Measured, recorded and predicted. How large the measured difference is, is up to the host."""
    short = {"seconds": 1, "fewest": 2, "most": 2}
    writer = {"name": "writer", "title": "W", "words": ["ByteWriter", "5"], "microbenchmark": True}
    about = definition(program=[writer], **short)
    try:
        find_jvm(about)
    except LockcrossError as error:
        pytest.skip(error.message)
    outcome = validate(about, about.program, "generic", 1, tmp_path / "a.db")
    assert not outcome.failed and not outcome.left_out
    (one,) = outcome.held
    assert one.acquisitions >= 5 * 65_536
    for times in (one.seconds, one.kept_seconds):
        assert {mode: len(runs) for mode, runs in times.items()} == {one.first: 2, one.second: 2}
        assert all(seconds > 0 for runs in times.values() for seconds in runs)
    if one.flag == "UseBiasedLocking":  # on an owner's pairs a bias saves both atomics
        assert one.predicted.value > 0
    with reading(tmp_path / "a.db") as connection:
        assert HELD.every(connection) == [one]


def test_the_page_says_what_the_stored_reference_does() -> None:
    _, head, section = DOCUMENT.read_text("utf-8").partition(HEAD)
    assert head + section == "\n".join(held_to_a_jvm()), (
        "./lockcross python -m tests.java_programs --held"
    )
    with reading(REFERENCE / REFERENCE_FILE) as connection:
        every = HELD.every(connection)
    assert sum(one.program in ("byte_writer", "words", "handover") for one in every) >= 3
    assert not [one for one in every if newly_missed(definition(), one)]


def test_what_users_set_for_their_own_programs_is_not_for_these(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xint")
    assert "JAVA_TOOL_OPTIONS" not in environment() and "PATH" in environment()
