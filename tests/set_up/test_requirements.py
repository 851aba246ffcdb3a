"""The pinned Python packages: every one by version and by the hashes of its files."""

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from results.errors import LockcrossError
from results.extras import REQUIREMENTS, Extra, pinned
from results.paths import ROOT
from tests.requirements import NAMES, pins

HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(name: str) -> Iterator[tuple[Requirement, frozenset[str]]]:
    """The packages of a file with the hashes of each."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / pins(name)).read_text(), flags=re.M)
    for entry in text.replace("\\\n", " ").splitlines():
        yield Requirement(HASH.sub("", entry)), frozenset(HASH.findall(entry))


def wanted(name: str) -> set[str]:
    """The packages that an .in names, and those that it takes from another."""
    found = set()
    for line in (REQUIREMENTS / f"{name}.in").read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            found |= wanted(line.removeprefix("-r ").removesuffix(".in"))
        elif text := line.partition("#")[0].strip():
            found.add(canonicalize_name(Requirement(text).name))
    return found


def test_each_list_is_pinned() -> None:
    assert sorted(path.stem for path in REQUIREMENTS.glob("*.in")) == sorted(NAMES)
    assert {*REQUIREMENTS.glob("*.txt")} == {ROOT / pins(name) for name in NAMES[1:]}


@pytest.mark.parametrize("name", NAMES)
def test_every_package_has_one_version_and_hashes_and_no_index_is_named(name: str) -> None:
    """Where packages come from is the user's pip's to say."""
    for file in (REQUIREMENTS / f"{name}.in", ROOT / pins(name)):
        text = file.read_text(encoding="utf-8")
        assert "://" not in text and "index-url" not in text and "find-links" not in text
    packages = dict(entries(name))
    assert wanted(name) <= {package.name for package in packages}
    for package, hashes in packages.items():
        assert re.fullmatch(r"==[^*,]+", str(package.specifier)), package
        assert hashes, package
    assert set(map(str, packages)) == set(map(str, pinned(ROOT / pins(name))))


def test_lists_agree() -> None:
    """All are installed into one environment."""
    for one, other in combinations(NAMES, 2):
        there = defaultdict(set)
        for package, hashes in entries(one):
            there[package.name].add((str(package.specifier), hashes))
        for package, hashes in entries(other):
            if package.name in there:
                assert (str(package.specifier), hashes) in there[package.name]


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a wheel, which is all that pip knows of; and nothing is installed."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "lockcross_none-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in {
            "METADATA": "Metadata-Version: 2.1\nName: lockcross-none\nVersion: 1.0\n",
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }.items():
            wheel.writestr(f"lockcross_none-1.0.dist-info/{name}", text)
    for name, value in {"FIND_LINKS": folder, "NO_INDEX": 1, "DRY_RUN": 1}.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    return folder


@pytest.mark.parametrize(
    "pin", ["lockcross-none==1.0", f"lockcross-none==1.0 --hash=sha256:{'0' * 64}"]
)
def test_a_package_with_another_hash_is_not_installed(
    wheels: Path, tmp_path: Path, pin: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor one without a hash, whatever the index has."""
    file = tmp_path / "none.txt"
    file.write_text(f"{pin}\n")
    with pytest.raises(LockcrossError, match="could not be installed"):
        Extra("Nothing", file, megabytes=1).install()
    assert "hash" in capfd.readouterr().err.lower()
