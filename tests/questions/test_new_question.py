"""A new question is one folder: its command is listed and answers, its section is in the report."""

from pathlib import Path

from results.store.store import Store
from tests.fakes.validation import Gem5Data
from tests.trees import Tree

ABOUT = '''
"""How many locks were run."""

GROUP = "Get an answer"
COMMANDS = {
    "variety": ("command", "Say how many locks were run.", "variety --db my.db", "runs{db}")
}
'''
COMMAND = '''
"""`lockcross variety`."""

from results.paths import DATABASE
from results.store.store import reading
from sweeps.cli.options import Database
from sweeps.questions.variety.presentation import locks


def variety(db: Database = DATABASE) -> None:
    """Say how many locks were run."""
    with reading(db) as connection:
        print(f"{locks(connection)} locks")
'''
PRESENTATION = '''
"""How many locks were run, on the page."""

from sweeps.report.presentation import Part, Section, Presentation


def locks(connection):
    return connection.execute("SELECT count(DISTINCT lock) FROM runs").fetchone()[0]


def part(connection, *_):
    return Part([Section("variety", "Variety")], {"locks_that_ran": locks(connection)})


PRESENTATION = Presentation(part)
'''


def test_it_is_listed_answers_and_is_in_the_report(tmp_path: Path) -> None:
    tree, folder = Tree(tmp_path / "tree"), "sweeps/questions/variety"
    tree.write(f"{folder}/__init__.py", ABOUT.lstrip())
    tree.write(f"{folder}/command.py", COMMAND.lstrip())
    tree.write(f"{folder}/presentation.py", PRESENTATION.lstrip())
    tree.write(f"{folder}/templates/variety.html", "<p>{{ locks_that_ran }} locks ran.</p>\n")
    db = str(tmp_path / "validation.db")
    with Store(Path(db)) as store:  # of which there is but one figure
        Gem5Data(store).validation()
    assert "Say how many locks were run." in tree.lockcross("--help").stdout
    done = tree.lockcross("variety", "--db", db)
    assert done.returncode == 0, done.stderr
    count = done.stdout.split()[0]
    assert int(count) > 1 and done.stdout == f"{count} locks\n"
    done = tree.lockcross("report", "--db", db)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<p>{count} locks ran.</p>" in page and 'id="variety"' in page
