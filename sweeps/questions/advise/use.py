"""How a program uses its locks: as people state it, and in the exact numbers that runs are made
from, the rest assumed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from results.errors import LockcrossError

if TYPE_CHECKING:
    from sweeps.lock_logs.locality import Pattern

PANEL = "How the program uses its locks"  # of the help
MOST_THREADS = 8  # that a log is run with: locks cost the same with more, but for waiting
MAP = "as on the winner map"
_MOST_WORK = 100_000  # cycles
# Assumed where nobody says; in a shared object's terms where only some are shared.
_ASSUMED = {
    "shared_objects": (0.0005, ": nearly every object stays with one thread, as README asks"),
    "owner_share": (0.9, f": {MAP}"),
    "run_length": (20, f": {MAP}"),
    "threads": (2, f": {MAP}"),
    "acquisitions": (
        369,
        " of an object: median of the ten programs of Kawachiya 2005, Tables 5.2 and 5.3",
    ),
}
_NOTHING = {  # assumed, too
    "critical": "0 cycles: the program does nothing there",
    "think": "0 cycles: the program does nothing there",
    "contended": "0: no two threads want a lock at once",
    "nested": "0: no thread takes a lock that it holds",
}
# Numbers that say how objects are shared: where one is stated, they all are.
_OF_SHARED = (
    "shared_acquisitions",
    "per_cancellation",
    "owner_share",
    "first_share",
    "run_length",
    "class_objects",
)
_FEWEST_RUNS = 20  # of an object, as on the winner map
_MOST_RUNS = 200  # looked at for one of which the share is a whole number of runs
_APART = 0.005  # of what is given twice: a number of three digits
_LEAST = 1e-6  # of a share that is not zero
# Steps of 1 in which numbers of a use are exact: one object in a million to a thousandth.
SHARE, ACQUISITION = 1_000_000_000, 1_000
# Cycles of work that stand for all amounts: one between two of them counts for both, the nearer the
# more. Most of an atomic is hidden by 150, and beyond 1,000 nothing changes.
AMOUNTS = (0, 25, 75, 150, 300, 1_000)
STEPS = {
    "nested": 1_000_000,
    "first_share": SHARE,
    "local_acquisitions": ACQUISITION,
    "shared_objects": SHARE,
    "acquisitions": ACQUISITION,
    "owner_share": SHARE,
    "run_length": ACQUISITION,
}


def _number(words: str, low: float = 0, high: float = 10**9) -> Any:
    return typer.Option(min=low, max=high, help=words, rich_help_panel=PANEL)


def _share(words: str, most: float = 1) -> Any:
    return _number(words, high=most)


@dataclass(frozen=True, kw_only=True)
class Use:
    """A program's use of locks as stated; None where nobody said. An object's owner is its first
    locker, an object is shared if another thread ever takes it, and acquisitions are outermost
    ones."""

    threads: Annotated[int | None, _number("Threads.", 1, 64)] = None
    shared_objects: Annotated[
        float | None, _share("Share of objects that another thread than their first ever takes.")
    ] = None
    acquisitions: Annotated[float | None, _number("Acquisitions of an object, in the mean.", 1)] = (
        None
    )
    shared_acquisitions: Annotated[
        float | None, _number("The same of those objects that are shared.", 1)
    ] = None
    per_cancellation: Annotated[
        float | None, _number("Acquisitions of all objects for each that is shared.", 1)
    ] = None
    owner_share: Annotated[
        float | None, _share("Share of acquisitions by the object's first thread.")
    ] = None
    first_share: Annotated[
        float | None, _share("Of shared objects: share before any other thread's first.")
    ] = None
    run_length: Annotated[
        float | None, _number("Acquisitions in a row by another thread.", 1, 10_000)
    ] = None
    class_objects: Annotated[
        int | None,
        _number(
            "Shared objects of one class: HotSpot and OpenJ9 count a class's cancellations.", 1
        ),
    ] = None
    nested: Annotated[float | None, _share("Share of acquisitions that are nested.", 0.9)] = None
    contended: Annotated[float | None, _share("Share of acquisitions that find the lock held.")] = (
        None
    )
    owner: Annotated[
        str | None,
        typer.Option(
            help="State of an object's owner when another thread comes: running, blocked or ended, "
            "or shares: running=0.2,ended=0.8.",
            rich_help_panel=PANEL,
        ),
    ] = None
    critical: Annotated[int | None, _number("Cycles of work inside a section.", 0, _MOST_WORK)] = (
        None
    )
    think: Annotated[int | None, _number("Cycles of work between two sections.", 0, _MOST_WORK)] = (
        None
    )
    locks_per_second: Annotated[
        float | None,
        _number("Acquisitions a second of CPU time: in place of --think.", 1, 10**10),
    ] = None

    def given(self) -> dict[str, float]:
        """Return the numbers that were stated, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, int | float)}

    def at_clock(self, mhz: float) -> "Use":
        """Return the use on a processor of a clock, where `locks_per_second` says how long the
        program works between sections. Raises LockcrossError for a use that cannot be run."""
        if self.locks_per_second is None:
            return self
        each = mhz * 1e6 / self.locks_per_second
        left = round(each - (self.critical or 0))
        if not 0 <= left <= _MOST_WORK:
            raise LockcrossError(
                f"--locks-per-second {self.locks_per_second:g}: that is {each:,.0f} cycles for "
                f"each at {mhz:,.0f} MHz; between {self.critical or 0:,} (--critical) and "
                f"{_MOST_WORK:,} can be run"
            )
        return replace(self, think=left)

    def with_log(self, pattern: "Pattern") -> "Use":
        """Return the use with the numbers of a program's log, except where one was stated."""
        logged: dict[str, Any] = dict(vars(pattern))
        # What happens less than once in a million times is no part of what can be run.
        for share in ("nested", "contended"):
            logged[share] *= logged[share] >= _LEAST
        if min(pattern.shared_objects, 1 - pattern.owner_share) < _LEAST:
            logged |= {"shared_objects": 0.0, "owner_share": 1.0}
        if logged["shared_objects"]:
            logged["first_share"] = min(max(pattern.first_share, _LEAST), 1 - _LEAST)
            logged["threads"] = max(pattern.threads, 2)
        else:
            del logged["shared_acquisitions"], logged["first_share"], logged["run_length"]
        logged["threads"] = min(logged["threads"], MOST_THREADS)
        return Use(**logged | self.given(), owner=self.owner)


