"""`lockcross advise`: which lock on my processor, for my program."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from results.store.store import Store
from results.text.rows import Form, Format
from sweeps.cli import options
from sweeps.cli.options import ClusterFile, Database, Jobs, NoServer, names_of, pool_of, served
from sweeps.cli.progress import one_bar
from sweeps.engines.base import load_engine
from sweeps.model.engines import ENGINES
from sweeps.model.machine import HOST, load_machine, machine_named
from sweeps.questions.advise.answer import Advisor, check_engine
from sweeps.questions.advise.program import program_of, without_own_lock
from sweeps.questions.advise.question import Question, Use, ask
from sweeps.questions.advise.text import print_answers, print_csv, print_json, print_untold
from sweeps.run.runner import Runner

_PRINTED = {Form.TABLE: print_answers, Form.CSV: print_csv, Form.JSON: print_json}
_USUAL = 140  # runs of a question
_MOST = 10_000  # cycles of an atomic or a fence
_BESIDE = ("thin", "tasuki")  # a question has two locks
_PROCESSOR, _USE = "Processor", "How the program uses its locks"  # panels of the help


Real = float | None
Whole = int | None


def _processor(words: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=words, rich_help_panel=_PROCESSOR, **more)


def _number(words: str, low: float = 0, high: float = 10**9) -> Any:
    return typer.Option(min=low, max=high, help=words, rich_help_panel=_USE)


def _share(words: str, most: float = 1) -> Any:
    return _number(words, high=most)


def _latency(words: str, name: str) -> Any:
    return _processor(words, f"--measured-{name}", f"--{name}", min=0, max=_MOST)


def advise(  # noqa: PLR0913, PLR0917 its options are its arguments
    machines: Annotated[
        list[str] | None,
        options.several_of_machines("generic. `host`: what describes this host"),
    ] = None,
    isa: Annotated[str, options.isa()] = "",
    flavour: Annotated[str, options.flavour()] = "",
    cas_latency: Annotated[
        Whole,
        _latency("Cycles that a CAS measures, not those that it is set to.", "cas-latency"),
    ] = None,
    fence_latency: Annotated[
        Whole,
        _latency("Cycles that a full fence measures, likewise.", "fence-latency"),
    ] = None,
    cancel_latency: Annotated[
        Whole,
        _processor("Cycles that stopping a thread is set to.", min=0, max=10_000_000),
    ] = None,
    threads: Annotated[Whole, _number("Threads.", 1, 64)] = None,
    shared_objects: Annotated[
        Real, _share("Share of objects that another thread than their first ever takes.")
    ] = None,
    acquisitions: Annotated[Real, _number("Acquisitions of an object, in the mean.", 1)] = None,
    shared_acquisitions: Annotated[
        Real, _number("The same of those objects that are shared.", 1)
    ] = None,
    per_cancellation: Annotated[
        Real, _number("Acquisitions of all objects for each that is shared.", 1)
    ] = None,
    owner_share: Annotated[
        Real, _share("Share of acquisitions by the object's first thread.")
    ] = None,
    first_share: Annotated[
        Real, _share("Of shared objects: share before any other thread's first.")
    ] = None,
    run_length: Annotated[
        Real, _number("Acquisitions in a row by another thread.", 1, 10_000)
    ] = None,
    nested: Annotated[Real, _share("Share of acquisitions that are nested.", 0.9)] = None,
    contended: Annotated[Real, _share("Share of acquisitions that find the lock held.")] = None,
    critical: Annotated[Whole, _number("Cycles of work inside a section.", 0, 100_000)] = None,
    think: Annotated[Whole, _number("Cycles of work between two sections.", 0, 100_000)] = None,
    locks_per_second: Annotated[
        Real, _number("Acquisitions a second of CPU time: in place of --think.", 1, 10**10)
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            rich_help_panel=_USE,
            help="Lock events of the program, from `record` or `run --events`: what is not given "
            "here is taken from there.",
        ),
    ] = None,
    locks: Annotated[
        str,
        options.option(
            f"{options.LOCKS}; default: the main job's.",
            options.several_locks,
        ),
    ] = "",
    fences: Annotated[
        str,
        options.option(
            "Fences of the owner, e.g. rmw,full; default: what runtimes use.", options.fences
        ),
    ] = "",
    check: Annotated[
        str,
        options.option("Run the same on this host, too: native.", options.engines),
    ] = "",
    ranking: Annotated[
        bool,
        typer.Option(
            "--ranking",
            help="Rank the locks, with one seed: no search for what would change it.",
        ),
    ] = False,
    form: Format = Form.TABLE,
    figure: options.FigureFile = None,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    db: Database = DATABASE,
) -> None:
    """Say which lock is cheapest on a processor for a program, why, and what would change it.

    json has the whole answer, csv a row for each lock on each machine.
    """
    if think is not None and locks_per_second is not None:
        raise LockcrossError("--locks-per-second stands in place of --think; leave one of them out")
    use = Use(
        threads,
        shared_objects,
        acquisitions,
        shared_acquisitions,
        per_cancellation,
        owner_share,
        first_share,
        run_length,
        nested,
        contended,
        critical,
        think,
        locks_per_second,
    )
    named = names_of(machines or ["generic"], "--machines")
    if log is not None:
        from sweeps.search.locality import pattern
        from sweeps.search.lock_log import read_events

        events = read_events(log)
        program = program_of(events)
        if program is not None and program.untold:
            if use.think is None and use.locks_per_second is None:
                print_untold(form, named, program)
                return
            print(f"what the locks cost the program: {program.untold}", file=sys.stderr)
            program = None
        use = use.with_log(pattern(events), log.name, program)
    latencies = {
        "cas_latency": cas_latency,
        "fence_latency": fence_latency,
        "cancel_latency": cancel_latency,
    }
    processors = list(dict.fromkeys(map(_machine, named)))
    compared = names_of([locks], "--locks"), names_of([fences], "--fences")

    def asked(of_use: Use) -> list[Question]:
        return [ask(name, isa, flavour, *compared, latencies, of_use) for name in processors]

    questions = asked(use)
    if figure is not None:
        from results.draw.painter import check_file, save
        from sweeps.questions.advise.figure import draw_advice

        if len(processors) > 1:
            raise LockcrossError("--figure: one machine at a time")
        if ranking:
            raise LockcrossError("--figure: draws what --ranking leaves out; give one of them")
        check_file(figure)  # before anything is run
    if check:
        check_engine(check, [question.base for question in questions])
    bounds, total = served(no_server), _USUAL * len(questions)
    with Store(db) as store, pool_of(cluster) as pool, one_bar(total) as progress:
        runner = Runner(store, jobs, progress, bounds, True, pool=pool)
        if use.program is not None:
            use = _without_own_lock(use, processors[0], store, runner)
            if use.program is not None and use.program.untold:
                print_untold(form, processors, use.program)
                return
            questions = asked(use)
        answers = [
            Advisor(question, store, runner).answer(check, ranking) for question in questions
        ]
    _PRINTED[form](answers)
    if figure is not None:
        save(figure, lambda: draw_advice(answers[0]))
        print(figure, file=sys.stderr)


def _machine(name: str) -> str:
    """The name of a machine; for `host` the description nearest to this host's processor."""
    if name != HOST:
        return machine_named(name)
    near = _like_host()
    if not near:
        raise LockcrossError(
            "--machines host: no description is of a processor like this one; "
            "`./lockcross measure NAME` makes one"
        )
    machine, words = near[0]
    print(words, file=sys.stderr)
    return machine


def _like_host() -> list[tuple[str, str]]:
    """The machines that are nearest to the host's processor, and how they are."""
    known = [load_engine(engine.label).capabilities().like_host for engine in ENGINES]
    return [like for machines in known for like in machines.items()]


def _without_own_lock(use: Use, asked: str, store: Store, runner: Runner) -> Use:
    """A program's use with its runtime's lock taken off its time: by what that costs in the same
    use on the machine nearest to this host, or else on the one that was asked about. How much work
    lies between two sections depends on it in turn, so it is taken off twice."""
    near = _like_host()
    machine = near[0][0] if near else asked
    clock = load_machine(machine).clock_mhz.number
    for _ in range(2):
        assert use.program is not None
        own = use.program.runtime
        question = ask(machine, "", "", [own, _BESIDE[own == _BESIDE[0]]], (), {}, use)
        cycles = Advisor(question, store, runner).cost_of_first()
        use = replace(use, program=without_own_lock(use.program, cycles, clock))
    return use
