"""`lockcross advise`: which lock on my processor, for my program."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.errors import LockcrossError
from results.paths import DATABASE
from sweeps.cli.lists import complete
from sweeps.cli.options import ClusterFile, Database, Jobs, NoServer, pool_of, served

if TYPE_CHECKING:
    from results.analysis.advice import Advice
    from sweeps.engines.base import Limits
    from sweeps.experiments.questions.question import Question

_FORMATS = ("table", "json")
_USUAL = 95  # runs of a question
_MOST = 10_000  # cycles of an atomic or a fence


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(advise)


def advise(  # noqa: PLR0913, PLR0917 its options are its arguments
    machine: Annotated[
        str,
        typer.Option(
            help="A machine's name (see `machines`) or file.", autocompletion=complete.machines
        ),
    ] = "generic",
    isa: Annotated[
        str, typer.Option(help="Default: the machine's first.", autocompletion=complete.isas)
    ] = "",
    flavour: Annotated[
        str,
        typer.Option(
            help="Atomic flavour; default: the ISA's first.", autocompletion=complete.flavours
        ),
    ] = "",
    cas_latency: Annotated[
        int | None,
        typer.Option(
            "--measured-cas-latency",
            min=0,
            max=_MOST,
            help="Cycles that a CAS measures (`calibrate`), not those that it is set to.",
        ),
    ] = None,
    fence_latency: Annotated[
        int | None,
        typer.Option(
            "--measured-fence-latency",
            min=0,
            max=_MOST,
            help="Cycles that a full fence measures, not those that it is set to.",
        ),
    ] = None,
    cancel_latency: Annotated[
        int | None,
        typer.Option(
            min=0, max=10_000_000, help="Cycles that stopping a thread is set to, as in `run`."
        ),
    ] = None,
    owner_share: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of acquisitions by the object's first thread."),
    ] = None,
    run_length: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Acquisitions in a row by one thread.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=64, help="Threads.")] = None,
    locks: Annotated[
        str,
        typer.Option(
            help="Locks to compare, e.g. thin,tasuki/rmw; default: the main job's.",
            autocompletion=complete.several_locks,
        ),
    ] = "",
    log: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Lock events of the program: gives share, run length and threads.",
        ),
    ] = None,
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
    from sweeps.experiments.questions.question import Latencies, Use, ask, with_log
    from sweeps.model.machine import machine_named

    if form not in _FORMATS:
        raise LockcrossError(f"--format: {form!r} is unknown; allowed are {', '.join(_FORMATS)}")
    use = Use(owner_share, run_length, threads)
    if log is not None:
        from results.analysis.events import read_events
        from results.analysis.locality import pattern

        use = with_log(use, pattern(read_events(log)), log.name)
    names = [name.strip() for name in locks.split(",") if name.strip()]
    latencies = Latencies(cas_latency, fence_latency, cancel_latency)
    question = ask(machine_named(machine), isa, flavour, names, latencies, use)
    if figure is not None:
        from results.figures.questions.advice import check_format

        check_format(figure)  # before anything is run
    _show(_answer(question, db, jobs, cluster, served(no_server)), form, figure)


def _show(advice: "Advice", form: str, figure: Path | None) -> None:
    from results.report.advice_text import print_advice

    if form == "json":
        print(json.dumps(_as_json(advice), indent=1))
    else:
        print_advice(advice)
    if figure is not None:
        from results.figures.questions.advice import draw_advice

        draw_advice(advice, figure)
        print(figure, file=sys.stderr)


def _answer(question: "Question", db: Path, jobs: int, cluster: str, bounds: "Limits") -> "Advice":
    """Runs what is missing and answers."""
    from results.store.store import Store
    from sweeps.cli.progress import one_bar
    from sweeps.execution.runner import Runner
    from sweeps.experiments.questions.advise import Advisor

    with Store(db) as store, pool_of(cluster) as pool, one_bar(_USUAL) as progress:
        runner = Runner(store, jobs, progress, bounds, True, pool=pool)
        return Advisor(question, store, runner).answer()


def _as_json(advice: "Advice") -> dict[str, Any]:
    win = advice.win
    return asdict(advice) | {
        "cheapest": win.lock, "runner_up": win.runner_up, "lead": win.lead,
        "tie": list(win.tied), "tie_share": advice.tie,
    }  # fmt: skip
