"""`lockcross advise`: which lock on my processor, for my program."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from sweeps.cli import complete
from sweeps.cli.options import ClusterFile, Database, Jobs, NoServer, pool_of, served

if TYPE_CHECKING:
    from sweeps.questions.advise.answer import Advice

_FORMATS = ("table", "json")
_USUAL = 140  # runs of a question
_MOST = 10_000  # cycles of an atomic or a fence
_PROCESSOR, _USE = "Processor", "How the program uses its locks"  # panels of the help


def _processor(words: str, **more: Any) -> Any:
    return typer.Option(help=words, rich_help_panel=_PROCESSOR, **more)


def _share(words: str, most: float = 1) -> Any:
    return typer.Option(min=0, max=most, help=words, rich_help_panel=_USE)


def _number(words: str, low: float = 0, high: float = 10**9) -> Any:
    return typer.Option(min=low, max=high, help=words, rich_help_panel=_USE)


def _latency(words: str, name: str) -> Any:
    names = f"--measured-{name}", f"--{name}"
    return typer.Option(*names, min=0, max=_MOST, help=words, rich_help_panel=_PROCESSOR)


def advise(  # noqa: PLR0913, PLR0917 its options are its arguments
    machine: Annotated[
        list[str] | None,
        _processor(
            "Machines (see `machines`), files or host; several with commas between, or each with "
            "an option of its own. Default: generic.",
            autocompletion=complete.several_machines,
        ),
    ] = None,
    isa: Annotated[
        str, _processor("Default: the machine's first.", autocompletion=complete.isas)
    ] = "",
    flavour: Annotated[
        str,
        _processor("Atomic flavour; default: the ISA's first.", autocompletion=complete.flavours),
    ] = "",
    cas_latency: Annotated[
        int | None,
        _latency("Cycles that a CAS measures, not those that it is set to.", "cas-latency"),
    ] = None,
    fence_latency: Annotated[
        int | None,
        _latency("Cycles that a full fence measures, likewise.", "fence-latency"),
    ] = None,
    cancel_latency: Annotated[
        int | None,
        _processor("Cycles that stopping a thread is set to, as in `run`.", min=0, max=10_000_000),
    ] = None,
    threads: Annotated[int | None, _number("Threads.", 1, 64)] = None,
    shared_objects: Annotated[
        float | None, _share("Share of objects that another thread than their first ever takes.")
    ] = None,
    acquisitions: Annotated[
        float | None, _number("Acquisitions of an object, in the mean.", 1)
    ] = None,
    shared_acquisitions: Annotated[
        float | None, _number("The same of those objects that are shared.", 1)
    ] = None,
    per_cancellation: Annotated[
        float | None, _number("Acquisitions of all objects for each that is shared.", 1)
    ] = None,
    owner_share: Annotated[
        float | None, _share("Share of acquisitions by the object's first thread.")
    ] = None,
    first_share: Annotated[
        float | None, _share("Of shared objects: share before any other thread's first.")
    ] = None,
    run_length: Annotated[
        float | None, _number("Acquisitions in a row by another thread.", 1, 10_000)
    ] = None,
    nested: Annotated[float | None, _share("Share of acquisitions that are nested.", 0.9)] = None,
    contended: Annotated[
        float | None, _share("Share of acquisitions that find the lock held.")
    ] = None,
    critical: Annotated[int | None, _number("Cycles of work inside a section.", 0, 100_000)] = None,
    think: Annotated[
        int | None, _number("Cycles of work between two sections.", 0, 100_000)
    ] = None,
    locks_per_second: Annotated[
        float | None, _number("Acquisitions a second of CPU time: in place of --think.", 1, 10**10)
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            rich_help_panel=_USE,
            help="Lock events of the program: what is not given here is taken from there.",
        ),
    ] = None,
    locks: Annotated[
        str,
        typer.Option(
            help="Locks to compare, e.g. thin,tasuki/full; default: the main job's.",
            autocompletion=complete.several_locks,
        ),
    ] = "",
    fences: Annotated[
        str,
        typer.Option(
            help="Fences of the owner, e.g. rmw,full; default: what runtimes use.",
            autocompletion=complete.fences,
        ),
    ] = "",
    check: Annotated[
        str,
        typer.Option(
            help="Run the same on this host, too: native.", autocompletion=complete.engines
        ),
    ] = "",
    form: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    figure: Annotated[
        Path | None, typer.Option(help="Draw the answer into this file: .png, .svg or .pdf.")
    ] = None,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    db: Database = DATABASE,
) -> None:
    """Say which lock is cheapest on a processor for a program, why, and what would change it."""
    from results.store.store import Store
    from sweeps.cli.progress import one_bar
    from sweeps.questions.advise.advise import Advisor, check_engine
    from sweeps.questions.advise.question import Latencies, ask
    from sweeps.questions.advise.use import Use, with_log
    from sweeps.run.runner import Runner

    if form not in _FORMATS:
        raise LockcrossError(f"--format: {form!r} is unknown; allowed are {', '.join(_FORMATS)}")
    if think is not None and locks_per_second is not None:
        raise LockcrossError("--locks-per-second stands in place of --think; leave one of them out")
    use = Use(
        threads, shared_objects, acquisitions, shared_acquisitions, per_cancellation, owner_share,
        first_share, run_length, nested, contended, critical, think, locks_per_second,
    )  # fmt: skip
    if log is not None:
        from sweeps.search.locality import pattern, read_events

        use = with_log(use, pattern(read_events(log)), log.name)
    latencies = Latencies(cas_latency, fence_latency, cancel_latency)
    given = [one for text in machine or ["generic"] for one in _names(text)]
    if not given:
        raise LockcrossError("--machine: a name, a file or host is expected (see `machines`)")
    machines = list(dict.fromkeys(map(_machine, given)))
    questions = [
        ask(name, isa, flavour, _names(locks), _names(fences), latencies, use) for name in machines
    ]
    if figure is not None:
        from sweeps.questions.advise.figure import check_format, draw_advice

        if len(machines) > 1:
            raise LockcrossError("--figure: one machine at a time")
        check_format(figure)  # before anything is run
    if check:
        check_engine(check, [one.base for one in questions])
    bounds, total = served(no_server), _USUAL * len(questions)
    answers: list[Advice] = []
    with Store(db) as store, pool_of(cluster) as pool, one_bar(total) as progress:
        runner = Runner(store, jobs, progress, bounds, True, pool=pool)
        for question in questions:
            advisor = Advisor(question, store, runner)
            answer = advisor.answer()
            answers.append(answer.with_native(advisor.natively(check)) if check else answer)
    _print(answers, form)
    if figure is not None:
        draw_advice(answers[0], figure)
        print(figure, file=sys.stderr)


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]


def _machine(given: str) -> str:
    """The name of a machine; for `host` the description nearest to this host's processor."""
    from sweeps.engines import load_engine
    from sweeps.model.engines import ENGINES
    from sweeps.model.machine import HOST, machine_named

    if given != HOST:
        return machine_named(given)
    known = [load_engine(engine.label).capabilities().like_host for engine in ENGINES]
    near = [like for machines in known for like in machines.items()]
    if not near:
        raise LockcrossError(
            "--machine host: no description is of a processor like this one; "
            "`./lockcross measure NAME` makes one"
        )
    machine, words = near[0]
    print(words, file=sys.stderr)
    return machine


def _print(answers: "list[Advice]", form: str) -> None:
    from sweeps.questions.advise.text import print_advice, print_overview

    if form == "json":
        rows = [_as_json(one) for one in answers]
        print(json.dumps(rows if len(rows) > 1 else rows[0], indent=1))
        return
    if len(answers) > 1:
        print_overview(answers)
    for one in answers:
        print_advice(one)


def _as_json(advice: "Advice") -> dict[str, Any]:
    win = advice.win
    return asdict(advice) | {
        "cheapest": win.lock, "runner_up": win.runner_up, "lead": win.lead,
        "tie": list(win.tied), "tie_share": advice.tie, "depends_on": [
            {"input": one.given.name, "lock": one.change.lock, "value": one.change.value,
             "upwards": one.upwards} for one in advice.flips
        ],
    }  # fmt: skip
