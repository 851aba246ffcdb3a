"""`lockcross prove --assembly`: the primitives' instructions under the architectures' models."""

import sys
from collections.abc import Sequence

from rich.table import Table

from sweeps.cli.reading.rows import Form, printer


def prove_assembly(isas: Sequence[str], store: bool, jobs: int, form: Form) -> bool:
    """Asks herd7, prints what is shown of each primitive, and says whether every promise is shown
    that an architecture gives."""
    from sweeps.cli.progress import Bar
    from sweeps.proofs.assembly import run
    from sweeps.proofs.assembly.shown import architectural, said

    with Bar() as progress:
        task = progress.add_task("litmus tests", total=run.count(isas))
        found = run.prove_assembly(isas, jobs or 2, store, lambda: progress.advance(task))
    table = Table("primitive", "flavour", "fence", "instructions", "promised", "shown", box=None)
    for one in found:
        table.add_row(
            one.primitive, one.flavour, one.fence, one.instructions, one.promise, said(one)
        )
    with printer(form, fold=False) as out:
        out.print(table)
    wrong = [one for one in found if one.missing and architectural(one)]
    print(
        f"{len(found)} primitives by flavour and fence kind; {len(wrong)} promises not shown",
        file=sys.stderr,
    )
    return not wrong
