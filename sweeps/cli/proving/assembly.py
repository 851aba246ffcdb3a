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
        found, locks = run.prove_assembly(isas, jobs or 2, store, lambda: progress.advance(task))
    table = Table("primitive", "flavour", "fence", "instructions", "promised", "shown", box=None)
    for one in found:
        table.add_row(
            one.primitive, one.flavour, one.fence, one.instructions, one.promise, said(one)
        )
    pairs = Table("lock", "flavour", "fence", "promised", "shown", box=None)
    for pair in locks:
        verdicts = ", ".join(f"{verdict} by {model}" for model, verdict in pair.verdicts)
        pairs.add_row(pair.lock, pair.flavour, pair.fence, pair.says, verdicts)
    with printer(form, fold=False) as out:
        out.print(table)
        out.print(pairs)
    wrong = sum(bool(one.missing and architectural(one.fence)) for one in found)
    wrong += sum(not pair.holds and architectural(pair.fence) for pair in locks)
    print(
        f"{len(found)} primitives and {len(locks)} pairs of threads, by flavour and fence kind; "
        f"{wrong} promises not shown",
        file=sys.stderr,
    )
    return not wrong
