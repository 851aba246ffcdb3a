"""An answer of `advise` in words and tables, for a terminal."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.table import Table

from results.text.rows import Form, Rows, print_parts
from results.text.terminal import console
from sweeps.accuracy.errors import SILICON, EngineError
from sweeps.model.axes import LATENCIES
from sweeps.model.locks import LockLabel, load_locks
from sweeps.questions.advise.advice import (
    USE_AXES,
    Advice,
    AxisAnswer,
    Between,
    Change,
    Contended,
    Flip,
    OfProgram,
    Saving,
)
from sweeps.questions.advise.program import RecordedProgram
from sweeps.questions.advise.question import ASSUMED, FOLLOWS, GIVEN, MEASURED, Input
from sweeps.study.untold import interval, rounding

MEASURED_AXES = ("cas_latency", "fence_latency")  # whose values are not those that are set
_CANCELLING = "as cancellations cost"
_SMALL = 0.05  # cycles a pair that are not worth a word


def print_json(answers: Sequence[Advice]) -> None:
    """Print a list of answers; of one machine the answer itself."""
    rows: list[dict[str, Any]] = []
    for advice in answers:
        win = advice.win
        rows.append(
            asdict(replace(advice, known=lambda *_: None))
            | {
                "known": advice.error and advice.error.words,
                "locks": [
                    asdict(lock)
                    | {"seeds_low": lock.low, "seeds_high": lock.high}
                    | _interval(advice, lock.label)
                    for lock in advice.locks
                ],
                "parts": [
                    {"share": share, "words": words} for words, share in advice.parts.items()
                ],
                "answer": verdict(advice),
                "verdict": headline(advice),
                "error": advice.error and asdict(advice.error),
                "cheapest": win.lock,
                "runner_up": win.runner_up,
                "lead": win.lead,
                "reliable": win.words,
                "tie": list(win.tied),
                "tie_share": max(
                    (advice.rule.least(win.lock, one) for one in win.tied), default=None
                ),
                "depends_on": [
                    {
                        "input": flip.given.name,
                        "lock": flip.change.lock,
                        "value": flip.change.value,
                        "upwards": flip.upwards,
                    }
                    for flip in advice.flips
                ],
            }
        )
    _print_json(rows)


def _print_json(rows: Sequence[Mapping[str, Any]]) -> None:
    print(json.dumps(rows if len(rows) > 1 else rows[0], indent=1))


def print_csv(answers: Sequence[Advice]) -> None:
    """Print a row for each lock on each machine, the cheapest first."""
    rows = [
        {name: advice.setting[name] for name in ("machine", "isa", "flavour", "threads")}
        | {f"asked_{axis}": advice.asked.get(axis) for axis in LATENCIES}
        | {"work_cycles": advice.between.work, "work_known": advice.between.known}
        | {"cheapest_without_work": advice.between.cheapest}
        | {"tie_from_cycles": advice.between.tie_from}
        | {"lock": str(lock.label), "verdict": _verdict(advice, lock.label)}
        | {"cycles_per_pair": lock.cost, **_interval(advice, lock.label), "seeds": lock.seeds}
        | {"lead": advice.lead_over(lock.label), "native_cycles_per_pair": lock.native}
        | {f"cycles_by_{cause.replace(' ', '_')}": n for cause, n in lock.causes.items()}
        | _cheapest_from(advice, lock.label)
        | {"answer": verdict(advice)}
        for advice in answers
        for lock in advice.locks
    ]
    print_parts(Form.CSV, Rows(rows))


def _cheapest_from(advice: Advice, label: LockLabel) -> dict[str, float | None]:
    """Return the values of each axis from which on a lock is as cheap as the cheapest, downwards
    and upwards; None where another one is before it, or none."""
    return {
        f"cheapest_{way}_{axis.axis}": change.value if change and change.lock == label else None
        for axis in advice.axes
        for way, change in (("below", axis.below), ("above", axis.above))
    }


def _interval(advice: Advice, label: LockLabel) -> dict[str, float | None]:
    low, high = advice.interval(label) or (None, None)
    return {"low": low, "high": high}


def _verdict(advice: Advice, label: LockLabel) -> str:
    if label == advice.win.lock:
        return "cheapest"
    return "tie" if label in advice.win.tied else ""


def print_untold(form: Form, machines: Sequence[str], program: RecordedProgram) -> None:
    """Print that a log does not say which lock is the cheapest, and why."""
    if form == Form.TABLE:
        console(fold=False).print(program.untold.capitalize())
        return
    if form == Form.CSV:
        rows = [
            {"machine": name, "lock": None, "verdict": program.untold, "answer": program.untold}
            for name in machines
        ]
        print_parts(Form.CSV, Rows(rows))
        return
    without = {
        "answer": program.untold,
        "verdict": program.untold,
        "cheapest": None,
        "recording": program.recording,
    }
    _print_json([{"setting": {"machine": name}, **without} for name in machines])


def print_answers(answers: Sequence[Advice]) -> None:
    """Print a line for each of several machines; then for each the verdict with its doubt, the
    locks in order, the reasons, the changes that would turn it, and its inputs."""
    out = console(fold=False)
    if len(answers) > 1:
        out.print(_overview(answers), end="\n\n")
    for advice in answers:
        if len(answers) > 1:
            out.print(f"== {advice.setting['machine']}", style="bold")
        out.print(verdict(advice), style="bold")
        out.print(headline(advice))
        out.print(between_sections(advice))
        for line in remarks(advice):
            out.print(line)
        out.print(_setting(advice), end="\n\n")
        out.print(_locks(advice))
        if advice.works:
            out.print("Causes count the program's own work, too: the core does both at once.")
        out.print("\n" + reason(advice), end="\n\n")
        if advice.program is not None:
            out.print(_of_program(advice.program), end="\n\n")
        out.print("What this rests on, and where another lock is as cheap:")
        out.print(_rests(advice), end="\n\n")


def _rests(advice: Advice) -> Table:
    """Return the inputs: first those given, then those known of the processor, then those assumed;
    in each part first the ones that could turn the answer."""
    axes = {axis.axis: axis for axis in advice.axes}
    turning = [flip.given.name for flip in advice.flips]

    def sort_key(entry: Input) -> tuple[bool, ...]:
        axis = axes.get(entry.name)
        turns = axis is not None and (axis.below or axis.above) is not None
        kind = entry.kind
        return kind == ASSUMED, kind != GIVEN, entry.name not in turning, not turns

    known = {entry.name for entry in advice.inputs}
    follow = (
        Input(name, value_in_words(axis, axis.now), FOLLOWS, "")
        for name, axis in axes.items()
        if name not in known
    )
    border = ["downwards", "upwards"] * bool(axes)
    table = Table("input", "value", "known", *border, "source", box=None)
    for entry in sorted((*advice.inputs, *follow), key=sort_key):
        axis = axes.get(entry.name)
        ends = (
            ["", ""]
            if axis is None
            else [change_in_words(axis, False), change_in_words(axis, True)]
        )
        value = entry.value
        if axis is not None and entry.name in MEASURED_AXES:
            value += f" (measures {axis.now:.1f})"
        table.add_row(_name(entry.name), value, entry.kind, *ends[: len(border)], entry.source)
    return table


def _of_program(program: OfProgram) -> Table:
    """Return the costs of the locks in the program, the lowest first."""
    least, most = (f"{100 * share:.3g}" for share in program.recording)
    time = "" if program.plain else f", without the {least} to {most} % that recording took of it"
    table = Table(
        box=None,
        title_justify="left",
        title=f"What the locks cost the program, with {program.per_second:,.0f} acquisitions a "
        f"second of its CPU time{time}:",
    )
    table.add_column("lock")
    for name in ("million cycles a second", "interval", "of its CPU time", "interval"):
        table.add_column(name, justify="right")
    for label, share in program.costs.items():
        table.add_row(
            label.words(),
            f"{share.cycles / 1e6:,.2f}",
            _between(share.low, share.high, 1e-6, ""),
            f"{100 * share.share:.2f} %",
            _between(share.share_low, share.share_high, 100, " %"),
        )
    return table


def _between(low: float | None, high: float | None, scale: float, unit: str) -> str:
    if low is None or high is None:
        return "unknown"
    return f"{low * scale:,.2f} to {high * scale:,.2f}{unit}"


def _overview(answers: Sequence[Advice]) -> Table:
    table = Table("machine", "cheapest", box=None)
    programs = [advice.program for advice in answers if advice.program is not None]
    for name in ("cycles a pair", *["of the CPU time"] * bool(programs), "lead"):
        table.add_column(name, justify="right")
    table.add_column("over")
    table.add_column("depends on")
    for advice in answers:
        win = advice.win
        best = win.lock.words() + f", {win.words}" * bool(win.tied)
        decides = dict.fromkeys(_name(flip.given.name) for flip in advice.flips)
        of_program = advice.program
        share = [f"{100 * of_program.costs[win.lock].share:.2f} %"] if of_program else []
        table.add_row(
            str(advice.setting["machine"]),
            best,
            f"{advice.beside_work(win.lock):.1f}",
            *share,
            f"{100 * win.lead:.1f} %",
            win.runner_up.words(),
            ", ".join(decides) or "-",
        )
    return table


def between_sections(advice: Advice) -> str:
    """Return in sentences the work between two sections, and its effect on the answer."""
    between = advice.between
    in_mean = " in the mean" * (len(between.amounts) > 1)
    words = "Work between two sections: "
    if between.known == ASSUMED:
        words += "none, which is assumed"
    else:
        words += (_time(between, between.work) if between.work else "none") + in_mean
    if in_mean:
        shares = between.amounts.items()
        near = ", ".join(f"{n:,} in {100 * share:.3g} %" for n, share in shares)
        words += f"; cycles: {near} of the acquisitions"
    if between.cheapest is None:
        return words
    loop = "With no such work" if advice.setting["critical"] else "In a loop that does nothing else"
    words += f". {loop} {between.cheapest.words()} "
    if between.other is None or between.lead is None:
        return f"{words}ties with all that were searched"
    words += f"is {_time(between, between.lead)} cheaper than {between.other.words()}; "
    if between.tie_from is None:
        most = _time(between, between.searched_to or 0)
        return f"{words}they do not tie with up to {most} of work between two sections{in_mean}"
    least = _time(between, between.tie_from)
    return f"{words}with more than {least} of work between two sections{in_mean} they tie"


def _time(between: Between, cycles: float) -> str:
    ns, number = (f"{n:,.0f}" if n >= 100 else f"{n:.1f}" for n in (between.ns(cycles), cycles))
    return f"{ns} ns ({number} cycles)"


def verdict(advice: Advice) -> str:
    """Return in one sentence, in the unit of who asks, the saving by the cheapest lock, and how
    often such a prediction was right."""
    saving = advice.saving
    assert saving is not None
    where = f"on {advice.setting['machine']}"
    begin = f"It depends (see below); as things stand, {where}" if advice.flips else where
    begin = begin[0].upper() + begin[1:]
    beside = _today(saving.beside) if saving.today else saving.beside.words()
    lock = saving.lock.words()
    if saving.tie and saving.today:
        return (
            f"{begin}, no lock is known to save anything compared with {beside}: the lead of "
            f"{lock}, {100 * saving.lead:.1f} %, is a tie"
        )
    if saving.tie:
        return f"{begin}, {lock} and {beside} cost the same, as far as can be told"
    words = f"{begin}, {lock} would save {_saved(advice)} compared with {beside}. "
    error = advice.known(saving.lock, saving.beside)
    if error is None:
        return f"{words}How reliable that is, is not known: nothing like it was compared"
    return f"{words}Reliable: {_right(error, saving.lead)}"


def _today(label: LockLabel) -> str:
    """Return a lock with the first words of where it ships."""
    ships = load_locks()[label.lock].ships_in.partition(",")[0].partition(";")[0]
    return f"{label.words()} ({ships})" if ships else label.words()


def _saved(advice: Advice) -> str:
    """Return the saving: of a program's CPU time where its rate is known, else of each pair."""
    saving, between = advice.saving, advice.between
    assert saving is not None
    if saving.share is not None:
        return f"your program {_times(saving, 100 * saving.share, ' %')} of its CPU time"
    cycles = _times(saving, saving.cycles, " cycles")
    return f"{_times(saving, between.ns(saving.cycles), ' ns')} a pair, {cycles},"


