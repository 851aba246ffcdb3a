"""`lockcross prove`: the locks under memory models."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

import typer

from results.errors import LockcrossError, check_known
from results.store.queries import Answer
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.cli import options
from sweeps.cli.options import Jobs, Store, names_of
from sweeps.cli.progress import Bar, first_word
from sweeps.questions.prove.assembly import herd, tables, verdicts
from sweeps.questions.prove.mutants import campaign
from sweeps.questions.prove.proofs import documents, proving
from sweeps.questions.prove.proofs.outside import Dartagnan, Genmc
from sweeps.questions.prove.proofs.own_checker import Checker
from sweeps.questions.prove.proofs.programs import known_clients, known_locks
from sweeps.questions.prove.proofs.proving import Job, Outcome, Tool
from sweeps.verdicts import OWN_CHECKER, Verdict
from sweeps.verdicts import models as memory_models

_STATES = 30_000_000  # per proof: up to 8 GiB
_SECONDS = 20


def _print(form: Form, *answers: Answer) -> None:
    """Print tables for people, where seconds, the only fractions, have one digit; for programs the
    rows of all as one."""

    def text(name: str, record: Mapping[str, object]) -> str:
        value = record[name]
        return f"{value:.1f}" if isinstance(value, float) else str(value)

    parts = [
        Rows(
            [dict(zip(answer.columns, row, strict=True)) for row in answer.rows],
            {name: partial(text, name) for name in answer.columns},
        )
        for answer in answers
    ]
    print_parts(form, *parts, fold=False)


def prove_locks(
    jobs: Sequence[Job], outcomes: list[Outcome], tool: Tool, at_once: int, seconds: int
) -> None:
    first_word(f"proofs by {tool.name}: {len(jobs)}; programs that are new are compiled first")
    with Bar() as progress:
        building = progress.add_task("building", total=len({job.program for job in jobs}))
        task = progress.add_task("proving", total=len(jobs))
        built = partial(progress.advance, building)
        for outcome in proving.prove(jobs, tool, at_once, seconds, built):
            outcomes.append(outcome)
            progress.advance(task)


def _verdict_words(outcome: Outcome) -> str:
    """Return a verdict, and for a proof that met a bound that it did."""
    verdict = outcome.proof.verdict
    bounded = verdict == Verdict.PROVED and outcome.finding.bound
    return f"{verdict} up to the bound" if bounded else verdict.value


def by_client(outcomes: Sequence[Outcome]) -> Answer:
    answer = Answer("lock client model verdict bound states seconds reason".split(), [])
    for outcome in outcomes:
        proof, refused = outcome.proof, outcome.proof.verdict == Verdict.REFUSED
        subject = proof.label, proof.client, proof.model, _verdict_words(outcome), proof.bound
        effort = ("", "") if refused else (outcome.finding.looked_at, proof.seconds)
        answer.rows.append((*subject, *effort, proof.reason))
    return answer


# A lock has the first of these verdicts that any of its clients has.
_ORDER = (Verdict.FAILED, Verdict.BOUND, Verdict.PROVED, Verdict.ASSUMED, Verdict.REFUSED)


def by_lock(outcomes: Sequence[Outcome]) -> Answer:
    """Return one row per lock and model: the result of all its clients together."""
    answer = Answer("lock model verdict clients bound states seconds reason".split(), [])
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.proof.label, outcome.proof.model), []).append(outcome)
    for subject, group in sorted(groups.items()):
        verdict = min((outcome.proof.verdict for outcome in group), key=_ORDER.index)
        same = [outcome for outcome in group if outcome.proof.verdict == verdict]
        answer.rows.append(
            (
                *subject,
                max(map(_verdict_words, same), key=len),
                f"{len(same)} of {len(group)}",
                "; ".join(sorted({outcome.proof.bound for outcome in group} - {""})),
                sum(outcome.finding.looked_at for outcome in group),
                sum((outcome.proof.seconds for outcome in group), 0.0),
                "; ".join(dict.fromkeys(filter(None, (one.proof.reason for one in same)))),
            )
        )
    return answer


def _explain(outcomes: Sequence[Outcome]) -> None:
    """Print the models; the shortest interleaving of each failure, per lock and model; how many
    there are of each verdict."""
    names = dict.fromkeys(outcome.proof.model for outcome in outcomes)
    own = memory_models().own
    print_parts(Form.TABLE, *(f"{name}: {own[name].says}" for name in names if name in own))
    failures: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if not outcome.ok:
            subject = outcome.proof.label, outcome.proof.model
            failures.setdefault(subject, []).append(outcome)
    for group in failures.values():
        shortest = min(group, key=lambda outcome: len(outcome.finding.steps) or sys.maxsize)
        steps, text = shortest.finding.steps, shortest.finding.text
        trace = interleaving(steps) if steps else text
        print_parts(Form.TABLE, f"\n{shortest.job}: {shortest.proof.reason}", trace, fold=False)
    counts = Counter(map(_verdict_words, outcomes))
    order = list(Verdict)
    words = sorted(counts, key=lambda words: (order.index(Verdict(words.split()[0])), words))
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in words), file=sys.stderr)


_COLUMNS = {"line": "place", "buffered": "buffer"}  # what the checker calls otherwise


def interleaving(steps: Sequence[Mapping[str, object]]) -> Rows:
    """Return a counterexample, step by step. Values in a buffer are not yet visible to others."""
    heads = "thread line function access object value buffered".split()
    rows = [{head: str(step[_COLUMNS.get(head, head)]) for head in heads} for step in steps]
    return Rows([{"": str(number), **row} for number, row in enumerate(rows, 1)])


def prove_assembly(isas: Sequence[str], store: bool, jobs: int, form: Form) -> bool:
    """Ask herd7 about instruction sets (none: all), print the shown orders of each primitive, and
    say whether every promise is shown that an architecture gives.

    Raises LockcrossError (1) where herd7 is missing, (2) for an unknown instruction set.
    """
    herd7 = herd.find_herd()
    first_word("asking herd7 of each primitive")
    questions = {name: verdicts.questions(name) for name in verdicts.flavours_of(isas)}
    rows: list[verdicts.AssemblyRow] = []
    with Bar() as progress:
        task = progress.add_task("litmus tests", total=sum(map(len, questions.values())))
        tell = partial(progress.advance, task)
        for flavour in questions:
            rows += verdicts.verdicts(herd7, flavour, jobs or 2, tell)
    if store:
        verdicts.write_rows(verdicts.merged(verdicts.read_rows(), rows), verdicts.STORED)
    primitives, pairs = list(tables.primitives_shown(rows)), list(tables.pairs_shown(rows))
    of_primitives = Answer("primitive flavour fence instructions promised shown".split(), [])
    for primitive in primitives:
        code = primitive.code
        subject = code.primitive, code.flavour, code.fence, code.instructions, code.promise
        of_primitives.rows.append((*subject, primitive.words))
    of_locks = Answer("lock flavour fence promised shown".split(), [])
    for pair in pairs:
        shown = ", ".join(f"{verdict} by {model}" for model, verdict in pair.verdicts)
        of_locks.rows.append((pair.lock, pair.flavour, pair.fence, pair.says, shown))
    _print(form, of_primitives, of_locks)
    fences = [primitive.code.fence for primitive in primitives if primitive.missing]
    fences += [pair.fence for pair in pairs if not pair.holds]
    wrong = sum(map(tables.architectural, fences))
    print(
        f"{len(primitives)} primitives and {len(pairs)} pairs of threads, by flavour and fence "
        f"kind; {wrong} promises not shown",
        file=sys.stderr,
    )
    return not wrong


def judge_mutants(locks: Sequence[str], deep: bool, store: bool, at_once: int, form: Form) -> bool:
    """Judge the mutants that no earlier run has judged, and print all; tell whether all survivors
    are explained."""
    wanted = [lock.name for lock in known_locks(locks)] if locks else []
    first_word("looking for mutants that no stored verdict is of")
    judged = campaign.Campaign(wanted, deep)
    with Bar() as progress:
        judging = progress.add_task("mutants", total=len(judged.missing))
        for _ in judged.run(at_once):
            progress.advance(judging)
    if store:
        judged.store()
    rows = judged.rows()
    if form != Form.TABLE:
        _print(form, campaign.by_mutant(rows))
    else:
        printed = rows if locks else [row for row in rows if row.reason]
        _print(form, campaign.by_mutant(printed), campaign.summary(rows))
    survivors = [row.mutant for row in rows if row.verdict == campaign.Verdict.SURVIVES]
    if survivors:
        print(f"unexplained: {', '.join(survivors)}", file=sys.stderr)
    return not survivors


_Names = list[str] | None


def prove(
    locks: Annotated[
        _Names, options.argument("Locks; default: all.", options.locks, "[LOCK]...")
    ] = None,
    models: Annotated[_Names, options.several("--models", "Memory models")] = None,
    clients: Annotated[_Names, options.several("--clients", "Clients")] = None,
    tool: Annotated[
        str,
        typer.Option(
            "--checker", "--with", help="lockcross, which needs nothing; genmc; dartagnan."
        ),
    ] = OWN_CHECKER,
    deep: Annotated[bool, typer.Option("--deep", help="Larger clients too.")] = False,
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants", help="Weaken orders, change steps: what do proofs and tests catch?"
        ),
    ] = False,
    seconds: Annotated[
        int, typer.Option(min=1, max=100_000, help="CPU time of a proof.")
    ] = _SECONDS,
    states: Annotated[
        int,
        typer.Option(
            min=1000, max=4_000_000_000, help="States of a proof; a million take up to 0.25 GiB."
        ),
    ] = _STATES,
    assembly: Annotated[
        bool, typer.Option("--assembly", help="The primitives' instructions instead, by herd7.")
    ] = False,
    isas: Annotated[_Names, options.several_of_isas()] = None,
    store: Store = False,
    jobs: Jobs = 0,
    form: Format = Form.TABLE,
) -> None:
    """Prove the locks under memory models: exclusion, no race, no lost update, no lost wake-up.

    Exits with 1 when a proof fails; then it shows the shortest interleaving. With --mutants, when a
    mutant survives that nobody has explained.
    """
    models, clients = names_of(models, "--models"), names_of(clients, "--clients")
    isas = names_of(isas, "--isas")
    at_once = jobs or len(os.sched_getaffinity(0))
    given = {
        "LOCK": locks,
        "--models": models,
        "--clients": clients,
        "--checker": tool != OWN_CHECKER,
        "--deep": deep,
        "--mutants": mutants,
        "--seconds": seconds != _SECONDS,
        "--states": states != _STATES,
    }
    for option, chosen, read in (
        ("--assembly", assembly, ()),
        ("--mutants", mutants, ("LOCK", "--deep", "--mutants")),
    ):
        unread = (name for name, value in given.items() if value and name not in read)
        if chosen and (name := next(unread, "")):
            raise LockcrossError(f"{name}: says nothing beside {option}; leave one of them out")
    if isas and not assembly:
        raise LockcrossError("--isas: is of --assembly; give both, or neither")
    if assembly:
        fine = prove_assembly(isas or (), store, jobs, form)
    elif mutants:
        fine = judge_mutants(locks or (), deep, store, at_once, form)
    else:
        tools: tuple[Tool, ...] = (Checker(at_once, states), Genmc(), Dartagnan())
        known = {known.name: known for known in tools}
        check_known("tool", [tool], known)
        if states != _STATES and tool != OWN_CHECKER:
            raise LockcrossError(f"--states: {tool} counts none; leave it out")
        wanted = known_locks(locks), known_clients(clients)
        planned, outcomes = proving.plan(*wanted, known[tool], deep, models or ())
        known[tool].version()  # says what is missing, before anything is built
        try:
            prove_locks(planned, outcomes, known[tool], at_once, seconds)
        finally:  # also of what was interrupted
            if store:
                documents.store(outcome.proof for outcome in outcomes)
        in_short = form == Form.TABLE and not (locks or clients)
        _print(form, (by_lock if in_short else by_client)(outcomes))
        if form == Form.TABLE:
            _explain(outcomes)
        fine = all(outcome.ok for outcome in outcomes)
    if not fine:
        raise typer.Exit(1)
