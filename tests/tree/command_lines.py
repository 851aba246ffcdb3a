"""Command lines and files drawn at random: none may end in an internal error, and a number that is
none must be refused.

    ./lockcross python -m tests.tree.command_lines 10000 [SEED]
"""

import contextlib
import io
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
import typer

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.cli.main import main, make_app
from sweeps.questions.advise.question import GIVEN, Question
from sweeps.questions.advise.use import Use
from tests.fakes.study import study
from tests.lock_logs.test_locality import pair, write

# What they do beside reading their options needs minutes, a network or the user's own program.
LEFT_OUT = {"test", "check", "python", "bench", "doctor"}
SLOW_S = 60  # that a line may take before it counts as one that hangs
NUMBERS = [
    *"0 1 2 3 7 10 64 100 1000 65536 4294967295 4294967296 18446744073709551616 -1 -0 0.0".split(),
    *"-0.0 0.5 0.9 1.0 1.5 1e3 1e-9 1e-320 1e400 nan -nan inf -inf infinity 0x10 1_000 +5".split(),
    *".5 5. 1,5 1e 99999 1; None \u0663 \u00bd \udcff".split(),
    *["", " ", " 5 ", "9" * 30, "9" * 5000],
]
WORDS = [
    *"all none host native qemu gem5 sst generic zen4 thin tasuki tasuki/rmw tasuki:none".split(),
    *"x86_64 aarch64 lse lock full rmw store_forward lock_sequence sync micro threads".split(),
    *"winners costs iterations=50 iterations=-1 owner_share=0.5 owner_share=2 op=none".split(),
    *", ,, thin,tasuki thin, = a=b - -- --x .. ../.. * % {} [] \\ ' table csv json xml".split(),
    *["", " ", "ä" * 40, "x" * 5000, "\x1b[31m", "\n", "\udcff", "SELECT 1", "1 = 1", "a b"],
]
VALUES = [*NUMBERS, *WORDS, "true", "[]", "{}", "{ value = 1 }", '"x"', "[1]"]


class StoppedError(LockcrossError):
    """Here a command would begin to run, draw or measure."""


def stopped(*_: object, **__: object) -> None:
    raise StoppedError("would go on", 1)


def answered(question: Question, *_: object) -> None:
    """Stand in for the answerer of a question."""
    ASKED.append(question)
    stopped()


# What `advise` is given in terms of others, and the latency that no lock of the question may pay.
LEFT_TO_OTHERS = {"locks_per_second", "log", "fence_latency", "cancel_latency"}
PLACES = (
    "sweeps.run.runner.Runner._run_all",
    "sweeps.programs.Builder.build",
    "results.draw.painter.write",
    "results.extras.Extra.install",
    "sweeps.questions.measure.command.measurer",
    "sweeps.questions.record.command._run",
    "sweeps.questions.record.jvm.recorded",
    "sweeps.questions.prove.proofs.documents.store",
    "sweeps.questions.prove.command.prove_locks",
    "sweeps.questions.prove.command.prove_assembly",
    "sweeps.questions.prove.command.judge_mutants",
    "sweeps.run.cluster.session.Session.start",
)


class Pool:
    """Files to be named, whole ones and broken ones."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.folder, self.random = folder, random
        (folder / "folder").mkdir()
        (folder / "empty").touch()
        (folder / "bytes").write_bytes(random.randbytes(5000))
        (folder / "text").write_text("hello\n")
        study(folder / "whole.db")
        write(folder / "events.locks", pair(0, 30) + pair(1, 5) + pair(0, 9, 2))
        kinds = ("machines", "plans", "plans/*", "clusters")
        sweeps = ROOT / "sweeps"
        self.documents = [path for one in kinds for path in sorted(sweeps.glob(f"{one}/*.toml"))]

    def file(self) -> str:
        """A path: of a file that is whole, broken, of another kind, or not there."""
        draw = self.random
        kind = draw.randrange(8)
        if kind == 0:
            return str(self.folder / draw.choice(["none", "folder", "empty", "bytes", "text"]))
        if kind == 1:
            return draw.choice(WORDS)
        if kind == 2:
            return str(self.folder / f"new{draw.randrange(9)}.{draw.choice(['csv', 'png', 'x'])}")
        if kind == 3:
            return self._broken(draw.choice(["whole.db", "events.locks"]))
        if kind == 4:
            return str(self.folder / draw.choice(["whole.db", "events.locks"]))
        return self.document()

    def document(self) -> str:
        """A document of the tree with some lines changed, in a file of its own."""
        draw = self.random
        source = draw.choice(self.documents)
        lines = source.read_text(encoding="utf-8").splitlines()
        for _ in range(draw.choice([0, 1, 1, 2, 5])):
            at = draw.randrange(len(lines))
            name, equals, _ = lines[at].partition(" = ")
            changed = [f"{name}{equals}{draw.choice(VALUES)}", f'{name}{equals}"x"', f"[{name}]"]
            lines[at] = draw.choice([*changed, "", lines[at - 1]])
        path = self.folder / f"{source.stem}{draw.randrange(4)}.toml"
        path.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
        return str(path)

    def _broken(self, name: str) -> str:
        data = bytearray((self.folder / name).read_bytes())
        for _ in range(self.random.choice([1, 3, 50])):
            data[self.random.randrange(len(data))] = self.random.randrange(256)
        del data[self.random.choice([len(data), self.random.randrange(len(data))]) :]
        path = self.folder / f"broken-{name}"
        path.write_bytes(data)
        return str(path)


def lines(pool: Pool) -> Iterator[list[str]]:
    """Command lines without end."""
    app: Any = typer.main.get_command(make_app())
    commands = {name: app.commands[name] for name in app.commands if name not in LEFT_OUT}
    draw = pool.random
    while True:
        weights = [1 + len(getattr(command, "params", "")) for command in commands.values()]
        name, often = draw.choices([*commands], weights)[0], draw.choice([0.02, 0.1, 0.3])
        command, words = commands[name], [name]
        while hasattr(command, "commands"):
            name = draw.choice([*command.commands])
            command, words = command.commands[name], [*words, name]
        for parameter in command.params:
            option = parameter.param_type_name == "option"
            if parameter.name == "db" or (draw.random() < (often if option else 0.9)):
                words += _given(parameter, pool) if option else _argument(parameter, pool)
        if draw.random() < 0.1:
            words.insert(draw.randrange(len(words) + 1), draw.choice(WORDS))
        yield words


def _given(option: Any, pool: Pool) -> list[str]:
    flag = pool.random.choice([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return [flag]
    value = str(pool.folder / "whole.db")
    if option.name != "db" or pool.random.random() < 0.3:
        value = _value(option, pool)
    return [f"{flag}={value}"] if flag.startswith("--") else [flag, value]


def _argument(argument: Any, pool: Pool) -> list[str]:
    count = pool.random.randrange(1, 4) if argument.nargs != 1 else 1
    return [_value(argument, pool) for _ in range(count)]


def _value(parameter: Any, pool: Pool) -> str:
    """Mostly one of the parameter's own kind."""
    draw, kind = pool.random, parameter.type_descriptor.annotation
    kind = next(iter(get_args(kind)), kind)
    if kind in (int, float):
        if draw.random() < 0.2:
            return draw.choice(NUMBERS)
        low, high = parameter.min or 0, parameter.max or 1000
        value = draw.choice([draw.uniform(low, high), low + (high - low) * draw.random() ** 9])
        return str(round(value) if kind is int else value)
    if kind is Path:
        return pool.file()
    complete = parameter.type_descriptor.parameter_info.autocompletion
    known = list(complete("")) if complete else []
    if isinstance(kind, type) and issubclass(kind, Enum):
        known = [str(one.value) for one in kind]
    if known and draw.random() < 0.85:
        return draw.choice(known)
    return draw.choice([draw.choice(WORDS), pool.file()])