def _times(saving: Saving, value: float, unit: str) -> str:
    """Return a value with the interval of a difference."""
    if saving.low is None or saving.high is None:
        return f"{_digits(value)}{unit}"
    return (
        f"{_digits(value)}{unit} ({_digits(saving.low * value)} to "
        f"{_digits(saving.high * value)}{unit})"
    )


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 0.1 else f"{value:.2g}"


def _right(error: EngineError, lead: float) -> str:
    """Return how often leads like this one were right, and beside which processor or simulator."""
    where = "silicon" if error.row.reference == SILICON else "a simulator"
    return (
        f"of such leads {error.reliability(lead).words} were in the right order on {where} "
        f"({error.row.machine})"
    )


def headline(advice: Advice) -> str:
    """Return which lock is the cheapest, its cost, and which ones it ties with."""
    win = advice.win
    words = f"{advice.beside_work(win.lock):.1f} cycles a pair"
    if advice.works:
        words += f" beside the {advice.work:.1f} of the program itself"
    if (interval := advice.interval(win.lock)) is not None:
        words += f" ({interval[0]:.0f} to {interval[1]:.0f})"
    named = f"{win.lock.words()} is the cheapest"
    if advice.contended is not None:
        named += f" without the {100 * advice.contended.share:.3g} % that find the lock held"
    if not win.tied:
        less = f"{100 * win.lead:.1f} % less than {win.runner_up.words()}"
        return f"{named}: {words}, {less}; {win.words}"
    least = [advice.rule.least(win.lock, other) for other in win.tied]
    below = " to ".join(dict.fromkeys(f"{100 * end:.3g}" for end in (min(least), max(least))))
    threshold = (
        f"leads below {below} % are within the error"
        if max(least) < 1
        else "no lead was large enough to be in the right order nine times of ten"
    )
    return f"{named}, {words}, {win.words}: {threshold}"


