"""Runs a Python module that the kernel kills when the process that started it dies, however it
dies.

Called by path, with the starting process's number and the module's name: it imports nothing of
Lockcross. As setpriv --pdeathsig KILL, which older systems lack.
"""

import ctypes
import logging
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
    os.setsid()  # Ctrl-C at a terminal is for the driver, which ends this one last
    # A log on a full disk is no reason for tracebacks among what the driver says.
    logging.raiseExceptions = False
    runpy.run_module(sys.argv[2], run_name="__main__", alter_sys=True)
