"""Lock labels: a lock, its variant and its fence kind in one word, as `reservation:signal/rmw`."""

from collections.abc import Iterable

FULL = "full"
FENCE_KINDS = {FULL: "full fences", "rmw": "locked RMW", "store_forward": "store forwarding"}
_SHORT = {"asym_tasuki": "asymmetric"}  # how figures and tables call a lock


class LockLabel(str):
    """A lock label: text that knows its parts, so that it can be stored, sorted and compared as
    text. The variant is left out when it is the lock's first, the fence kind when it is `full`."""

    __slots__ = ()

    @classmethod
    def of(cls, lock: str, variant: str = "", fence: str = FULL) -> "LockLabel":
        """The label of a lock as it is built."""
        named = f"{lock}:{variant}" if variant else lock
        return cls(named if fence == FULL else f"{named}/{fence}")

    @property
    def lock(self) -> str:
        """The lock alone."""
        return self.partition("/")[0].partition(":")[0]

    @property
    def variant(self) -> str:
        """The variant; "" for the lock's first, or only one."""
        return self.partition("/")[0].partition(":")[2]

    @property
    def fence(self) -> str:
        """The fence kind."""
        return self.partition("/")[2] or FULL

    @property
    def with_full_fences(self) -> "LockLabel":
        """The same lock and variant with full fences."""
        return LockLabel.of(self.lock, self.variant)

    def words(self, separator: str = ", ") -> str:
        """The label for people: `asymmetric, store forwarding`; a variant stands in brackets."""
        words = _SHORT.get(self.lock, self.lock)
        if self.variant:
            words += f" ({self.variant})"
        if self.fence != FULL:
            words += separator + FENCE_KINDS.get(self.fence, self.fence)
        return words


def labels_words(labels: Iterable[str]) -> str:
    """Which locks and fence kinds stand in a table."""
    known = [LockLabel(label) for label in labels]
    locks = dict.fromkeys(str(label.partition("/")[0]) for label in known)
    kinds = [words for kind, words in FENCE_KINDS.items() if kind in {one.fence for one in known}]
    return f"Compared: {', '.join(locks)}; with {', '.join(kinds)}."
