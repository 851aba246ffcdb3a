"""`./lockcross python -m tests.slurm` starts a Slurm to work with, until Enter or Ctrl-C."""

import contextlib
import sys

from tests.slurm.daemons import Slurm, missing

if why := missing():
    sys.exit(why)
slurm = Slurm()
print(f"export SLURM_CONF={slurm.conf}", flush=True)
try:
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.readline()
finally:
    slurm.stop()
