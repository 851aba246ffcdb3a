"""Runs a program that the kernel kills when the process that started it dies, however it dies.

Called by path, with the starting process's number and the program's words: it imports nothing of
Lockcross. As setpriv --pdeathsig KILL, which older systems lack.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
    os.setsid()  # Ctrl-C at a terminal is for the driver, which ends this one last
    os.execv(sys.argv[2], sys.argv[2:])
