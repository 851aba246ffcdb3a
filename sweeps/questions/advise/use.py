"""How a program uses its locks: as people state it, and as the numbers that runs are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from results.errors import LockcrossError

if TYPE_CHECKING:
    from sweeps.search.locality import Pattern

SHARES = 1_000_000_000  # parts of a share: one object in a million is still exact to a thousandth
LIVES = 1_000  # parts of an acquisition, in mean numbers of them
MOST_WORK = 100_000  # cycles between two sections
_USUAL = {"owner_share": 0.9, "run_length": 20, "threads": 2}  # of the winner map
_USUAL_LIFE = 369
_FEWEST_RUNS = 20  # of an object, as on the winner map
_MOST_RUNS = 200  # looked at for one of which the share is a whole number of runs
_APART = 0.005  # of what is given twice: a number of three digits
_LEAST = 1e-6  # of a share that is not zero
_SHARED = "others make {:.4g} acquisitions of a shared object: "


@dataclass(frozen=True)
class Use:
    """What is asked; None where nobody said.

    threads: of the program. shared_objects: share of the objects that another thread ever takes
    than their first, their owner. acquisitions: outermost ones of an object, in the mean of all;
    shared_acquisitions: of those that are shared. per_cancellation: acquisitions of all objects for
    each object that is shared. owner_share: of all acquisitions, by the owner; first_share: of the
    acquisitions of shared objects, those by the owner before anybody else's. run_length: others'
    acquisitions in a row. nested: share of all acquisitions. contended: share of acquisitions that
    find the lock held, or others waiting. critical, think: cycles inside and between sections;
    locks_per_second: acquisitions a second of CPU time, from which think follows with a clock.
    `log`: the file that says so.
    """

    threads: int | None = None
    shared_objects: float | None = None
    acquisitions: float | None = None
    shared_acquisitions: float | None = None
    per_cancellation: float | None = None
    owner_share: float | None = None
    first_share: float | None = None
    run_length: float | None = None
    nested: float | None = None
    contended: float | None = None
    critical: int | None = None
    think: int | None = None
    locks_per_second: float | None = None
    log: str = ""

    def at_clock(self, mhz: float) -> "Use":
        """The use on a processor of a clock: how long the program works between sections."""
        if self.locks_per_second is None:
            return self
        whole = mhz * 1e6 / self.locks_per_second
        left = round(whole - (self.critical or 0))
        if not 0 <= left <= MOST_WORK:
            raise LockcrossError(
                f"--locks-per-second {self.locks_per_second:g}: that is {whole:,.0f} cycles for "
                f"each at {mhz:,.0f} MHz; between {self.critical or 0:,} (--critical) and "
                f"{MOST_WORK:,} can be run"
            )
        return replace(self, think=left)

    def given(self) -> dict[str, float]:
        """What was said, by name."""
        names = (one.name for one in fields(self) if one.name != "log")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def with_log(use: Use, found: "Pattern", name: str) -> Use:
    """What a program's log says, but for what was given beside it."""
    said = {
        "threads": found.threads if found.shared_objects == 0 else max(found.threads, 2),
        "shared_objects": found.shared_objects,
        "acquisitions": found.acquisitions,
        "owner_share": found.owner_share,
        "nested": found.nested,
        "contended": found.contended,
    }
    if found.shared_objects:
        said |= {
            "shared_acquisitions": found.shared_acquisitions, "first_share": found.first_share,
            "run_length": found.run_length,
        }  # fmt: skip
    return Use(**said | use.given(), log=name)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Settled:
    """A use in whole numbers, `keys`, and by name what was assumed in it, in words.

    Keys: shared_objects, owner_share and first_share (of a shared object's acquisitions; -1 where
    others' runs are evenly spread, each behind an equal part of the owner's) in billionths; nested
    in millionths of all acquisitions; acquisitions (of a shared object), local_acquisitions (of
    another) and run_length in thousandths; critical and think in cycles.
    """

    threads: int
    keys: Mapping[str, int]
    assumed: Mapping[str, str]


def settle(use: Use) -> Settled:
    """The use that is asked for, with all that follows from it or must be assumed. Raises
    LockcrossError for what contradicts itself."""
    found = _Settling(use)
    return Settled(found.threads, found.keys(), found.assumed)


