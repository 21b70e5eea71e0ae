"""Raw system calls, in a child that may be killed for them. Runs in a room, from its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def call(number: int, *words: Any) -> int:
    """One system call: its answer, or the errno below zero.

    Words are ints, texts, buffers of ctypes, or lists of ints: an array of 64-bit words.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long

    def word(each: Any) -> Any:
        if isinstance(each, list):
            return (ctypes.c_int64 * len(each))(*each)
        if isinstance(each, str):
            return ctypes.c_char_p(each.encode())
        return ctypes.c_long(each) if isinstance(each, int) else each

    kept = [word(each) for each in words]
    answer: int = libc.syscall(ctypes.c_long(number), *kept)
    return answer if answer != -1 else -ctypes.get_errno()


def apart(act: Callable[[], int]) -> int | None:
    """What `act` answers in a child of its own, an OSError as its errno below zero; None where the
    child was killed for it. Raises what `act` did not expect."""
    import os
    import signal

    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(5)
            told = str(int(act()))
        except OSError as error:
            told = str(-(error.errno or 1))
        except BaseException as error:
            told = repr(error)
        os.write(theirs, told.encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        answer = file.read().decode()
    os.waitpid(child, 0)
    if answer and not answer.lstrip("-").isdigit():
        raise RuntimeError(answer)
    return int(answer) if answer else None
