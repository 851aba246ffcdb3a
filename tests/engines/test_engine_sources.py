"""The sources of the embedded engine: which folder may use which, and headers that stand alone."""

import re
import subprocess
from pathlib import Path

from sweeps.support.paths import ENGINE_SOURCES

# Every folder includes only from itself and from those before it.
LAYERS = ("base", "isa", "output", "link", "memory", "core", "core_models", "region", "plugin")


def includes(path: Path) -> list[str]:
    return re.findall(r'^#include "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE)


def layer(name: str) -> int:
    return LAYERS.index(Path(name).parts[0])


def test_folders_use_only_those_below_them() -> None:
    sources = [path for path in ENGINE_SOURCES.rglob("*") if path.suffix in (".cc", ".h")]
    assert {path.relative_to(ENGINE_SOURCES).parts[0] for path in sources} == set(LAYERS)
    for path in sources:
        name = str(path.relative_to(ENGINE_SOURCES))
        above = [used for used in includes(path) if layer(used) > layer(name)]
        assert not above, f"{name} uses {above}"


def test_core_models_do_not_use_each_other() -> None:
    for path in (ENGINE_SOURCES / "core_models").glob("*/*"):
        for used in includes(path):
            other = used.startswith("core_models/") and Path(used).parts[1] != path.parent.name
            assert not other, f"{path.name} uses {used}"


def test_every_header_stands_alone(tmp_path: Path) -> None:
    """Its source file shows it by including it first; without one, it is compiled by itself."""
    for header in sorted(ENGINE_SOURCES.rglob("*.h")):
        name = str(header.relative_to(ENGINE_SOURCES))
        source = header.with_suffix(".cc")
        if source.exists():
            assert includes(source)[0] == name
            continue
        alone = tmp_path / "alone.cc"
        alone.write_text(f'#include "{name}"\n', encoding="utf-8")
        command = ["g++", "-std=c++20", "-fsyntax-only", "-I", ENGINE_SOURCES, alone]
        subprocess.run(command, check=True)
