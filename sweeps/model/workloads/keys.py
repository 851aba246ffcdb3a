"""The kinds of keys that a workload may have, and the values that each allows."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

Value = int | str

_MAX_LENGTH = 2**32 - 1  # acquisitions of a run; as kernels/lock_trace.c
_RUN = r"[0-9]{1,2}x[0-9]{1,10}"
_SEQUENCES = re.compile(f"{_RUN}([,/]{_RUN})*")


class Key(ABC):
    """One argument of a workload. `default`: for plans and commands that leave it out."""

    default: Value

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, in words."""

    @abstractmethod
    def invalid_reason(self, value: Value) -> str:
        """Why `value` is no value of this key, or nothing."""

    def unsupported_reason(self, value: Value, threads: int) -> str:
        """Why a valid `value` does not go with this number of threads, or nothing."""
        del value, threads
        return ""


@dataclass(frozen=True)
class Number(Key):
    """A whole number from `low` to `high`."""

    default: int
    low: int
    high: int

    @property
    def allowed(self) -> str:
        return f"{self.low} to {self.high}"

    def invalid_reason(self, value: Value) -> str:
        if type(value) is int and self.low <= value <= self.high:
            return ""
        return f"allowed is a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Choice(Key):
    """One of some words."""

    default: str
    choices: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return ", ".join(self.choices)

    def invalid_reason(self, value: Value) -> str:
        return "" if value in self.choices else f"allowed are {self.allowed}"


@dataclass(frozen=True)
class Sequences(Key):
    """Run-length text, THREADxACQUISITIONS: commas between runs, slashes between sequences."""

    default: str
    runs: int  # at most so many of them, and so many sequences
    sequences: int

    @property
    def allowed(self) -> str:
        return f"{self.runs} runs and {self.sequences} sequences at most, written like the default"

    def invalid_reason(self, value: Value) -> str:
        if not isinstance(value, str) or not _SEQUENCES.fullmatch(value):
            return f"it is written like {self.default}"
        lengths = [int(run.partition("x")[2]) for run in re.split("[,/]", value)]
        if not all(1 <= length <= _MAX_LENGTH for length in lengths):
            return f"a run has 1 to {_MAX_LENGTH} acquisitions"
        if len(lengths) > self.runs or value.count("/") >= self.sequences:
            return f"allowed are {self.runs} runs and {self.sequences} sequences"
        return ""

    def unsupported_reason(self, value: Value, threads: int) -> str:
        most = max(int(number) for number in re.findall("([0-9]+)x", str(value)))
        return f"thread {most}: the threads are 0 to {threads - 1}" if most >= threads else ""
