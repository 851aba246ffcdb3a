"""Which revision of the sources this is."""

import subprocess
from functools import cache
from pathlib import Path


@cache
def source_revision(root: Path) -> str:
    """The commit of the tree, with "-dirty" when files differ from it; "unknown" without git."""
    git = ["git", "-C", str(root)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
        state = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("-dirty" if state.stdout.strip() else "")