def remarks(advice: Advice) -> Iterator[str]:
    """Yield the remarks beside the answer: on which inputs it depends, how sure it is, the limits
    of its lock and the best without them."""
    names = dict.fromkeys(flip.given.name for flip in advice.flips)
    yield from decisive(advice)
    if advice.axes:
        assumed = [entry.name for entry in advice.inputs if entry.kind == ASSUMED]
        turns = [axis.axis for axis in advice.axes if (axis.below or axis.above) is not None]
        more = len({*turns}.intersection(assumed) - names.keys())
        words = f"Assumed: {len(assumed)} of the inputs (see the end)"
        words += f"; {len(names)} could turn the answer" * bool(names)
        words += (
            f"; {more} more {'makes' if more == 1 else 'make'} another lock as cheap somewhere, by "
            "no more than a tie or outside what is plausible"
        ) * bool(more)
        yield words + "; none makes another lock as cheap where it was searched" * (
            not names and not more
        )
    yield _reliability(advice)
    win = advice.win
    if native := {lock.label: lock.native for lock in advice.locks if lock.native is not None}:
        best = min(native, key=lambda label: (native[label], label))
        also = "too" if best in (win.lock, *win.tied) else "which is another"
        yield (
            f"On this host {best.words()} is the cheapest, {also}: {native[best]:.1f} cycles a pair"
        )
    if advice.contended is not None:
        yield _under_contention(advice.contended)
    if (limit := advice.limits.get(win.lock)) is not None:
        words = f"Mind: {win.lock.words()}: {limit}"
        if (other := advice.without_limits) is not None:
            words += (
                f". Without it: {other.lock.words()}, {advice.beside_work(other.lock):.1f} "
                f"cycles a pair, {other.words} (lead {100 * other.lead:.1f} %)"
            )
        yield words
    yield from advice.notes


