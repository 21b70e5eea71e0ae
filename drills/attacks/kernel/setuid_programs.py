"""Starts programs that would run as their owner, root: those with the setuid bit."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat
    import subprocess
    import time

    def words(pid: int | str) -> dict[str, list[str]]:
        with open(f"/proc/{pid}/status") as file:
            return {line.split(":")[0]: line.split()[1:] for line in file}

    found = []
    for folder in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/lib/openssh"):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            kind = os.stat(path) if os.path.exists(path := f"{folder}/{name}") else None
            if kind and stat.S_ISREG(kind.st_mode) and kind.st_mode & stat.S_ISUID:
                found.append(path)
    for path in found:
        quiet = subprocess.DEVNULL
        try:
            program = subprocess.Popen([path, "--help"], stdin=quiet, stdout=quiet, stderr=quiet)
        except OSError:
            continue
        until, ended = time.monotonic() + 1, os.WEXITED | os.WNOWAIT | os.WNOHANG
        while not os.waitid(os.P_PID, program.pid, ended) and time.monotonic() < until:
            time.sleep(0.01)  # what has ended, and is not waited for, still tells who it was
        real, effective, saved, _ = words(program.pid)["Uid"]
        program.kill()
        program.wait()
        if real not in {effective, saved}:
            return f"{path} ran as {effective}, for {real}"
    if words("self")["NoNewPrivs"] == ["0"]:
        return f"nothing keeps it from gaining rights by a program; found: {found}"
    return None


ATTACK = Attack(probe, expects="such programs gain nothing, whether there are any or not")
