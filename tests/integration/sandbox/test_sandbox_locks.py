"""Locks on files that all sandboxes can read: a lock of one sandbox affects no other. Real
sandboxes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.local import LocalSandbox
from sandbox.protocol import Command, End, Limits

SYSTEM_PYTHON = Path("/usr/bin/python3")


MANY = """
import fcntl, sys, time
files = [open(f"/tmp/{number}", "w") for number in range(20)]
for file in files:
    for place in range(int(sys.argv[1]) // 20):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * place)
time.sleep(float(sys.argv[2]))
"""

# The child's locks would be on files that it shares, and would outlive it.
SHARED = """
import ctypes, fcntl, os, platform, signal, sys, time
files = [open(f"/tmp/{number}", "w") for number in range(20)]
clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
libc = ctypes.PyDLL(None, use_errno=True)
pid = libc.syscall(clone, ctypes.c_ulong(0x400 | signal.SIGCHLD), None, None, None, None)
if pid < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
if not pid:
    for file in files:
        for place in range(250):
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * place)
    os._exit(0)
os.waitpid(pid, 0)
time.sleep(0.4)
"""
SPAWN = """
import os, subprocess, sys, threading
subprocess.run(["/bin/true"], check=True)
subprocess.run(["/bin/true"], check=True, close_fds=False)
os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
thread = threading.Thread(target=print, args=("threads",))
thread.start()
thread.join()
"""


@pytest.fixture
async def sandbox() -> AsyncIterator[LocalSandbox]:
    opened = LocalSandbox(SYSTEM_PYTHON, pool_size=0)
    yield opened
    await opened.close()


async def test_too_many_locks_end_a_run_like_memory(sandbox: LocalSandbox) -> None:
    few, many_locks = await asyncio.gather(
        *(
            sandbox.run(Command(("python", "-c", MANY, *words)), Limits())
            for words in (("2000", "0.4"), ("40000", "30"))
        )
    )
    assert (few.end, few.exit_code) == (End.EXITED, 0)
    assert many_locks.end is End.MEMORY


async def test_locks_that_would_outlive_their_process_are_refused(
    sandbox: LocalSandbox,
) -> None:
    shared, spawned = await asyncio.gather(
        *(sandbox.run(Command.python(code), Limits()) for code in (SHARED, SPAWN))
    )
    expected = "Operation not permitted\n"
    assert (shared.end, shared.exit_code, shared.stderr.text) == (End.EXITED, 1, expected)
    assert (spawned.exit_code, spawned.stdout.text, spawned.stderr.text) == (0, "threads\n", "")
