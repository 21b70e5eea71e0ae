"""Connects to unix sockets of the host that have a path: the canary's, an engine's, a bus's."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import itertools
    import os
    import socket
    import stat

    path = given["servers"]["unix"]
    for way in (path, f"/proc/1/root{path}", f"/proc/{os.getppid()}/root{path}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(2)
            try:
                link.connect(way)
                link.sendall(given["mark"].encode())
                return f"{way} answered {len(link.recv(100))} bytes"
            except OSError:
                continue
    # Others are looked for by name, and never connected to: in a control they are someone's.
    known = ["/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/systemd/private"]
    places = itertools.chain(
        *(os.walk(each) for each in ("/run", "/tmp", "/var", "/work", "/home"))
    )
    seen = (f"{folder}/{name}" for folder, _, names in places for name in names)
    for each in itertools.chain(known, itertools.islice(seen, 5_000)):
        try:
            if stat.S_ISSOCK(os.lstat(each).st_mode):
                return f"there is a socket {each}"
        except OSError:
            continue
    return None


ATTACK = Attack(probe, expects="none of them is there, nor any other socket")