class _Settling:
    """Works out what was not said from what was."""

    def __init__(self, use: Use) -> None:
        self._use = use
        self.assumed: dict[str, str] = {}
        self.threads = int(self._take("threads")) if use.threads is None else use.threads
        self._check_alone()
        self._local = use.shared_objects == 0 or use.owner_share == 1 or self.threads == 1

    def keys(self) -> dict[str, int]:
        """The keys of Settled."""
        use = self._use
        if self._local:
            mean = self._usual_life() if use.acquisitions is None else _exact(use.acquisitions)
            shared = _keys(Fraction(0), mean, mean, Fraction(1), None, Fraction(1))
        else:
            shared = self._shared()
        for name in ("critical", "think"):
            if getattr(use, name) is None:
                self.assumed[name] = "0 cycles: the program does nothing there"
        if use.contended is None:
            self.assumed["contended"] = "0: no two threads want a lock at once"
        if use.nested is None:
            self.assumed["nested"] = "0: no thread takes a lock that it holds"
        return shared | {
            "nested": _parts(use.nested or 0, 1_000_000),
            "critical": use.critical or 0,
            "think": use.think or 0,
        }

    def _take(self, name: str) -> float:
        """The usual value of what nobody said."""
        self.assumed[name] = f"{_USUAL[name]:g}: as on the winner map"
        return _USUAL[name]

    def _check_alone(self) -> None:
        use = self._use
        for name in ("shared_objects", "owner_share", "first_share", "nested", "contended"):
            share = getattr(use, name)
            if share is not None and 0 < min(share, 1 - share) < _LEAST:
                raise LockcrossError(
                    f"--{name.replace('_', '-')} {share:g}: shares are exact to {_LEAST:g}; give "
                    "0, 1 or what lies further inside"
                )
        shared = bool(use.shared_objects) or use.per_cancellation is not None
        if self.threads == 1 and (shared or (use.owner_share or 1) < 1):
            raise LockcrossError(
                "--threads 1: with one thread nothing is shared; give more threads, or "
                "--shared-objects 0"
            )
        if self.threads == 1 and use.contended:
            raise LockcrossError("--contended: one thread never waits; give --threads 2 or more")
        if use.shared_objects == 0 and ((use.owner_share or 1) < 1 or use.per_cancellation):
            raise LockcrossError(
                "--shared-objects 0: then every acquisition is the owner's; leave out "
                "--owner-share and --per-cancellation"
            )
        if use.owner_share == 1 and use.shared_objects:
            raise LockcrossError(
                "--owner-share 1: then no object is shared; leave out --shared-objects"
            )

    def _usual_life(self) -> Fraction:
        self.assumed["acquisitions"] = (
            f"{_USUAL_LIFE} of an object: median of the ten programs of Kawachiya 2005, Tables 5.2 "
            "and 5.3"
        )
        return Fraction(_USUAL_LIFE)

    def _shared(self) -> dict[str, int]:
        """Of objects some or all of which change hands."""
        use = self._use
        share, mean = self._share_and_mean()
        length = _exact(self._take("run_length") if use.run_length is None else use.run_length)
        if share == 1:
            owner = self._take("owner_share") if use.owner_share is None else use.owner_share
            life = self._life(_exact(owner), length) if mean is None else mean
            foreign, local = life * (1 - _exact(owner)), life
        else:
            mean = self._usual_life() if mean is None else mean
            foreign = self._foreign(share, mean)
            life = self._shared_life(foreign, mean)
            local = (mean - share * life) / (1 - share)
            if local < 1:
                raise LockcrossError(
                    f"the shared objects alone have {float(share * life):.4g} acquisitions for "
                    f"each object, of {float(mean):.4g} in all: too few are left for the others; "
                    "give more --acquisitions, or a larger --owner-share"
                )
        length = self._fitting(length, foreign, life)
        first = None if use.first_share is None else _exact(use.first_share)
        if first is None:
            self.assumed["first_share"] = (
                "others come evenly spread, each time behind an equal part of the owner's"
            )
        elif first * life + foreign > life:
            raise LockcrossError(
                f"--first-share {use.first_share:g}: with the owner's share there are "
                f"{float(1 - foreign / life):.6g} of a shared object's acquisitions at most"
            )
        return _keys(share, life, local, 1 - foreign / life, first, length)

    def _share_and_mean(self) -> tuple[Fraction, Fraction | None]:
        """The share of objects that are shared, and the mean acquisitions of an object where
        somebody said them."""
        use = self._use
        share, mean, each = use.shared_objects, use.acquisitions, use.per_cancellation
        if share is not None and mean is not None and each is not None:
            if abs(mean / share - each) > _APART * each:
                raise LockcrossError(
                    f"--per-cancellation {each:g}: --acquisitions {mean:g} and --shared-objects "
                    f"{share:g} make it {mean / share:.6g}; leave one of them out"
                )
            return _exact(share), _exact(mean)
        if share is None and mean is not None and each is not None:
            if each < mean:
                raise LockcrossError(
                    f"--per-cancellation {each:g}: less than --acquisitions {mean:g} of one object"
                )
            return _exact(mean) / _exact(each), _exact(mean)
        if share is None:
            self.assumed["shared_objects"] = "1: every object is taken by another thread"
            life = mean if each is None else each
            return Fraction(1), None if life is None else _exact(life)
        if each is not None:
            return _exact(share), _exact(share) * _exact(each)
        return _exact(share), None if mean is None else _exact(mean)

    def _life(self, owner: Fraction, length: Fraction) -> Fraction:
        """Acquisitions of each object where all are shared and nobody said how many: so few that
        the share is a whole number of runs, if there is such a number."""
        enough = range(_FEWEST_RUNS, _MOST_RUNS + 1)
        whole = [runs for runs in enough if (owner * runs).denominator == 1 and owner * runs < runs]
        least = 1 / (1 - owner)
        runs = whole[0] if whole else max(Fraction(_FEWEST_RUNS), least)
        life = runs * length
        self.assumed["acquisitions"] = (
            f"{float(life):,.6g} of an object, {float(runs * (1 - owner)):.4g} runs of which are "
            "others'"
        )
        return Fraction(life)

    def _foreign(self, share: Fraction, mean: Fraction) -> Fraction:
        """Others' acquisitions of each shared object, where not all are shared."""
        use = self._use
        if use.owner_share is not None:
            return (1 - _exact(use.owner_share)) * mean / share
        own = use.shared_acquisitions
        life = mean if own is None else _exact(own)
        usual = _exact(_USUAL["owner_share"])
        self.assumed["owner_share"] = f"{float(usual):g} of a shared object: as on the winner map"
        return life * (1 - usual)

    def _shared_life(self, foreign: Fraction, mean: Fraction) -> Fraction:
        given = self._use.shared_acquisitions
        if given is None:
            life = max(mean, 2 * foreign)
            self.assumed["shared_acquisitions"] = (
                f"{float(life):,.6g} of a shared object: "
                + ("as of all" if life == mean else "twice those of others")
            )  # fmt: skip
            return life
        if _exact(given) <= foreign:
            raise LockcrossError(
                f"--shared-acquisitions {given:g}: others alone make {float(foreign):.6g} of them, "
                "by --owner-share"
            )
        return _exact(given)

    def _fitting(self, length: Fraction, foreign: Fraction, life: Fraction) -> Fraction:
        """A run is no longer than all that others do with an object; they take it once at least,
        and its owner, who is its first, too."""
        said = _SHARED.format(float(foreign))
        if foreign < 1:
            raise LockcrossError(
                f"{said}it is not shared with less than one; say that fewer are "
                "(--shared-objects), that objects live longer (--acquisitions), or that others "
                "take more (--owner-share)"
            )
        if life - foreign < 1:
            raise LockcrossError(
                f"{said}of {float(life):.4g} in all its owner makes less than one, the first; give "
                "more --acquisitions or a larger --owner-share"
            )
        if length <= foreign:
            return length
        if self._use.run_length is not None:
            raise LockcrossError(
                f"--run-length {self._use.run_length:g}: {said}give {float(foreign):.4g} at most, "
                "or longer lives (--acquisitions)"
            )
        self.assumed["run_length"] = f"{float(foreign):.4g}: all that others do with an object"
        return foreign


def _keys(
    share: Fraction, life: Fraction, local: Fraction, owner: Fraction, first: Fraction | None,
    length: Fraction,
) -> dict[str, int]:  # fmt: skip
    return {
        "shared_objects": _parts(share, SHARES),
        "acquisitions": _parts(life, LIVES),
        "local_acquisitions": _parts(local, LIVES),
        "owner_share": _parts(owner, SHARES),
        "first_share": -1 if first is None else _parts(first, SHARES),
        "run_length": _parts(length, LIVES),
    }


def _exact(value: float) -> Fraction:
    """A number as people write it: 0.9 is nine tenths, and a third one."""
    return Fraction(value).limit_denominator(10**9)


def _parts(value: float | Fraction, parts: int) -> int:
    return round(_exact(value) * parts if isinstance(value, float) else value * parts)
