"""Counts system calls by the kernel's own interface for debuggers, which needs no program."""

import ctypes
import errno
import os
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NoReturn

from results.errors import LockcrossError

# <linux/ptrace.h>, <linux/wait.h>
_TRACEME, _NEXT_CALL, _SET_OPTIONS, _CALL_INFO = 0, 24, 0x4200, 0x420E
_CALLS, _FORK, _VFORK, _CLONE, _EXEC, _END_WITH_TRACER = 1, 2, 4, 8, 16, 1 << 20
_ALL_THREADS = 0x40000000
_AT_A_CALL = signal.SIGTRAP | 0x80
_ENTRY = 1  # of a call; it stops a second time when it returns
_MAY_NOT, _FAILED = 3, 1  # exit codes
_libc = ctypes.CDLL(None, use_errno=True)


class NotTracedError(LockcrossError):
    """Processes may not be traced here, as in some containers."""


def system_calls(work: Callable[[], object]) -> tuple[int, int]:
    """How many system calls `work` makes, in a process forked for it, and how many all the
    processes that it starts. It and what it is called with must be such that can be pickled.

    Raises NotTracedError, and LockcrossError (1) when the work fails.
    """
    # Whoever traces waits for any process, so it must have none but these.
    with ProcessPoolExecutor(1, get_context("fork")) as tracer:
        return tracer.submit(_trace, work).result()


def _ptrace(request: int, thread: int, address: int, data: int) -> bool:
    words = map(ctypes.c_void_p, (address, data))
    return int(_libc.ptrace(ctypes.c_long(request), ctypes.c_long(thread), *words)) >= 0


def _do(work: Callable[[], object]) -> NoReturn:
    code = _FAILED
    try:
        if not _ptrace(_TRACEME, 0, 0, 0):
            os._exit(_MAY_NOT)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)


def _trace(work: Callable[[], object]) -> tuple[int, int]:
    first = os.fork()
    if first == 0:
        _do(work)
    _, status = os.waitpid(first, 0)
    options = _CALLS | _FORK | _VFORK | _CLONE | _EXEC | _END_WITH_TRACER
    if not os.WIFSTOPPED(status) or not _ptrace(_SET_OPTIONS, first, 0, options):
        raise NotTracedError("processes may not be traced here", 1)
    calls: Counter[int] = Counter()
    seen = {first}
    _ptrace(_NEXT_CALL, first, 0, 0)
    while True:
        try:
            thread, status = os.waitpid(-1, _ALL_THREADS)
        except ChildProcessError:
            break
        if not os.WIFSTOPPED(status):
            if thread == first and status != 0:
                raise LockcrossError("what was to be traced has failed", 1)
            continue
        why = os.WSTOPSIG(status)
        if why == _AT_A_CALL:
            calls[thread] += _enters(thread)
        # A thread begins with a stop that is nobody's, and stops at each that it starts.
        ours = why == _AT_A_CALL or status >> 16 or thread not in seen
        seen.add(thread)
        _ptrace(_NEXT_CALL, thread, 0, 0 if ours else why)  # one that was killed cannot go on
    return calls[first], calls.total() - calls[first]


def _enters(thread: int) -> bool:
    """Whether a thread that stops at a system call has not done it yet."""
    info = ctypes.c_uint8()
    if not _ptrace(_CALL_INFO, thread, ctypes.sizeof(info), ctypes.addressof(info)):
        if ctypes.get_errno() == errno.ESRCH:  # it was killed
            return False
        raise NotTracedError("the kernel does not say where a process was stopped", 1)
    return info.value == _ENTRY
