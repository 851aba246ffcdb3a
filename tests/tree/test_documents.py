"""The documents: their links, the files they name and the commands they show exist."""

import itertools
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from sweeps.cli.main import commands as listed
from sweeps.cli.main import make_app
from sweeps.support.paths import ROOT

_FOLDERS = (
    "docs gem5-configs lockimpl proofs pthread-recorder qemu-timing requirements results sweeps "
    "tests workloads"
).split()
_OWN = tuple(f"{folder}/" for folder in _FOLDERS)
_TEXTS = (".c", ".cc", ".def", ".h", ".html", ".md", ".py", ".S", ".sh", ".sql", ".toml")
_MADE = ("build/", ".venv/", "results/output/")  # by a command, so not there in a fresh clone
_SUFFIXES = "c|cc|csv|db|def|h|html|json|md|png|py|S|sh|sql|toml|txt"
_PATH = re.compile(
    rf"(?<![\w./-])(?:\./)?(?:(?:{'|'.join(_FOLDERS)})/[\w./*<>-]*|[\w./*<>-]+\.(?:{_SUFFIXES})\b)"
)
_LINK = re.compile(r"\]\(([^)]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")


def made(path: Path) -> bool:
    return str(path.relative_to(ROOT)).startswith(_MADE)


_INSIDE = [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*")]
_PAGES = [*ROOT.glob("*.md"), *(path for path in _INSIDE if path.suffix == ".md")]
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for path in _PAGES if not made(path))
# Every file and folder of the tree, as a path with a slash before it.
FILES = [f"/{path.relative_to(ROOT)}" for path in (*ROOT.iterdir(), *_INSIDE)]


def code(text: str) -> list[str]:
    """Every span of code of a document, and every line of its blocks."""
    blocks = [block for one in _FENCE.findall(text) for block in one.splitlines()[1:-1]]
    return blocks + _CODE.findall(_FENCE.sub("", text))


def cells(text: str) -> list[str]:
    """Every cell of a document's tables; of a list in one, each word."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [word.strip(" `") for row in rows for cell in row.split("|") for word in cell.split(",")]


def exists(path: str) -> bool:
    """A path below the root, or the end of one. `<name>`, `NAME` and `*` stand for any name."""
    pattern = re.sub(r"\\\*|<\w+>|NAME", r"[^/]*", re.escape(path.removeprefix("./").strip("/")))
    return any(re.search(rf"/{pattern}$", file) for file in FILES)


def named(span: str) -> Iterator[str]:
    """The paths that a piece of code names: those in folders of the tree, and names of files that
    are no argument of a command."""
    for path in (found.rstrip(".") for found in _PATH.findall(span)):
        if not path.startswith(_MADE) and (path.startswith(_OWN) or path == span.strip()):
            yield path


def anchors(text: str) -> set[str]:
    """Return the names that a link may have behind `#`: each heading, as GitHub spells it."""
    found = set[str]()
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names = itertools.chain([plain], (f"{plain}-{n}" for n in itertools.count(1)))
        found.add(next(name for name in names if name not in found))
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_to_a_page_and_a_heading_that_are_there(name: str) -> None:
    document = ROOT / name
    dead = []
    for link in _LINK.findall(_FENCE.sub("", document.read_text(encoding="utf-8"))):
        page, _, anchor = link.partition("#")
        there = document.parent / page if page else document
        if "://" in page:
            continue
        if not there.exists() or (anchor and anchor not in anchors(there.read_text("utf-8"))):
            dead.append(link)
    assert not dead


# Written by a run or named by the user: in no clone.
_OF_RUNS = {"handover.png", "lockcross.db", "lockcross.json", "report.html"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_paths_that_are_named_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    spans = [*code(text), *cells(text), _LINK.sub("", text)]
    paths = {path for span in spans for path in named(span)} - _OF_RUNS
    assert paths
    assert not [path for path in sorted(paths) if not exists(path)]


@pytest.mark.parametrize(
    "folder", [one for one in _FOLDERS if one not in ("docs", "requirements", "tests")]
)
def test_sources_name_files_that_exist(folder: str) -> None:
    sources = [path for path in (ROOT / folder).rglob("*") if path.suffix in _TEXTS]
    assert sources
    wrong = [
        f"{source.relative_to(ROOT)}: {path}"
        for source in sources
        if not made(source)
        for path in _PATH.findall(source.read_text(encoding="utf-8"))
        if path.startswith(_OWN) and Path(path).suffix and not exists(path.rstrip("."))
    ]
    assert not wrong


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of every lockcross command of a document, without the text around it."""
    for span in code(text):
        _, found, rest = span.partition("./lockcross ")
        if found:
            rest = rest.partition("`")[0]  # a command quoted in an output
            lexer = shlex.shlex(rest.replace("...", " "), posix=True, punctuation_chars=False)
            lexer.whitespace_split, lexer.commenters = True, "#"
            try:
                yield list(lexer)
            except ValueError:  # a query over several lines
                yield rest.split('"')[0].split()


def with_names_of_today(words: list[str]) -> list[str]:
    former = {old: name for command in listed().values() for old, name in command.former.items()}
    first, *rest = [former.get(words[0], words[0]), *words[1:]] if words else [""]
    of_command = listed()[first].former if first in listed() else {}
    return [first, *(of_command.get(word, word) for word in rest)] if words else words


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_and_their_options_exist(name: str) -> None:
    group = typer.main.get_command(make_app())
    assert isinstance(group, TyperGroup)
    wrong = []
    for written in commands((ROOT / name).read_text(encoding="utf-8")):
        # The changelog tells of what was called otherwise.
        words = with_names_of_today(written) if name == "CHANGELOG.md" else written
        of_all = not words or words[0].startswith("--")  # options before a command
        command = group if of_all else group.commands.get(words[0])
        if isinstance(command, TyperGroup) and words[1:] and not words[1].startswith("--"):
            command = command.commands.get(words[1])
        parameters = command.params if command else []
        known = {one for parameter in parameters for one in parameter.opts} | {"--help"}
        own = takewhile(lambda word: word != "--", words)  # behind it comes another program
        options = {word.partition("=")[0] for word in own if word.startswith("--")}
        passed_on = command is not None and command.context_settings.get("ignore_unknown_options")
        if command is None or not (passed_on or options <= known):
            wrong.append(" ".join(words))
    assert not wrong