def decisive(advice: Advice) -> Iterator[str]:
    """Yield a sentence for each input on which the answer depends."""
    for name in dict.fromkeys(flip.given.name for flip in advice.flips):
        yield _decides([flip for flip in advice.flips if flip.given.name == name])


def _decides(flips: Sequence[Flip]) -> str:
    """Return a sentence about an assumption that decides, by its flips downwards and upwards."""
    axis, given = flips[0].axis, flips[0].given
    assert given.low is not None and given.high is not None  # else it decides nothing
    # No further than what was searched: a shared object lives long enough to be shared.
    low, high = (
        value_in_words(axis, max(given.low, axis.low)),
        value_in_words(axis, min(given.high, axis.high)),
    )
    changes = []
    for flip in flips:
        value = _value_and_interval(axis, flip.change)
        reach = f"from {value} on" if flip.upwards else f"up to {value}"
        changes.append(f"{flip.change.lock.words()} is as cheap {reach}")
    plausible = "plausible" if given.kind == ASSUMED else "left open"
    return (
        f"  {_name(given.name)}: {value_in_words(axis, axis.now)} is {given.kind}, {low} to {high} "
        f"is {plausible}; {', '.join(changes)}"
    )


def _reliability(advice: Advice) -> str:
    """Return how sure the order of the first two is."""
    error = advice.error
    if error is None:
        return "How sure: nothing like this was compared with silicon or another simulator"
    words = f"How sure: {error.words}: median error {100 * error.median:.0f} %"
    win = advice.win
    if win.tied:
        right = error.reliability(win.lead).words
        words += (
            f"; of leads like that over {win.runner_up.words()} {right} were in the right order"
        )
    if advice.works:
        words += "; hardly any had work around the lock"
    if advice.setting["described"] != MEASURED:
        words += f". {advice.setting['machine']} itself was compared with no silicon"
    return words


