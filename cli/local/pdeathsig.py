"""Runs a program that dies with its parent: `python -I -S pdeathsig.py PARENT PROGRAM [ARG]...`.

The kernel sends the program SIGTERM when the thread that started it ends, even by SIGKILL; the
setting survives exec. So it must be started from a main thread. A file of its own, without imports
of Fettle: it runs before the program for a few milliseconds only.
"""

import os
import sys

PR_SET_PDEATHSIG = 1
SIGTERM = 15


def main() -> None:
    """Tie this process to its parent, then become the program."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - 40 ms that other systems need not spend

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGTERM)
    if os.getppid() != parent:  # the parent died before this process was tied to it
        sys.exit(128 + SIGTERM)
    os.execvp(program[0], program)  # noqa: S606 - the whole purpose


if __name__ == "__main__":
    main()
