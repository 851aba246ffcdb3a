"""A validation against the JVM of the host, by program: measured, recorded, predicted, stored."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.engines.base import load_engine
from sweeps.model.isa import host_isa
from sweeps.model.machine import load_machine
from sweeps.questions.validate.jvm.answer import (
    HELD,
    Difference,
    Held,
    measured_difference,
    predicted_difference,
)
from sweeps.questions.validate.jvm.definition import JvmDefinition, Program
from sweeps.questions.validate.jvm.measure import Bench, Times
from sweeps.questions.validate.jvm.modes import find_jvm
from sweeps.questions.validate.jvm.predict import advise, record
from sweeps.questions.validate.jvm.programs import build
from sweeps.search.calibrate import store_machines


@dataclass
class Outcome:
    """What came of the programs. `left_out`: why some cannot be run here; `failed`: why some that
    can did not end well; both by the program's title."""

    held: list[Held] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def validate(
    definition: JvmDefinition, programs: Sequence[Program], machine: str, repeats: int, db: Path
) -> Outcome:
    """Holds each program to the host's JVM, and keeps it in the database as soon as it is known.
    `machine`: that describes the host.

    Raises LockcrossError without a JVM that has two modes, or a JDK.
    """
    jvm = find_jvm(definition)
    built = build(libraries=any(program.libraries for program in programs))
    _say(f"{jvm.version}: {jvm.modes.first.title} and {jvm.modes.second.title}")
    outcome = Outcome()
    bench = Bench(definition, jvm, built, repeats)
    for program in programs:
        if program.libraries and built.without:
            outcome.left_out[program.title] = built.without
            continue
        try:
            one = _hold(bench, program, machine, db)
        except LockcrossError as error:
            if error.exit_code != 1:
                raise
            outcome.failed[program.title] = error.message
            continue
        with Store(db) as store:
            HELD.of(f"{one.flag}/{one.program}").write(store, one)
            store_machines(store, [machine])
        outcome.held.append(one)
    return outcome


def _hold(bench: Bench, program: Program, machine: str, db: Path) -> Held:
    definition, jvm, modes = bench.definition, bench.jvm, bench.jvm.modes
    locks = (modes.first.lock, modes.second.lock)
    with TemporaryDirectory(prefix="lockcross-jvm-", dir=bench.built.folder) as folder:
        log = Path(folder, f"{program.name}.locks")
        _say(f"{program.name}: records it")
        recorded = record(program, jvm, bench.built, log)
        _say(f"{program.name}: {recorded.acquisitions:,} acquisitions; asks what they cost")
        advice = advise(log, machine, locks, db)
    measured = bench.measure(program, _say)

    def difference(times: Times) -> Difference:
        first, second = (times[mode.title] for mode in (modes.first, modes.second))
        return measured_difference(first, second, recorded.acquisitions)

    return Held(
        program=program.name,
        title=program.title,
        flag=modes.flag,
        first=modes.first.title,
        second=modes.second.title,
        options={mode.title: mode.options for mode in (modes.first, modes.second)},
        java=jvm.version,
        processor=load_engine(definition.host).version(host_isa()),
        machine=machine,
        measured_on=datetime.now(UTC).date().isoformat(),
        acquisitions=recorded.acquisitions,
        threads=recorded.threads,
        seconds=measured.usual,
        kept_seconds=measured.kept,
        measured=difference(measured.usual),
        kept=difference(measured.kept),
        predicted=predicted_difference(advice, locks, load_machine(machine).clock_mhz.number),
        magnitude=definition.magnitude,
    )


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
