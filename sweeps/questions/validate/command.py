"""`lockcross validate`: one engine against another."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from results.paths import DATABASE
from results.text.rows import Form, Format, print_parts
from sweeps.cli import options
from sweeps.cli.options import (
    ClusterFile,
    Database,
    Jobs,
    NoServer,
    Seeds,
    names_of,
    pool_of,
    served,
)

if TYPE_CHECKING:
    from sweeps.questions.validate.jvm.definition import JvmDefinition


def validate(  # noqa: PLR0913, PLR0917 its options are its arguments
    against: Annotated[
        str,
        options.option(
            "A definition in sweeps/plans/validations; default: the first.", options.validations
        ),
    ] = "",
    subsets: Annotated[
        list[str] | None,
        options.several("--subsets", "Sets of the definition, or a JVM's programs"),
    ] = None,
    latencies: Annotated[
        bool,
        typer.Option(
            help="Also measure set latencies, and compare the methods of finding the region."
        ),
    ] = True,
    machine: Annotated[
        str,
        options.machine("against the host the latest that describes it"),
    ] = "",
    errors: Annotated[
        bool,
        typer.Option(
            "--errors",
            help="Run nothing: count how far the engine was off in the reference results, and in "
            "the database of --db, and keep that as results/reference/errors.csv.",
        ),
    ] = False,
    seeds: Seeds = 1,
    jobs: Jobs = 0,
    no_server: NoServer = False,
    cluster: ClusterFile = "",
    form: Format = Form.TABLE,
    db: Database = DATABASE,
) -> None:
    """Compare an engine with a reference engine, side by side; needs both.

    `--against jvm` compares what `advise` says of Java programs with the JVM of this host.

    Exits with 1 when a bar is missed that the definition does not know to be.
    """
    if errors:
        from results.paths import REFERENCE
        from sweeps.questions.validate.errors import count_stored
        from sweeps.questions.validate.table import error_rows
        from sweeps.search.errors import STORED, keep

        beside = [] if db == DATABASE else [db]
        rows, left_out = count_stored([*sorted(REFERENCE.glob("*.db")), *beside])
        keep(rows)
        print_parts(form, error_rows(rows))
        for reason, cells in left_out.items():
            print(f"left out, {cells} cells: {reason}", file=sys.stderr)
        print(f"kept in {STORED}", file=sys.stderr)
        return
    from results.store.store import Store
    from sweeps.cli.progress import Bar
    from sweeps.engines.base import load_engine
    from sweeps.plans import VALIDATIONS
    from sweeps.questions.validate import validate as validation
    from sweeps.questions.validate.jvm.definition import JvmDefinition
    from sweeps.questions.validate.table import newly_missed, validation_parts
    from sweeps.run.runner import Runner

    wanted = names_of(subsets, "--subsets")
    definition = validation.load_validation(against or VALIDATIONS.names()[0])
    if isinstance(definition, JvmDefinition):
        _against_jvm(definition, wanted, machine, seeds, form, db)
        return
    chosen = validation.chosen_sets(definition, wanted)
    for judged in chosen:  # reports a missing engine before it creates a database
        for cell in validation.cells_of(judged, machine, seeds):
            load_engine(cell.engine).version(cell.isa)
    if described := validation.host_machine((one.reference for one in chosen), machine):
        print(f"machine {described} describes this host", file=sys.stderr)
    with Store(db) as store:
        with pool_of(cluster) as pool, Bar() as progress:
            runner = Runner(store, jobs, progress, served(no_server), True, pool=pool)
            validation.run(definition, chosen, store, runner, machine, seeds, latencies)
        print_parts(form, *validation_parts(store.connection))
        missed = newly_missed(store.connection, {judged.name for judged in chosen}, latencies)
    for what in missed:
        print(f"newly missed: {what}", file=sys.stderr)
    if missed:
        raise typer.Exit(1)


def _against_jvm(
    definition: "JvmDefinition",
    wanted: Sequence[str],
    machine: str,
    repeats: int,
    form: Form,
    db: Path,
) -> None:
    from sweeps.questions.validate.jvm.definition import chosen_programs
    from sweeps.questions.validate.jvm.run import validate as hold
    from sweeps.questions.validate.jvm.table import newly_missed, parts
    from sweeps.questions.validate.validate import host_machine

    programs = chosen_programs(definition, wanted)
    described = host_machine([definition.host], machine)
    print(f"machine {described} describes this host", file=sys.stderr)
    outcome = hold(definition, programs, described, repeats, db)
    print_parts(form, *parts(definition, outcome.held, outcome.left_out), fold=False)
    missed = [
        f"{one.title}: {bar}" for one in outcome.held for bar in newly_missed(definition, one)
    ]
    for what in missed:
        print(f"newly missed: {what}", file=sys.stderr)
    for title, why in outcome.failed.items():
        print(f"failed: {title}: {why}", file=sys.stderr)
    if missed or outcome.failed:
        raise typer.Exit(1)
