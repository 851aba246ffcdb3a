"""The looks of locks: people who are blind to some colours tell them apart, too."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from sweeps.model.locks import LockLabel, load_locks
from sweeps.questions.crossover.processors import names
from sweeps.report.style import style_at, style_of
from sweeps.study.job import load_study

# What a missing kind of cone leaves of linear red, green and blue: Machado, Oliveira and Fernandes
# 2009, severity 1.
VISION = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
APART = 15  # CIE 1976 delta E: half of that is seen side by side


def seen(colour: str, vision: NDArray[np.float64]) -> NDArray[np.float64]:
    """A colour's place in CIE L*a*b*."""
    given = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(vision @ linear, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_no_two_locks_variants_or_kinds_of_fence_are_drawn_alike() -> None:
    labels = [
        LockLabel.of(lock.name, variant, fence)
        for lock in load_locks().values()
        for variant in ("", *lock.variants[1:])
        for fence in lock.fence_kinds
    ]
    looks = {label: style_of(label) for label in labels}
    drawn = [(look.colour, look.line, look.marker, look.fill, look.edge) for look in looks.values()]
    assert len(set(drawn)) == len(labels) > 60
    own = {look.colour for label, look in looks.items() if label.lock == "reservation"}
    assert len(own) == 1


def test_new_locks_are_not_drawn_alike() -> None:
    first, second = (style_at(len(load_locks()) + place) for place in (0, 1))
    assert first.colour != second.colour
    assert first.marker != second.marker and first.line != second.line


@pytest.mark.parametrize("kind", VISION)
def test_locks_of_the_first_figure_are_told_apart(kind: str) -> None:
    first = names(load_study("crossover").plan)
    colours = {label.lock: style_of(label).colour for label in first}
    places = {lock: seen(colour, VISION[kind]) for lock, colour in colours.items()}
    near = {
        pair: float(np.linalg.norm(places[pair[0]] - places[pair[1]]))
        for pair in itertools.combinations(places, 2)
    }
    assert len(near) > 20
    assert {pair: off for pair, off in near.items() if off < APART} == {}
