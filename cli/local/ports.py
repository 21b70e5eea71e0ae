"""Free ports, and who holds one that is taken."""

from __future__ import annotations

import contextlib
import errno
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LISTENING = "0A"


def free(count: int) -> list[int]:
    """Different ports of loopback that nobody listens on now."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def taken(host: str, port: int) -> bool:
    """Whether nobody else could listen there."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return True
            raise
    return False


def owner(port: int) -> str:
    """`name (pid N)` of the process that listens on a port; empty where that cannot be seen."""
    sockets = _sockets(port)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is not ours to look at
            if any(_target(link) in sockets for link in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return ""


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed since it was listed
        return ""


def _sockets(port: int) -> set[str]:
    found = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            local, state = fields[1], fields[3]
            if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found
