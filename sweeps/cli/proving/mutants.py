"""`lockcross prove --mutants`: what is caught when an order is weakened or a step left out."""

import sys
from collections.abc import Sequence

from sweeps.cli.reading.rows import Form, printer


def judge_mutants(locks: Sequence[str], deep: bool, store: bool, jobs: int, form: Form) -> bool:
    """Judges what no earlier run has judged, and prints all; whether all that survives is
    explained."""
    from sweeps.cli.progress import Bar
    from sweeps.proofs.mutants import tables
    from sweeps.proofs.mutants.campaign import Campaign
    from sweeps.proofs.mutants.store import Verdict
    from sweeps.proofs.programs import known_locks
    from sweeps.proofs.proving import cpus

    campaign = Campaign([lock.name for lock in known_locks(locks)] if locks else [], deep)
    with Bar() as progress:
        judging = progress.add_task("mutants", total=len(campaign.missing))
        for _ in campaign.run(jobs or cpus()):
            progress.advance(judging)
    if store:
        campaign.store()
    rows = campaign.rows()
    every = locks or form != Form.TABLE
    with printer(form, fold=False) as out:
        out.print(tables.by_mutant(rows if every else [row for row in rows if row.reason]))
        if form == Form.TABLE:
            out.print(tables.summary(rows))
    survivors = [row.mutant for row in rows if row.verdict == Verdict.SURVIVES]
    if survivors:
        print(f"unexplained: {', '.join(survivors)}", file=sys.stderr)
    return not survivors
