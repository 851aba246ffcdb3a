"""Values and messages for people, kept short whatever a file or another program said."""

import reprlib

_MOST = 60  # characters of a value that are shown
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = _MOST


def shown(value: object) -> str:
    """A value as Python writes it, the middle left out when it is long."""
    try:
        return _REPR.repr(value)
    except ValueError:  # Python writes no number of more than 4300 digits
        return "a number with too many digits"


def shortened(text: str, most: int) -> str:
    """A text, its middle left out when it has more characters than `most`."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n... {left_out} characters left out ...\n{text[-half:]}"
