"""Workers that are forked from a parent with all modules loaded.

    python -m lab.drills.chaos.deployment.forked COUNT

A worker takes seconds to import its libraries. A forked worker is ready at once, so that hundreds
can be killed. Each child is a complete worker process: its event loop, threads, connections and
sandbox are made after the fork. The parent has one thread and opens no files. A child that ends is
replaced. SIGTERM makes the children drain and ends the parent.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import time

import click
import langchain_groq  # noqa: F401 - what a worker imports at its first call

from worker import main as worker

PR_SET_PDEATHSIG = 1
AWAITED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
ASKED_FOR = (0, -signal.SIGKILL, -signal.SIGTERM)
"""Exit codes of workers that the drill drained or killed; the last code: the signal came before the
worker could handle it.
"""
SHORT_SECONDS = 2.0
REST_SECONDS = 0.5
"""The pause before the next child if a child ended so soon by itself, because it may never
start.
"""


@click.command()
@click.argument("count", type=click.IntRange(1, 16))
def main(count: int) -> None:
    """Keep COUNT workers alive until a signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    gc.collect()
    gc.freeze()  # the children share these pages as long as no process writes to them
    children = dict(_born() for _ in range(count))
    while signal.sigwait(AWAITED) == signal.SIGCHLD:
        for pid, code in _reap_children():
            lived = time.monotonic() - children.pop(pid, 0.0)
            if code not in ASKED_FOR:
                sys.stdout.write(f"worker {pid} ended with {code}\n")
                sys.stdout.flush()
            if code >= 0 and lived < SHORT_SECONDS:
                time.sleep(REST_SECONDS)
        while len(children) < count:
            children.update([_born()])
    for pid in children:
        os.kill(pid, signal.SIGTERM)
    for pid in children:
        os.waitpid(pid, 0)


def _born() -> tuple[int, float]:
    """Fork a child; returns it and its start time. The child itself never returns."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid, time.monotonic()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    code = 1
    try:
        os.environ["GROQ_API_KEY"] = f"pid-{os.getpid()}"  # shows the provider which process calls
        worker.main(args=[], standalone_mode=False)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _reap_children() -> list[tuple[int, int]]:
    """The children that have ended, with their exit codes (negative: a signal)."""
    reaped = []
    try:
        while (pid_status := os.waitpid(-1, os.WNOHANG))[0]:
            reaped.append((pid_status[0], os.waitstatus_to_exitcode(pid_status[1])))
    except ChildProcessError:
        pass
    return reaped


if __name__ == "__main__":
    main()