def _under_contention(contended: Contended) -> str:
    best = min(contended.costs, key=lambda label: (contended.costs[label], label))
    ordered = sorted(contended.costs.items(), key=lambda pair: pair[1])
    costs = ", ".join(f"{label.words()} {cost:,.0f}" for label, cost in ordered)
    return (
        f"Left out of all this: the {100 * contended.share:.3g} % of acquisitions that find the "
        f"lock held. Where all threads want one object, {best.words()} is the cheapest, "
        f"{contended.verdict} (cycles a pair, with work and waiting: {costs}); how many wait there "
        "differs from lock to lock"
    )


def _name(axis: str) -> str:
    """Return an input or an axis in words."""
    return USE_AXES.get(axis, axis.replace("_", " "))


def _setting(advice: Advice) -> str:
    """Return the processor, and the parts that make up the answer."""
    processor = (
        "{machine}, {isa} ({flavour}), {threads} threads: a CAS measures {cas_measured:.1f} "
        "cycles, a full fence {fence_measured:.1f}. Acquisitions: "
    ).format_map(advice.setting)
    parts = ", ".join(f"{100 * share:.4g} % {words}" for words, share in advice.parts.items())
    work = (
        f"; what a pair takes without a lock, {advice.work:.1f} cycles beside those of the "
        "simplest loop, is taken off"
    )
    return processor + parts + work * advice.works


