"""How well a crossing is known, against costs on straight lines."""

import pytest

from sweeps.study.untold import Untold, interval, rounding, untold

XS = [float(x) for x in range(0, 101, 10)]
FLAT = dict.fromkeys(XS, 100.0)
RISING = {x: 50 + x for x in XS}  # as dear as the flat one at 50


def test_the_engine_cannot_tell_where_a_lead_is_within_its_error() -> None:
    """A tenth of the dearer one's cost: 90 beside 100 below, 100 beside 111 above."""
    found = untold(RISING, FLAT, 50, 0.1)
    assert found is not None and found.low == pytest.approx(40)
    assert found.high == pytest.approx(61.2, abs=0.1)
    assert untold(RISING, FLAT, 50, None) is None
    far = untold(RISING, FLAT, 50, 0.4)
    assert far is not None and far.low == pytest.approx(10) and far.high is None
    assert untold(RISING, FLAT, 50, 1.0) == Untold(None, None)


@pytest.mark.parametrize(
    ("value", "known", "written", "within"),
    [
        (10_204.3, Untold(9_112, 11_344), "10,200", "9,100 to 11,300"),
        (10.31, Untold(9.2, 12.8), "10.3", "9.2 to 12.8"),
        (10_204.3, Untold(9_112, None), "10,200", "9,100 to 50,000 or more"),
        (10_204.3, Untold(None, None), "10,200", "the two are not told apart"),
        (0.0866, Untold(0.061, 0.11), "0.087", "0.061 to 0.11"),
    ],
)
def test_no_digit_is_written_that_is_not_known(
    value: float, known: Untold, written: str, within: str
) -> None:
    write = rounding(value, known)
    assert write(value) == written
    assert interval(known, (0, 50_000), write) == within.replace("0.11", "0.110")


def test_of_which_nothing_is_known_has_three_digits() -> None:
    assert [rounding(x, None)(x) for x in (12_345.6, 12.345, 0.0)] == ["12,300", "12.3", "0"]
