"""Runs one Lockcross program on a memory system of SST. To be run by SST:

    sst --add-lib-path=FOLDER_OF_LIBLOCKCROSS sst-configs/run.py -- sst.json

What sst.json holds, what is written, and what the exit codes mean: README.md.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from lockcross_sst.settings import check
from lockcross_sst.statistics import collect
from lockcross_sst.system import build


def main():
    try:
        (file,) = sys.argv[1:]
        settings = check(json.loads(Path(file).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        print(f"lockcross-sst: {error}", file=sys.stderr, flush=True)
        sys.exit(2)
    build(settings)
    collect(settings)


main()
