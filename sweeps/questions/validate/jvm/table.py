"""What `lockcross validate --against jvm` prints, in the terminal and for docs/java.md."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from results.text.rows import Rows
from sweeps.questions.validate.jvm.answer import Difference, Held
from sweeps.questions.validate.jvm.definition import MAGNITUDE, SIGN, JvmDefinition

_WORDS = {False: "yes", True: "NO"}


def parts(
    definition: JvmDefinition, held: Sequence[Held], left_out: Mapping[str, str]
) -> Iterator[Rows | str]:
    """A table for each JVM and its modes, what is behind missed bars, and what was left out."""
    for of_one in by_jvm(held):
        yield Rows([_record(definition, one) for one in of_one], _shown(), _title(of_one[0]))
        for one in of_one:
            if why := reason(definition, one):
                yield f"{one.title}: {why}"
        yield summary(of_one)
    for title, why in left_out.items():
        yield f"left out, {title}: {why}"


def by_jvm(held: Sequence[Held]) -> list[list[Held]]:
    """What was held to one JVM on one machine stands together."""
    groups: dict[tuple[str, str, str], list[Held]] = {}
    for one in held:
        groups.setdefault((one.java, one.flag, one.machine), []).append(one)
    return list(groups.values())


def page(definition: JvmDefinition, held: Sequence[Held]) -> Iterator[str]:
    """The lines of a page of Markdown."""
    heads = list(_shown())
    for of_one in by_jvm(held):
        yield from ("", f"### {_title(of_one[0])}", "")
        yield f"| {' | '.join(heads)} |"
        yield f"|{'---|' * len(heads)}"
        for one in of_one:
            record = _record(definition, one)
            yield f"| {' | '.join(show(record) for show in _shown().values())} |"
        yield from ("", summary(of_one))
        for one in of_one:
            if why := reason(definition, one):
                yield f"- {one.title}: {why}"


def summary(held: Sequence[Held]) -> str:
    """How many differences could be judged, and how many of them meet the bars."""
    clear = [one for one in held if one.measured.clear]
    right = [one for one in clear if SIGN not in one.missed_bars]
    within = [one for one in clear if MAGNITUDE not in one.missed_bars]
    every = [one for one in held if one.kept.clear]
    kept = [one for one in every if one.kept_within]
    return (
        f"{len(clear)} of {len(held)} measured differences exceed their spread; of these the sign "
        f"is right in {len(right)}, the magnitude within {100 * held[0].magnitude:g} % in "
        f"{len(within)}. Where the JVM leaves out no lock, {len(every)} exceed it, and the "
        f"magnitude is within that in {len(kept)}."
    )


def newly_missed(definition: JvmDefinition, one: Held) -> list[str]:
    """The bars that are missed and not known to be."""
    known = definition.known(one.flag, one.program).bars
    return [bar for bar in one.missed_bars if bar not in known]


def reason(definition: JvmDefinition, one: Held) -> str:
    """Why bars are missed, as far as is known; nothing where none is."""
    if not one.missed_bars:
        return ""
    newly = newly_missed(definition, one)
    words = [f"{' and '.join(one.missed_bars)} missed"]
    if newly != one.missed_bars:
        words[0] += ", as known" if not newly else f" ({' and '.join(newly)} newly)"
    if one.kept_within:
        words.append(
            "the JVM's compiler leaves out locks that the log has: where it leaves out none, the "
            f"difference is {_words(one.kept)} ns"
        )
    if why := definition.known(one.flag, one.program).why:
        words.append(why)
    return "; ".join(words)


def _title(one: Held) -> str:
    return f"{one.second} less {one.first}: {one.java}, machine {one.machine}, {one.measured_on}"


def _record(definition: JvmDefinition, one: Held) -> dict[str, Any]:
    """A row, whole: numbers for CSV and JSON."""
    return {
        "program": one.title,
        "threads": one.threads,
        "acquisitions": one.acquisitions,
        "runs": len(one.seconds[one.first]),
        "cpu_seconds": one.cpu_seconds,
        **_numbers("measured", one.measured),
        "share": one.share,
        **_numbers("kept", one.kept),
        **_numbers("predicted", one.predicted),
        "clear": one.measured.clear,
        "sign": SIGN not in one.missed_bars,
        "magnitude": MAGNITUDE not in one.missed_bars,
        "why": reason(definition, one),
    }


def _numbers(name: str, difference: Difference) -> dict[str, float | None]:
    return {
        f"{name}_ns": difference.value,
        f"{name}_low_ns": difference.low,
        f"{name}_high_ns": difference.high,
    }


def _shown() -> Mapping[str, Any]:
    def difference(name: str) -> Any:
        return lambda row: _words(
            Difference(*(row[f"{name}{end}_ns"] for end in ("", "_low", "_high")))
        )

    def judged(name: str) -> Any:
        return lambda row: _WORDS[not row[name]] if row["clear"] else "within its spread"

    return {
        "program": lambda row: row["program"],
        "threads": lambda row: str(row["threads"]),
        "acquisitions": lambda row: f"{row['acquisitions']:,}",
        "runs": lambda row: str(row["runs"]),
        "CPU, s": lambda row: f"{row['cpu_seconds']:.2f}",
        "measured, ns a pair": difference("measured"),
        "of CPU time": lambda row: f"{100 * row['share']:+.1f} %",
        "no lock left out, ns": difference("kept"),
        "predicted, ns a pair": difference("predicted"),
        "sign right": judged("sign"),
        "magnitude right": judged("magnitude"),
    }


def _words(difference: Difference) -> str:
    words = f"{difference.value:+.2f}"
    if difference.low is None or difference.high is None:
        return words
    return f"{words} ({difference.low:+.2f} to {difference.high:+.2f})"