def outcome(words: Sequence[str]) -> tuple[int, str]:
    """Return the exit code of a command line, and its output on standard error."""
    err = io.StringIO()
    # `main` asks for the number of standard output, which a text in memory has not.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape") as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(err),
    ):
        sys.argv = ["lockcross", *words]
        try:
            code = main()
        except KeyboardInterrupt:
            code = 130
    return code, err.getvalue()


ASKED: list[Question] = []  # by the last command line


def not_asked(words: Sequence[str]) -> str:
    """A number that was given to `advise` and is none of those that it answers for."""
    inputs = [
        {one.name: one.value.split()[0] for one in question.inputs if one.kind == GIVEN}
        for question in ASKED
    ]
    for word in words:
        option, _, value = word.removeprefix("--measured-").removeprefix("--").partition("=")
        name = option.replace("-", "_")
        if name in Use.__dataclass_fields__ or name.endswith("_latency"):
            wanted = f"{float(value):,.10g}"
            if name not in LEFT_TO_OTHERS and any(it.get(name) != wanted for it in inputs):
                return f"{word} was taken, and is not among what is answered: {inputs}"
    return ""


def complaint(words: Sequence[str]) -> str:
    """Return the fault in a command line's end; nothing if all is as it should be."""
    ASKED.clear()
    code, said = outcome(words)
    if ASKED and (wrong := not_asked(words)):
        return wrong
    if "internal error" in said or "Traceback" in said:
        return said.strip()[-700:]
    if code not in (0, 1, 2):
        return f"exit code {code}: {said[-300:]}"
    if code and not said.strip():
        return f"exit code {code} without a word"
    values = [word.partition("=")[2].lower().strip("+- ") for word in words if word[:2] == "--"]
    if code == 0 and {"nan", "inf", "infinity", "1e400"} & set(values):
        return "a number that is none was taken"
    return ""


def complaints(count: int, seed: int) -> Iterator[tuple[list[str], str]]:
    """The command lines of a seed that ended as they should not, and how."""

    def hang(*_: object) -> None:
        raise RuntimeError("Traceback: it hangs")

    with contextlib.ExitStack() as stack:
        made = tempfile.TemporaryDirectory(prefix="lockcross-lines-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made))
        for one in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, one, signal.getsignal(one))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for place in PLACES:
            patch.setattr(place, stopped)
        patch.setattr("sweeps.questions.advise.command.Advisor", answered)
        patch.setattr(sys, "argv", sys.argv)
        patch.setenv("COLUMNS", "200")
        patch.chdir(folder)
        signal.signal(signal.SIGALRM, hang)
        for words in islice(lines(Pool(folder, Random(seed))), count):
            signal.alarm(SLOW_S)
            wrong = complaint([str(word) for word in words])
            signal.alarm(0)
            if wrong:
                yield words, wrong


if __name__ == "__main__":
    number, seed, found = int(sys.argv[1]), int([*sys.argv, "1"][2]), 0
    for words, wrong in complaints(number, seed):
        found += 1
        print(words, "\n   ", wrong.replace("\n", "\n    "), flush=True)
    print(f"{number} command lines, {found} ended as they should not")
    sys.exit(found != 0)
