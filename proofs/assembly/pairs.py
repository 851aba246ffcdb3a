"""Two threads of a lock where its order matters, as litmus tests from the lock's own functions."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache

from pydantic import BaseModel, ConfigDict

from proofs.assembly.litmus import FOLDER, Litmus, in_c
from proofs.assembly.source import Thread, compile_threads
from proofs.assembly.verdicts import Question, fence_kinds_of, models_of
from proofs.assembly.weaken import weakenings
from sweeps.model.locks import load_locks

_THREAD = "{{.tid = {tid}, .tid_field = {tid}u << LOCK_MEMBER(_tid_shift)}}"

_HEAD = (
    '#include "lock.h"\n'
    "#define me (*(lock_thread_t *)&me_)\n#define it (*(lock_thread_t *)&it_)\n"
    f"__attribute__((unused)) static const lock_thread_t me_ = {_THREAD.format(tid=1)};\n"
    f"__attribute__((unused)) static const lock_thread_t it_ = {_THREAD.format(tid=2)};\n"
)

_FENCE = re.compile(r"(dmb ish|hwsync|mfence|xchg) ->")


class Pair(BaseModel):
    """One entry of pairs.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str
    threads: tuple[tuple[str, ...], ...]
    forbidden: str
    first: int = 0
    fences: bool = False


@cache
def pairs() -> dict[str, dict[str, Pair]]:
    """Lock -> name -> pair."""
    text = (FOLDER / "pairs.toml").read_text(encoding="utf-8")
    return {
        lock: {name: Pair.model_validate(one) for name, one in named.items()}
        for lock, named in tomllib.loads(text).items()
    }


def pair_tests(lock: str) -> list[Litmus]:
    """The tests of a lock."""
    bits = {"x": 64}
    return [
        Litmus(
            lock, name, in_c(pair.threads, bits), frozenset(range(len(pair.threads))),
            pair.forbidden, pair.says, mixed=True, bits=bits, first={"x": pair.first},
        )
        for name, pair in pairs()[lock].items()
    ]  # fmt: skip


def compiled_pairs(flavour: str) -> Iterator[tuple[str, Litmus, list[Thread]]]:
    """(fence kind, test, its threads), of all locks."""
    for lock in pairs():
        tests = pair_tests(lock)
        for fence in fence_kinds_of(flavour):
            if fence in load_locks()[lock].fence_kinds:
                options = (f"-DLOCKCROSS_LOCK={lock}",)
                for test, threads in zip(
                    tests, compile_threads(tests, flavour, fence, _HEAD, options), strict=True
                ):
                    yield fence, test, threads


def pair_questions(flavour: str) -> Iterator[tuple[str, Question]]:
    """What herd7 is asked of the locks, each with its fence kind."""
    for fence, test, threads in compiled_pairs(flavour):
        models = models_of(flavour, test)
        for model in models:
            yield fence, Question(test, "lock", "", tuple(threads), model)
        fences_alone = pairs()[test.primitive][test.name].fences
        for i in range(len(threads)):
            for title, weaker in weakenings(threads, frozenset({i}), flavour):
                if not fences_alone or _FENCE.search(title):
                    change = f"P{i}, {title}"
                    yield fence, Question(test, "weakened", change, tuple(weaker), models[-1])
