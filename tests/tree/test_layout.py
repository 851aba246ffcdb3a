"""The rules of the layout: a room imports from the rooms below it alone, a question from no other
question, an engine is named in its own folder alone."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter

from results.paths import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("sweeps", "results", "proofs")  # of which the last has none
    for path in (ROOT / package).rglob("*.py")
}
# From what everything may use to what nothing may.
ROOMS = (
    "results.errors",
    "results.paths",
    "results.children",
    "results.extras",
    "results.store",
    "results.text",
    "results.draw",
    "sweeps.setup",
    "sweeps.support",
    "sweeps.lock_logs",
    "sweeps.model",
    "sweeps.verdicts",
    "sweeps.programs",
    "sweeps.engines",
    "sweeps.plans",
    "sweeps.run",
    "sweeps.accuracy",
    "sweeps.study",
    "sweeps.cli",
    "sweeps.report",
    "sweeps.questions",
    "sweeps.__main__",
)


def room(module: str) -> str:
    """The room that a module is in; "" for a package of rooms."""
    return next((one for one in ROOMS if f"{module}.".startswith(f"{one}.")), "")


def imported(module: str) -> Iterator[str]:
    """Every other module of the tree that a module imports, deferred imports too."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # A name may be a module of the package that it is imported from.
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else node.module for name in inner]
        yield from (name for name in names if name in MODULES and name != module)


@cache
def imports() -> set[tuple[str, str]]:
    """Return the pairs of modules of which the first imports the second; worked out where a test
    asks, not by every worker."""
    return {(module, other) for module in MODULES for other in imported(module)}


def test_no_import_goes_in_a_circle() -> None:
    graph = TopologicalSorter[str]()
    for module, other in imports():
        graph.add(module, other)
    graph.prepare()  # raises CycleError, which shows the circle


def test_every_module_is_in_a_room() -> None:
    assert {module for module in MODULES if not room(module)} == {"sweeps", "results"}


def test_a_room_imports_from_those_below_it_alone() -> None:
    """So `results` imports nothing of `sweeps`."""
    assert not [
        (module, other)
        for module, other in imports()
        if room(module) and room(other) and ROOMS.index(room(other)) > ROOMS.index(room(module))
    ]


# What may import a module whose name it is given: the command line its commands and what an option
# may be, the page what a question shows and the functions that draw it, `engines.base` the adapter
# of an engine's label, `run.bench` the commands of the default engine.
BY_NAME = {
    "sweeps.cli.main",
    "sweeps.cli.options",
    "sweeps.engines.base",
    "sweeps.report.figures",
    "sweeps.report.presentation",
    "sweeps.run.bench",
}


def test_modules_are_imported_by_name_in_few_places() -> None:
    """The other tests of imports cannot see such an import."""
    by_name = re.compile(r"\b(import_module|__import__|resolve_name)\b")
    found = {name for name, path in MODULES.items() if by_name.search(path.read_text("utf-8"))}
    assert found <= BY_NAME


def test_a_question_imports_no_other() -> None:
    assert not [
        (module, other)
        for module, other in imports()
        if room(module) == room(other) == "sweeps.questions"
        and module.split(".")[2:3] != other.split(".")[2:3]
    ]


def test_engines_are_named_in_their_folders_and_the_registry_alone() -> None:
    """By an import, or by a label: the name alone, or with a variant behind a slash."""
    names = {folder.name for folder in (ROOT / "sweeps" / "engines").iterdir() if folder.is_dir()}
    names -= {"__pycache__"}
    others = {
        module: path
        for module, path in MODULES.items()
        if module != "sweeps.model.engines" and not module.startswith("sweeps.engines.")
    }
    assert not [
        f"{module}:{node.lineno}: {node.value!r}"
        for module, path in others.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value.partition("/")[0] in names
    ]
    assert not [
        (module, other)
        for module, other in imports()
        if module in others and other.removeprefix("sweeps.engines.").split(".")[0] in names
    ]


DRAWING = ROOT / "docs" / "architecture.md"
# Rooms that the drawing leaves out: what all may use.
LEFT_OUT = {f"results.{name}" for name in ("errors", "paths", "children", "extras")}
LEFT_OUT |= {"sweeps.setup", "sweeps.support"}


def drawn(arrow: str) -> set[tuple[str, str]]:
    """The arrows of one kind, from and to the names of rooms or folders."""
    text = DRAWING.read_text(encoding="utf-8").partition("```mermaid\n")[2].partition("```")[0]
    labelled = r'([\w-]+)(?:\["[^"]*"\])?'
    return {
        (begin.replace("_", ".", 1), end.replace("_", ".", 1))
        for begin, end in re.findall(rf"{labelled} {arrow} {labelled}", text)
    }


def test_the_drawing_is_what_is_imported() -> None:
    """Every import of a room that is drawn, but for those that follow from others."""
    edges = {one: set[str]() for one in ROOMS if one not in LEFT_OUT}
    for begin, end in ((room(module), room(other)) for module, other in imports()):
        if begin in edges and end in edges and begin != end:
            edges[begin].add(end)

    def below(one: str) -> set[str]:
        return edges[one].union(*(below(other) for other in edges[one]))

    needed = {
        (begin, end)
        for begin, ends in edges.items()
        for end in ends
        if not any(end in below(other) for other in ends)
    }
    assert drawn("-->") == needed


def test_the_drawing_starts_what_is_there() -> None:
    started = drawn(r"-\. \w+ \.->")
    assert started
    for begin, end in started:
        assert begin in ROOMS and (ROOT / end).is_dir()