@dataclass(frozen=True, kw_only=True)
class ExactUse:
    """A use that runs can be made from."""

    threads: int
    nested: Fraction  # share of all acquisitions
    # Share of a shared object's acquisitions before anybody else's. None: others' runs are evenly
    # spread, each behind an equal part of the owner's.
    first_share: Fraction | None
    local_acquisitions: Fraction  # of an object that is not shared
    shared_objects: Fraction
    acquisitions: Fraction  # of an object that is shared
    owner_share: Fraction  # of them
    run_length: Fraction  # others' acquisitions in a row
    critical: int  # cycles
    think: int  # the mean, where `works` has more than one amount
    class_objects: int | None = None  # that are shared; None: as many as are run
    # Amounts of work between two sections, cycles, and the shares of acquisitions that have them;
    # none: each has `think`.
    works: tuple[tuple[int, Fraction], ...] = ()

    @property
    def foreign(self) -> Fraction:
        """Acquisitions of a shared object by other threads."""
        return self.acquisitions * (1 - self.owner_share)

    @property
    def before_others(self) -> Fraction:
        """Share of a shared object's acquisitions by its owner before anybody else's."""
        if self.first_share is not None:
            return self.first_share
        return self.owner_share / max(self.foreign / self.run_length, Fraction(1))

    def moved(self, axis: str, x: int) -> "ExactUse":
        """Return the use with another number, in steps of its axis. Of work between sections: each
        amount in proportion, up to where more changes nothing."""
        change: dict[str, Any] = {axis: Fraction(x, STEPS[axis]) if axis in STEPS else x}
        if axis == "think":
            amounts = (min(each * x // self.think, AMOUNTS[-1]) for each, _ in self.works)
            shares = (share for _, share in self.works)
            change["works"] = tuple(zip(amounts, shares, strict=True))
        return replace(self, **change)


def settle(use: Use) -> tuple[ExactUse, dict[str, str]]:
    """Return the exact use, and by name and in words each assumption for it. Raises LockcrossError
    for a use that contradicts itself."""
    settling = _Settling(use)
    exact = settling.exact()
    return exact, settling.assumed


class _Settling:
    """The numbers that follow from a use or must be assumed."""

    def __init__(self, use: Use) -> None:
        self._use = use
        self.assumed: dict[str, str] = {}

    def exact(self) -> ExactUse:
        use, threads = self._use, int(self._stated_or_usual("threads"))
        _check_alone(use, threads)
        if use.shared_objects == 0 or use.owner_share == 1 or threads == 1:
            mean = _exact(self._stated_or_usual("acquisitions"))
            numbers = {
                "shared_objects": Fraction(0),
                "acquisitions": mean,
                "local_acquisitions": mean,
                "owner_share": Fraction(1),
                "run_length": Fraction(1),
            }
        else:
            numbers = self._shared()
        self.assumed |= {
            name: words for name, words in _NOTHING.items() if getattr(use, name) is None
        }
        numbers["nested"] = _exact(use.nested or 0)
        exact: dict[str, Any] = {"first_share": None} | {
            name: Fraction(round(number * STEPS[name]), STEPS[name])
            for name, number in numbers.items()
        }
        exact |= {"critical": use.critical or 0, "think": use.think or 0}
        exact |= {"class_objects": use.class_objects}
        return ExactUse(threads=threads, **exact)

    def _stated_or_usual(self, name: str) -> float:
        stated: float | None = getattr(self._use, name)
        if stated is not None:
            return stated
        value, words = _ASSUMED[name]
        self.assumed[name] = f"{value:g}{words}"
        return value

    def _shared(self) -> dict[str, Fraction]:
        """Return the numbers where some or all objects change hands."""
        share, mean = self._share_and_mean()
        length = _exact(self._stated_or_usual("run_length"))
        if share == 1:
            owner = _exact(self._stated_or_usual("owner_share"))
            life = local = self._life(owner, length) if mean is None else mean
            foreign = life * (1 - owner)
        else:
            mean = _exact(self._stated_or_usual("acquisitions")) if mean is None else mean
            foreign, life = self._foreign_and_life(share, mean)
            local = (mean - share * life) / (1 - share)
            if local < 1:
                raise LockcrossError(
                    f"the shared objects alone have {float(share * life):.4g} acquisitions for "
                    f"each object, of {float(mean):.4g} in all: too few are left for the others; "
                    "give more --acquisitions, or a larger --owner-share"
                )
        numbers = {
            "shared_objects": share,
            "acquisitions": life,
            "local_acquisitions": local,
            "owner_share": 1 - foreign / life,
            "run_length": self._fitting(length, foreign, life),
        }
        if (first := self._use.first_share) is None:
            self.assumed["first_share"] = (
                "others come evenly spread, each time behind an equal part of the owner's"
            )
            return numbers
        if _exact(first) * life + foreign > life:
            raise LockcrossError(
                f"--first-share {first:g}: with the owner's share there are "
                f"{float(1 - foreign / life):.6g} of a shared object's acquisitions at most"
            )
        return numbers | {"first_share": _exact(first)}

    def _share_and_mean(self) -> tuple[Fraction, Fraction | None]:
        """Return the share of objects that are shared, and the mean acquisitions of an object where
        they were stated."""
        use = self._use
        share, mean, each = use.shared_objects, use.acquisitions, use.per_cancellation
        if each is None or mean is None:
            if share is None and any(getattr(use, name) is not None for name in _OF_SHARED):
                self.assumed["shared_objects"] = "1: every object is taken by another thread"
                share = 1.0
            elif share is None:
                share = self._stated_or_usual("shared_objects")
            if each is not None:
                return _exact(share), _exact(share) * _exact(each)
            return _exact(share), None if mean is None else _exact(mean)
        if share is None:
            if each < mean:
                raise LockcrossError(
                    f"--per-cancellation {each:g}: less than --acquisitions {mean:g} of one object"
                )
            return _exact(mean) / _exact(each), _exact(mean)
        if abs(mean / share - each) > _APART * each:
            raise LockcrossError(
                f"--per-cancellation {each:g}: --acquisitions {mean:g} and --shared-objects "
                f"{share:g} make it {mean / share:.6g}; leave one of them out"
            )
        return _exact(share), _exact(mean)

    def _life(self, owner: Fraction, length: Fraction) -> Fraction:
        """Return the acquisitions of each object where all are shared and nobody said how many: so
        few that the share is a whole number of runs, if there is such a number."""
        enough = range(_FEWEST_RUNS, _MOST_RUNS + 1)
        whole = [runs for runs in enough if (owner * runs).denominator == 1 and owner * runs < runs]
        runs = Fraction(whole[0]) if whole else max(Fraction(_FEWEST_RUNS), 1 / (1 - owner))
        self.assumed["acquisitions"] = (
            f"{float(runs * length):,.6g} of an object, {float(runs * (1 - owner)):.4g} runs of "
            "which are others'"
        )
        return runs * length

    def _foreign_and_life(self, share: Fraction, mean: Fraction) -> tuple[Fraction, Fraction]:
        """Return others' acquisitions of each shared object and all of them, where some objects
        are not shared."""
        owner, stated = self._use.owner_share, self._use.shared_acquisitions
        if owner is not None:
            foreign = (1 - _exact(owner)) * mean / share
        else:
            usual = _exact(_ASSUMED["owner_share"][0])
            self.assumed["owner_share"] = f"{float(usual):g} of a shared object: {MAP}"
            foreign = (mean if stated is None else _exact(stated)) * (1 - usual)
        if stated is None:
            life = max(mean, 2 * foreign)
            like = "as of all" if life == mean else "twice those of others"
            self.assumed["shared_acquisitions"] = f"{float(life):,.6g} of a shared object: {like}"
            return foreign, life
        if _exact(stated) <= foreign:
            raise LockcrossError(
                f"--shared-acquisitions {stated:g}: others alone make {float(foreign):.6g} of "
                "them, by --owner-share"
            )
        return foreign, _exact(stated)

    def _fitting(self, length: Fraction, foreign: Fraction, life: Fraction) -> Fraction:
        """Return the length of others' runs, which is no longer than all that they do with an
        object. They take it once at least, and its owner, who is its first, does, too."""
        others = f"others make {float(foreign):.4g} acquisitions of a shared object: "
        if foreign < 1:
            raise LockcrossError(
                f"{others}it is not shared with less than one; say that fewer are "
                "(--shared-objects), that objects live longer (--acquisitions), or that others "
                "take more (--owner-share)"
            )
        if life - foreign < 1:
            raise LockcrossError(
                f"{others}of {float(life):.4g} in all its owner makes less than one, the "
                "first; give more --acquisitions or a larger --owner-share"
            )
        if length <= foreign:
            return length
        if self._use.run_length is not None:
            raise LockcrossError(
                f"--run-length {self._use.run_length:g}: {others}give {float(foreign):.4g} at "
                "most, or longer lives (--acquisitions)"
            )
        self.assumed["run_length"] = f"{float(foreign):.4g}: all that others do with an object"
        return foreign


def _check_alone(use: Use, threads: int) -> None:
    """Raise LockcrossError for shares that are too fine, and for shared objects that nobody
    shares."""
    for name in ("shared_objects", "owner_share", "first_share", "nested", "contended"):
        share = getattr(use, name)
        if share is not None and 0 < min(share, 1 - share) < _LEAST:
            raise LockcrossError(
                f"--{name.replace('_', '-')} {share:g}: shares are exact to {_LEAST:g}; give "
                "0, 1 or what lies further inside"
            )
    others = (use.owner_share or 1) < 1
    shared = bool(use.shared_objects) or use.per_cancellation is not None
    mistakes: Mapping[str, object] = {
        "--threads 1: with one thread nothing is shared; give more threads, or "
        "--shared-objects 0": threads == 1 and (shared or others),
        "--contended: one thread never waits; give --threads 2 or more": (
            threads == 1 and use.contended
        ),
        "--shared-objects 0: then every acquisition is the owner's; leave out --owner-share and "
        "--per-cancellation": use.shared_objects == 0 and (others or use.per_cancellation),
        "--owner-share 1: then no object is shared; leave out --shared-objects": (
            use.owner_share == 1 and use.shared_objects
        ),
    }
    for words, is_made in mistakes.items():
        if is_made:
            raise LockcrossError(words)


def _exact(value: float) -> Fraction:
    """Return a number as people write it: 0.9 is nine tenths, and a third one."""
    return Fraction(value).limit_denominator(10**9)
