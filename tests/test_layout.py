"""The rules of the layout: who may import whom, and how many files a folder holds."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from results.paths import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("sweeps", "results")
    for path in (ROOT / package).rglob("*.py")
}
MOST_FILES = 15
# From what everything may use to what nothing may: a package imports from those before it alone.
ORDER = {
    "results": (
        "paths",
        "errors",
        "extras",
        "model",
        "published",
        "store",
        "browser",
        "analysis",
        "figures",
        "report",
    ),
    "sweeps": (
        "setup",
        "support",
        "model",
        "programs",
        "engines",
        "execution",
        "experiments",
        "proofs",
        "cli",
    ),
}


def imported(module: str) -> Iterator[str]:
    """Every module of the tree that a module imports, deferred imports too."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # A name may be a module of the package that it is imported from.
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else node.module for name in inner]
        else:
            continue
        yield from (name for name in names if name in MODULES)


@cache
def graph() -> dict[str, set[str]]:
    """What each module imports; worked out where a test asks, not by every worker."""
    return {module: set(imported(module)) - {module} for module in MODULES}


def test_results_never_imports_sweeps() -> None:
    found = {
        f"{module} imports {other}"
        for module, others in graph().items()
        for other in others
        if module.startswith("results") and other.startswith("sweeps")
    }
    assert not found


def test_no_import_goes_in_a_circle() -> None:
    circle: list[str] = []
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert not circle


@pytest.mark.parametrize("package", ORDER)
def test_packages_import_only_what_lies_before_them(package: str) -> None:
    order = ORDER[package]
    folders = {module.split(".")[1] for module in MODULES if module.startswith(f"{package}.")}
    assert folders - {"__main__"} == set(order), "a new folder needs its place in ORDER"
    found = []
    for module, others in graph().items():
        for other in (one for one in others if one.startswith(f"{package}.")):
            own, its = (name.split(".")[1] for name in (f"{module}.", other))
            if module.startswith(package) and own in order and order.index(its) > order.index(own):
                found.append(f"{module} imports {other}")
    assert not found


def test_a_folder_holds_one_role() -> None:
    folders = [path.parent for path in MODULES.values()]
    crowded = {
        str(folder.relative_to(ROOT)): folders.count(folder)
        for folder in set(folders)
        if folders.count(folder) > MOST_FILES
    }
    assert not crowded


def test_engines_are_named_in_their_folders_and_the_registry_alone() -> None:
    names = {folder.name for folder in (ROOT / "sweeps" / "engines").iterdir() if folder.is_dir()}
    names -= {"__pycache__"}
    found = []
    for module, path in MODULES.items():
        if module == "results.model.engines" or module.startswith("sweeps.engines."):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = node.value.replace("/", " ").replace("_", " ").split()
                if len(words) < 3 and names & set(words):
                    found.append(f"{module}:{node.lineno}: {node.value!r}")
        found += [
            f"{module} imports {other}"
            for other in graph()[module]
            if other.removeprefix("sweeps.engines.").split(".")[0] in names
        ]
    assert not found
