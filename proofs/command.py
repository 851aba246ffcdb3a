"""`lockcross prove`: the locks under memory models."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

import typer

from proofs import proving, stored
from proofs.assembly import shown, verdicts
from proofs.assembly.verdicts import find_herd
from proofs.mutants import campaign
from proofs.outside import Dartagnan, Genmc
from proofs.own_checker import Checker
from proofs.programs import known_locks, named
from proofs.proving import Job, Outcome, Tool
from proofs.stored import Verdict
from proofs.stored import models as memory_models
from results.errors import LockcrossError
from results.store.queries import Answer
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.cli import options
from sweeps.cli.options import Jobs, Store, names_of
from sweeps.cli.progress import Bar, first_word

_STATES = 30_000_000  # of a proof: up to 8 GiB
_SECONDS = 20


def _show(form: Form, *answers: Answer) -> None:
    """Tables for people, where seconds, the only fractions, have one digit; for programs the rows
    of all as one."""

    def shown(name: str, record: Mapping[str, object]) -> str:
        value = record[name]
        return f"{value:.1f}" if isinstance(value, float) else str(value)

    tables = [
        Rows(
            [dict(zip(answer.columns, row, strict=True)) for row in answer.rows],
            {name: partial(shown, name) for name in answer.columns},
        )
        for answer in answers
    ]
    print_parts(form, *tables, fold=False)


def prove_locks(
    jobs: Sequence[Job], outcomes: list[Outcome], tool: Tool, at_once: int, seconds: int
) -> None:
    """Makes proofs, and adds what comes of each to the outcomes."""
    first_word(f"proofs by {tool.name}: {len(jobs)}; programs that are new are compiled first")
    with Bar() as progress:
        building = progress.add_task("building", total=len({job.program for job in jobs}))
        task = progress.add_task("proving", total=len(jobs))
        built = partial(progress.advance, building)
        for outcome in proving.prove(jobs, tool, at_once, seconds, built):
            outcomes.append(outcome)
            progress.advance(task)


def _verdict(one: Outcome) -> str:
    """A verdict, and of a proof that met a bound that it does."""
    bounded = one.proof.verdict == Verdict.PROVED and one.found.bound
    return f"{one.proof.verdict} up to the bound" if bounded else one.proof.verdict.value


def by_client(outcomes: Sequence[Outcome]) -> Answer:
    """A row for each proof."""
    answer = Answer("lock client model verdict bound states seconds reason".split(), [])
    for one in outcomes:
        proof, refused = one.proof, one.proof.verdict == Verdict.REFUSED
        what = (proof.label, proof.client, proof.model, _verdict(one), proof.bound)
        ran = ("", "") if refused else (one.found.states or one.found.executions, proof.seconds)
        answer.rows.append((*what, *ran, proof.reason))
    return answer


# What is told of a lock: the first of these that any of its clients has.
_ORDER = (Verdict.FAILED, Verdict.BOUND, Verdict.PROVED, Verdict.ASSUMED, Verdict.REFUSED)


def by_lock(outcomes: Sequence[Outcome]) -> Answer:
    """A row for each lock and model: what came of all its clients together."""
    answer = Answer("lock model verdict clients bound states seconds reason".split(), [])
    places: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        places.setdefault((outcome.proof.label, outcome.proof.model), []).append(outcome)
    for place, of_place in sorted(places.items()):
        proofs = [one.proof for one in of_place]
        verdict = min((one.verdict for one in proofs), key=_ORDER.index)
        same = [one for one in proofs if one.verdict == verdict]
        words = {_verdict(one) for one in of_place if one.proof.verdict == verdict}
        answer.rows.append(
            (
                *place,
                max(words, key=len),
                f"{len(same)} of {len(proofs)}",
                "; ".join(sorted({proof.bound for proof in proofs if proof.bound})),
                sum(outcome.found.states or outcome.found.executions for outcome in of_place),
                sum((proof.seconds for proof in proofs), 0.0),
                "; ".join(dict.fromkeys(proof.reason for proof in same if proof.reason)),
            )
        )
    return answer


def _place(words: str) -> tuple[int, str]:
    """Where a verdict stands in the line of how many there are."""
    return list(Verdict).index(Verdict(words.split(maxsplit=1)[0])), words


def _explain(outcomes: Sequence[Outcome]) -> None:
    """What the models are; of what failed, for each lock and model the shortest interleaving; how
    many there are of each verdict."""
    names = dict.fromkeys(outcome.proof.model for outcome in outcomes)
    own = memory_models().own
    print_parts(Form.TABLE, *(f"{name}: {own[name].says}" for name in names if name in own))
    shortest: dict[tuple[str, str], tuple[int, Outcome]] = {}
    for one in outcomes:
        place, steps = (one.proof.label, one.proof.model), len(one.found.steps) or sys.maxsize
        if not one.ok and (place not in shortest or steps < shortest[place][0]):
            shortest[place] = steps, one
    for _, one in shortest.values():
        said = interleaving(one.found.steps) if one.found.steps else one.found.text
        print_parts(Form.TABLE, f"\n{one.job.words}: {one.proof.reason}", said, fold=False)
    ends = Counter(map(_verdict, outcomes))
    print(", ".join(f"{ends[one]} {one}" for one in sorted(ends, key=_place)), file=sys.stderr)


_COLUMNS = {"line": "place", "buffered": "buffer"}  # what the checker calls otherwise


def interleaving(steps: Sequence[Mapping[str, object]]) -> Rows:
    """A counterexample, step by step. What is in a buffer has not become visible to others."""
    heads = "thread line function access object value buffered".split()
    rows = [{head: str(step[_COLUMNS.get(head, head)]) for head in heads} for step in steps]
    return Rows([{"": str(number), **row} for number, row in enumerate(rows, 1)])


def prove_assembly(isas: Sequence[str], store: bool, jobs: int, form: Form) -> bool:
    """Asks herd7 of instruction sets (none: all), prints what is shown of each primitive, and says
    whether every promise is shown that an architecture gives.

    Raises LockcrossError (1) where herd7 is missing, (2) for an unknown instruction set.
    """
    herd = find_herd()
    first_word("asking herd7 of each primitive")
    asked = {name: verdicts.questions(name) for name in verdicts.flavours_of(isas)}
    rows: list[verdicts.Row] = []
    with Bar() as progress:
        task = progress.add_task("litmus tests", total=sum(map(len, asked.values())))
        tell = partial(progress.advance, task)
        for flavour, questions in asked.items():
            rows += verdicts.verdicts(herd, flavour, questions, jobs or 2, tell)
    if store:
        verdicts.write_rows(verdicts.merged(verdicts.read_rows(), rows), verdicts.STORED)
    primitives, locks = list(shown.shown(rows)), list(shown.shown_locks(rows))
    of_primitives = Answer("primitive flavour fence instructions promised shown".split(), [])
    for primitive in primitives:
        code = primitive.code
        what = code.primitive, code.flavour, code.fence, code.instructions, code.promise
        of_primitives.rows.append((*what, shown.said(primitive)))
    of_locks = Answer("lock flavour fence promised shown".split(), [])
    for pair in locks:
        by = ", ".join(f"{verdict} by {model}" for model, verdict in pair.verdicts)
        of_locks.rows.append((pair.lock, pair.flavour, pair.fence, pair.says, by))
    _show(form, of_primitives, of_locks)
    wrong = sum(
        bool(primitive.missing and shown.architectural(primitive.code.fence))
        for primitive in primitives
    )
    wrong += sum(not pair.holds and shown.architectural(pair.fence) for pair in locks)
    print(
        f"{len(primitives)} primitives and {len(locks)} pairs of threads, by flavour and fence "
        f"kind; {wrong} promises not shown",
        file=sys.stderr,
    )
    return not wrong


def judge_mutants(locks: Sequence[str], deep: bool, store: bool, at_once: int, form: Form) -> bool:
    """Judges what no earlier run has judged, and prints all; whether all that survives is
    explained."""
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
        _show(form, campaign.by_mutant(rows))
    else:
        told = rows if locks else [row for row in rows if row.reason]
        _show(form, campaign.by_mutant(told), campaign.summary(rows))
    survivors = [row.mutant for row in rows if row.verdict == campaign.Verdict.SURVIVES]
    if survivors:
        print(f"unexplained: {', '.join(survivors)}", file=sys.stderr)
    return not survivors


_Names = list[str] | None


def _refuse_what_is_not_read(
    chosen: Mapping[str, bool], given: Mapping[str, tuple[object, str]]
) -> None:
    """Refuses what says something (and the options beside which it would not be read)."""
    for name, (value, needless) in given.items():
        for option in needless.split():
            if value and chosen[option]:
                raise LockcrossError(f"{name}: says nothing beside {option}; leave one of them out")


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
    ] = stored.OWN_CHECKER,
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
    _refuse_what_is_not_read(
        {"--assembly": assembly, "--mutants": mutants},
        {
            "LOCK": (locks, "--assembly"),
            "--models": (models, "--assembly --mutants"),
            "--clients": (clients, "--assembly --mutants"),
            "--checker": (tool != stored.OWN_CHECKER, "--assembly --mutants"),
            "--deep": (deep, "--assembly"),
            "--mutants": (mutants, "--assembly"),
            "--seconds": (seconds != _SECONDS, "--assembly --mutants"),
            "--states": (states != _STATES, "--assembly --mutants"),
        },
    )
    if isas and not assembly:
        raise LockcrossError("--isas: is of --assembly; give both, or neither")
    if assembly:
        fine = prove_assembly(isas or (), store, jobs, form)
    elif mutants:
        fine = judge_mutants(locks or (), deep, store, at_once, form)
    else:
        tools: tuple[Tool, ...] = (Checker(at_once, states), Genmc(), Dartagnan())
        chosen = next((candidate for candidate in tools if candidate.name == tool), None)
        if chosen is None:
            known = ", ".join(candidate.name for candidate in tools)
            raise LockcrossError(f"tool {tool!r} is unknown; known are {known}")
        if states != _STATES and tool != stored.OWN_CHECKER:
            raise LockcrossError(f"--states: {tool} counts none; leave it out")
        wanted = known_locks(locks), list(named(clients))
        planned, outcomes = proving.plan(*wanted, chosen, deep, models or ())
        chosen.version()  # says what is missing, before anything is built
        try:
            prove_locks(planned, outcomes, chosen, at_once, seconds)
        finally:  # also of what was interrupted
            if store:
                stored.store(outcome.proof for outcome in outcomes)
        in_short = form == Form.TABLE and not (locks or clients)
        _show(form, (by_lock if in_short else by_client)(outcomes))
        if form == Form.TABLE:
            _explain(outcomes)
        fine = all(outcome.ok for outcome in outcomes)
    if not fine:
        raise typer.Exit(1)
