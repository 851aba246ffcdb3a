"""Runs of programs whose locks are recorded."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def ended(
    command: Sequence[str | Path], *, timeout: float = 100, check: bool = False, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """A program's exit code, output and errors."""
    kept = {"capture_output": True, "text": True, **options}
    return subprocess.run(command, timeout=timeout, check=check, **kept)
