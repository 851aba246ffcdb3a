"""`python -m sweeps`: the command line behind ./lockcross."""

import sys

from sweeps.cli.main import main

sys.exit(main())
