"""Values and messages for people, kept short whatever a file or another program said."""

import reprlib

_MOST = 60  # characters of a value that are shown
_MOST_BITS = 14_000  # of a number that is written: Python writes none of more than 4,300 digits


class _Repr(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > _MOST_BITS:
            return "a number with too many digits"
        return super().repr_int(x, level)


_REPR = _Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = _MOST


def quoted(value: object) -> str:
    """Return a value as Python writes it, the middle left out when it is long."""
    return _REPR.repr(value)


def shortened(text: str, most: int) -> str:
    """Return a text, its middle left out when it has more characters than `most`."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n... {left_out} characters left out ...\n{text[-half:]}"


def threads_words(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
