"""Plans: the files in which users describe runs, by kind. The models of the kinds stand
here where several questions read them, else with their question."""

from results.paths import ROOT
from sweeps.support.toml import Documents

_FOLDER = ROOT / "sweeps" / "plans"
SWEEPS = Documents("plan", _FOLDER)
STUDIES = Documents("study", _FOLDER / "studies")
EXPLORATIONS = Documents("exploration", _FOLDER / "explorations")
VALIDATIONS = Documents("validation", _FOLDER / "validations")
REPRODUCTIONS = Documents("reproduction", _FOLDER / "reproductions")
RUNTIMES = Documents("question of runtimes", _FOLDER / "runtimes")
FIRST_STATEMENTS = _FOLDER / "reproductions" / "first_statements.csv"
