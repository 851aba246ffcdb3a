"""`lockcross validate`: one engine against another."""

import sys
from typing import Annotated

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


def validate(  # noqa: PLR0913, PLR0917 its options are its arguments
    against: Annotated[
        str,
        options.option(
            "A definition in sweeps/plans/validations; default: the first.", options.validations
        ),
    ] = "",
    subsets: Annotated[
        list[str] | None,
        options.several("--subsets", "Sets of the definition"),
    ] = None,
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

    Exits with 1 when a bar is missed that the definition does not know to be.
    """
    if errors:
        from results.paths import REFERENCE
        from sweeps.accuracy.errors import PUBLISHED, STORED, keep, read_rows
        from sweeps.questions.validate.errors import count_stored
        from sweeps.questions.validate.table import error_rows

        beside = [] if db == DATABASE else [db]
        rows, left_out = count_stored([*sorted(REFERENCE.glob("*.db")), *beside])
        keep([*rows, *(row for row in read_rows() if row.reference == PUBLISHED)])
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
    from sweeps.questions.validate.table import newly_missed, validation_parts
    from sweeps.run.runner import Runner

    wanted = names_of(subsets, "--subsets")
    definition = validation.load_validation(against or VALIDATIONS.names()[0])
    chosen = validation.chosen_sets(definition, wanted)
    for judged in chosen:  # reports a missing engine before it creates a database
        for cell in validation.cells_of(judged, machine, seeds):
            load_engine(cell.engine).version(cell.isa)
    if described := validation.host_machine((one.reference for one in chosen), machine):
        print(f"machine {described} describes this host", file=sys.stderr)
    with Store(db) as store:
        with pool_of(cluster) as pool, Bar() as progress:
            runner = Runner(store, jobs, progress, served(no_server), True, pool=pool)
            validation.run(definition, chosen, store, runner, machine, seeds)
        print_parts(form, *validation_parts(store.connection))
        missed = newly_missed(store.connection, {judged.name for judged in chosen})
    for what in missed:
        print(f"newly missed: {what}", file=sys.stderr)
    if missed:
        raise typer.Exit(1)
