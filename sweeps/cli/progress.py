"""How far a job is, on standard error: a bar at a terminal, else a plain line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich import progress
from rich.console import Console
from rich.progress import Progress, Task, TaskID
from rich.text import Text

_EVERY_S = 10.0  # between two plain lines


def first_word(words: str) -> None:
    """Announce a command's long work before its imports."""
    print(words, file=sys.stderr, flush=True)


class _Words(progress.ProgressColumn):
    """A few words about a job."""

    def __init__(self, words: Callable[[Task], str]) -> None:
        super().__init__()
        self._words = words

    def render(self, task: Task) -> Text:
        return Text(self._words(task))


class Bar(Progress):
    """The bars of a job, or its lines."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._plain = not console.is_interactive
        self._next_line = 0.0
        super().__init__(
            _Words(lambda task: task.description),
            progress.BarColumn(),
            _Words(_runs),
            progress.TimeElapsedColumn(),
            _Words(_left),
            _Words(_state),
            console=console,
            disable=self._plain,
        )

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        self._say_now_and_then(task_id)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Note a change of a job; plain lines say it as they say that a run is done.
        `left_s`: the time left, in place of an estimate from the number of runs."""
        if "left_s" in changes:
            changes["ends"] = time.monotonic() + changes.pop("left_s")
        super().update(task_id, **changes)
        if changes.get("state"):
            self._say_now_and_then(task_id)

    def _say_now_and_then(self, task_id: TaskID) -> None:
        if self._plain and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _EVERY_S
            _say(next(task for task in self.tasks if task.id == task_id))

    def stop(self) -> None:
        """End the bar; plain lines end with one that says how far the job came."""
        if not self._plain:
            super().stop()
        elif self._next_line:  # something was run
            _say(self.tasks[-1])


def _runs(task: Task) -> str:
    """Say how many runs are done, and of how many: `at_least`, where more may follow from them."""
    least = "at least " if task.fields.get("at_least") else ""
    return f"{task.completed:.0f} of {least}{task.total or 0:.0f} runs"


def _left_s(task: Task) -> float | None:
    """Return seconds until the promised end; None where it has passed, or nothing is known."""
    if task.finished or (ends := task.fields.get("ends")) is None:
        return task.time_remaining
    return left if (left := ends - time.monotonic()) > 0 else None


def _left(task: Task) -> str:
    left = _left_s(task)
    least = "at least " if task.fields.get("at_least") and not task.finished else ""
    return f"left: {'-:--:--' if left is None else least + str(timedelta(seconds=round(left)))}"


def _state(task: Task) -> str:
    """Return the pool's words on itself, where it has any."""
    return str(task.fields.get("state", ""))


def _say(task: Task) -> None:
    gone, left = (
        "" if seconds is None else str(timedelta(seconds=round(seconds)))
        for seconds in (task.elapsed or 0, _left_s(task))
    )
    words = f"{task.description}: {_runs(task)}, {gone}" + (f", {left} left" if left else "")
    print("; ".join(filter(None, (words, _state(task)))), file=sys.stderr, flush=True)


class _OneBar(Bar):
    """Every batch counts on the same bar; one that needs more than was left lengthens it. It never
    becomes shorter: its length is the known need."""

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

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """`left_s` is of a batch, in which `of` runs are left; those of later batches take as long
        as the others have taken."""
        task = self.tasks[0]
        if "left_s" in changes and task.completed:
            later = (task.total or 0) - task.completed - changes["of"]
            changes["left_s"] += max(later, 0) * (task.elapsed or 0) / task.completed
        super().update(task_id, **changes)


@contextmanager
def one_bar(total: int, at_least: bool = False) -> Iterator[Progress]:
    """Show one bar over a whole job, however many batches the runner works in. `at_least`: which
    runs follow is known only when these have ended."""
    with _OneBar() as bar:
        job = bar.add_task("measuring", total=total, at_least=at_least)
        yield bar
        bar.update(job, at_least=False)