def _locks(advice: Advice) -> Table:
    best, tied = advice.locks[0], advice.win.tied
    causes = [cause for cause in best.causes if any(lock.causes[cause] for lock in advice.locks)]
    native = any(lock.native is not None for lock in advice.locks)
    table = Table("lock", box=None)
    cancelling = [_CANCELLING] * any(lock.cancelling for lock in advice.locks)
    of_host = ["on this host"] * native
    for name in ("cycles a pair", *cancelling, "lead of the best", *of_host, "seeds", *causes):
        table.add_column(name, justify="right")
    ships = {lock.label: load_locks()[lock.label.lock].ships_in for lock in advice.locks}
    if any(ships.values()):
        table.add_column("ships in")
    for lock in advice.locks:
        more = "" if lock is best else f"{100 * advice.lead_over(lock.label):.1f} %"
        more += " tie" * (lock.label in tied)
        here = ["-" if lock.native is None else f"{lock.native:.1f}"] * native
        why = (f"{lock.causes[cause]:.1f}" for cause in causes)
        runtime = [ships[lock.label]] * any(ships.values())
        ends = [_ends(lock.cancelling)] * len(cancelling)
        cells = (f"{lock.cost:.1f}", *ends, more, *here, str(lock.seeds), *why, *runtime)
        table.add_row(lock.label.words(), *cells)
    return table


def _ends(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.1f} to {ends[1]:.1f}"


def reason(advice: Advice) -> str:
    """Return why the best is ahead of the next: by how many cycles, by cause, the largest first."""
    best, other = advice.locks[:2]
    more = {cause: other.causes[cause] - best.causes[cause] for cause in best.causes}
    causes = sorted(
        (cause for cause in more if abs(more[cause]) >= _SMALL), key=lambda cause: -abs(more[cause])
    )
    dearer = ", ".join(f"{more[cause]:.1f} by {cause}" for cause in causes if more[cause] > 0)
    cheaper = ", ".join(f"{-more[cause]:.1f} by {cause}" for cause in causes if more[cause] < 0)
    if not causes:
        return f"Why: {other.label.words()} is no dearer by any cause; they are the same to a tie"
    lost = [f"loses {dearer}"] * bool(dearer) + [f"saves {cheaper}"] * bool(cheaper)
    words = f"Why: {other.label.words()} {', and '.join(lost)}"
    return f"{words} (cycles a pair{f', seed 1 of {best.seeds}' if best.seeds > 1 else ''})"


def change_in_words(axis: AxisAnswer, upwards: bool) -> str:
    """Return which lock is as cheap beyond a value of an axis, or how far none is."""
    change, end = (axis.above, axis.high) if upwards else (axis.below, axis.low)
    if change is not None:
        towards = "from" if upwards else "to"
        return f"{change.lock.words()} {towards} {_value_and_interval(axis, change)}"
    none = f"none {'up' if upwards else 'down'} to {value_in_words(axis, end)}"
    return "-" if end == axis.now else none


def _value_and_interval(axis: AxisAnswer, change: Change) -> str:
    """Return from which value on a lock is as cheap, with no more digits than are known, and within
    which values it lies."""
    if change.known is None:
        return value_in_words(axis, change.value)
    scale, unit = {"share": (100, " %"), "cycles": (1, " cycles")}.get(axis.unit, (1, ""))
    written = rounding(change.value, change.known, lambda x: scale * x)
    words = interval(change.known, (axis.low, axis.high), written)
    return f"{written(change.value)}{unit} ({words})"


def value_in_words(axis: AxisAnswer, value: float) -> str:
    """Return a value of an axis with its unit."""
    if axis.unit == "share":
        return f"{100 * value:.4g} %"
    if axis.unit == "cycles":
        return f"{value:,.0f} cycles" if value >= 1000 else f"{value:.1f} cycles"
    return f"{value:.4g}" if value % 1 and value < 1000 else f"{value:,.0f}"
