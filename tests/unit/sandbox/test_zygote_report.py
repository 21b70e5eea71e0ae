"""A zygote that cannot tell of a sandbox goes on, whatever has become of that sandbox."""

from __future__ import annotations

import subprocess
import sys

import pytest

UID = 61_109
TELL = f"""
import os, resource, select, socket, sys
from sandbox.zygote import server as zygote
if os.getuid() == 0:
    os.setresuid({UID}, {UID}, {UID})
sandbox = os.fork()
if not sandbox:
    if sys.argv[1] == "lives":
        os.execv("/bin/sleep", ["sleep", "20"])
    os._exit(0)
pidfd = os.pidfd_open(sandbox)
if sys.argv[1] == "ended":
    os.waitpid(sandbox, 0)
own = os.dup(pidfd)
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
way = socket.socketpair()  # of this user's, too many are on their way
socket.send_fds(way[0], [b"x"], [pidfd] * 40)
talk, supervisor = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
zygote._report(talk, pidfd)
print(supervisor.recv(4096).decode(), bool(select.select([own], [], [], 5)[0]))
"""


@pytest.mark.parametrize("sandbox", ["lives", "ended"])
def test_a_sandbox_that_cannot_be_reported_is_killed(sandbox: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", TELL, sandbox],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": "."},
    )
    found = "failed to report a new sandbox: Too many references: cannot splice True\n"
    assert (ran.stdout, ran.stderr, ran.returncode) == (found, "", 0)
