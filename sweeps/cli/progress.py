"""How far a job is, on standard error: a bar at a terminal, else a plain line now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

_EVERY_S = 10.0  # between two plain lines


class _StateColumn(ProgressColumn):
    """What the pool says of itself, where it says anything."""

    def render(self, task: Task) -> str:
        return str(task.fields.get("state", ""))


class _RunsColumn(ProgressColumn):
    """How many runs are done, and of how many: `at_least`, where more may follow from them."""

    def render(self, task: Task) -> Text:
        return Text(_runs(task))


class Bar(Progress):
    """The bars of a job, or its lines."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._plain = not console.is_interactive
        self._next_line = 0.0
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            _RunsColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(elapsed_when_finished=False),
            _StateColumn(),
            console=console,
            disable=self._plain,
        )

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """One more run is done."""
        super().advance(task_id, advance)
        self._say_now_and_then(task_id)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Something of a job has changed; plain lines say it as they say that a run is done."""
        super().update(task_id, **changes)
        if changes.get("state"):
            self._say_now_and_then(task_id)

    def _say_now_and_then(self, task_id: TaskID) -> None:
        if self._plain and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _EVERY_S
            _say(next(task for task in self.tasks if task.id == task_id))

    def stop(self) -> None:
        """Ends the bar; plain lines end with one that says how far the job came."""
        if not self._plain:
            super().stop()
        elif self._next_line:  # something was run
            _say(self.tasks[-1])


def _runs(task: Task) -> str:
    least = "at least " if task.fields.get("at_least") else ""
    return f"{task.completed:.0f} of {least}{task.total or 0:.0f} runs"


def _say(task: Task) -> None:
    left = "" if task.time_remaining is None else f", {_clock(task.time_remaining)} left"
    gone = _clock(task.elapsed or 0)
    state = task.fields.get("state", "")
    print(
        f"{task.description}: {_runs(task)}, {gone}{left}" + (f"; {state}" if state else ""),
        file=sys.stderr,
        flush=True,
    )


def _clock(seconds: float) -> timedelta:
    return timedelta(seconds=round(seconds))


class _OneBar(Bar):
    """Every batch counts on the same bar; one that needs more than was left lengthens it. It never
    becomes shorter: what is said of the whole is what is known to be needed."""

    job: TaskID | None = None
    promised = 0

    def add_task(  # type: ignore[override]
        self, description: str, total: float | None = None, **fields: Any
    ) -> TaskID:
        if self.job is None:
            self.job = super().add_task(description, total=total, **fields)
        elif total is not None:
            self.promised += int(total)
            if self.promised > (self.tasks[0].total or 0):
                self.update(self.job, total=self.promised)
        return self.job


@contextmanager
def one_bar(total: int, at_least: bool = False) -> Iterator[Progress]:
    """One bar over a whole job, however many batches the runner works in. `at_least`: which runs
    follow is known only when these have ended."""
    with _OneBar() as progress:
        job = progress.add_task("measuring", total=total, at_least=at_least)
        yield progress
        progress.update(job, at_least=False)
