"""`lockcross advise`: which lock on my processor, for my program."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import wraps
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
from sweeps.questions.advise.advice import Advice
from sweeps.questions.advise.answer import Advisor, check_engine
from sweeps.questions.advise.program import program_of, without_own_lock
from sweeps.questions.advise.question import Logged, Question, ask
from sweeps.questions.advise.text import print_answers, print_csv, print_json, print_untold
from sweeps.questions.advise.use import PANEL, Use
from sweeps.questions.advise.values import (
    Cycles,
    CyclesOfInstruction,
    CyclesOfOthers,
    each_of,
    print_values,
)
from sweeps.run.runner import Runner


def _print_table(answers: Sequence[Advice]) -> None:
    machines = {advice.setting["machine"] for advice in answers}
    (print_values if len(answers) > len(machines) else print_answers)(answers)


_PRINTED = {Form.TABLE: _print_table, Form.CSV: print_csv, Form.JSON: print_json}
_BESIDE = ("thin", "tasuki")  # a question has two locks
_NOTHING = Use()


def _latency(kind: type[Cycles], words: str, *names: str) -> Any:
    words += "; several with commas between"
    return typer.Option(
        *names, parser=kind.read, metavar="CYCLES", help=f"{words}.", rich_help_panel="Processor"
    )


def _with_use(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of its argument `use`."""
    signature = inspect.signature(command)
    given = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=field.type
        )
        for field in fields(Use)
    ]
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        own = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += given if parameter.name == "use" else [own]

    @wraps(command)
    def called(**values: Any) -> None:
        use = Use(**{field.name: values.pop(field.name) for field in fields(Use)})
        command(**values, use=use)

    # Typer reads the one and the other.
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in parameters}
    return called


@_with_use
def advise(  # noqa: PLR0913, PLR0917 its options are its arguments
    machines: Annotated[
        list[str] | None,
        options.several_of_machines("generic. `host`: what describes this host"),
    ] = None,
    isa: Annotated[str, options.isa()] = "",
    flavour: Annotated[str, options.flavour()] = "",
    cas_latency: Annotated[
        CyclesOfInstruction | None,
        _latency(
            CyclesOfInstruction,
            "Cycles that a CAS measures, not those that it is set to",
            "--measured-cas-latency",
        ),
    ] = None,
    fence_latency: Annotated[
        CyclesOfInstruction | None,
        _latency(
            CyclesOfInstruction,
            "Cycles that a full fence measures, likewise",
            "--measured-fence-latency",
        ),
    ] = None,
    cancel_latency: Annotated[
        CyclesOfOthers | None,
        _latency(CyclesOfOthers, "Cycles that stopping a thread is set to"),
    ] = None,
    membarrier_latency: Annotated[
        CyclesOfOthers | None,
        _latency(CyclesOfOthers, "Cycles that a process-wide barrier is set to, for its caller"),
    ] = None,
    use: Use = _NOTHING,
    log: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            rich_help_panel=PANEL,
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
    if use.think is not None and use.locks_per_second is not None:
        raise LockcrossError("--locks-per-second stands in place of --think; leave one of them out")
    if use.owner is not None and cancel_latency is not None:
        raise LockcrossError(
            "--owner says which of the machine's costs a cancellation has, and --cancel-latency "
            "sets it; leave one of them out"
        )
    named = names_of(machines or ["generic"], "--machines")
    logged = None if log is None else _logged(log)
    if logged is not None and logged.program is not None and logged.program.untold:
        if use.think is None and use.locks_per_second is None:
            print_untold(form, named, logged.program)
            return
        print(f"what the locks cost the program: {logged.program.untold}", file=sys.stderr)
        logged = replace(logged, program=None)
    latencies = each_of(
        {
            "cas_latency": cas_latency,
            "fence_latency": fence_latency,
            "cancel_latency": cancel_latency,
            "membarrier_latency": membarrier_latency,
        }
    )
    processors = list(dict.fromkeys(map(_machine, named)))
    compared = names_of([locks], "--locks"), names_of([fences], "--fences")

    def ask_all() -> list[Question]:
        return [
            ask(name, isa, flavour, *compared, given, use, logged)
            for name in processors
            for given in latencies
        ]

    questions = ask_all()
    if figure is not None:
        from results.draw.painter import check_file, save
        from sweeps.questions.advise.figure import draw_advice

        if len(questions) > 1:
            raise LockcrossError("--figure: one machine and one value of each latency at a time")
        if ranking:
            raise LockcrossError("--figure: draws what --ranking leaves out; give one of them")
        check_file(figure)  # before anything is run
    if check:
        check_engine(check, [question.scenario.base for question in questions])
    bounds = served(no_server)
    with pool_of(cluster) as pool, Store(db) as store, one_bar(0, not ranking) as progress:
        runner = Runner(store, jobs, progress, bounds, True, pool=pool)
        if logged is not None and logged.program is not None:
            logged = _without_own_lock(use, logged, processors[0], store, runner)
            assert logged.program is not None
            if logged.program.untold:
                print_untold(form, processors, logged.program)
                return
            questions = ask_all()
        advisors = [Advisor(question, store, runner) for question in questions]
        foreseen = [cell for advisor in advisors for cell in advisor.foreseen(ranking)]
        runner.foretell(foreseen, more=not ranking)
        answers = [advisor.answer(check, ranking) for advisor in advisors]
    _PRINTED[form](answers)
    if figure is not None:
        save(figure, lambda: draw_advice(answers[0]))
        print(figure, file=sys.stderr)


def _logged(log: Path) -> Logged:
    """Read the facts of a log. Raises LockcrossError for a file that is none."""
    from sweeps.lock_logs.gaps import works_of
    from sweeps.lock_logs.locality import pattern
    from sweeps.lock_logs.log import read_events
    from sweeps.lock_logs.owners import owners

    events = read_events(log)
    return Logged(log.name, pattern(events), program_of(events), works_of(events), owners(events))


def _machine(name: str) -> str:
    """Return the name of a machine; for `host` the description nearest to this host's processor."""
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
    """Return the machines that are nearest to the host's processor, and how they are."""
    known = [load_engine(engine.label).capabilities().like_host for engine in ENGINES]
    return [like for machines in known for like in machines.items()]


def _without_own_lock(
    use: Use, logged: Logged, machine: str, store: Store, runner: Runner
) -> Logged:
    """Return a log with its runtime's lock taken off the program's time: by that lock's cost in the
    same use on the machine nearest to this host, or else on the one that was asked about. How much
    work lies between two sections depends on it in turn, so it is taken off twice."""
    near = _like_host()
    machine = near[0][0] if near else machine
    clock = load_machine(machine).clock_mhz.number
    for _ in range(2):
        assert logged.program is not None
        own = logged.program.runtime
        question = ask(machine, "", "", [own, _BESIDE[own == _BESIDE[0]]], (), {}, use, logged)
        cycles = Advisor(question, store, runner).cost_of_first()
        logged = replace(logged, program=without_own_lock(logged.program, cycles, clock))
    return logged
