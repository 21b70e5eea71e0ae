"""Dies by a signal that dumps core: into a file, or into a program of the host."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.planting import planting


def probe(given: dict[str, Any]) -> str | None:
    import os
    import resource
    import signal

    if given["plant"]:
        with open(f"core.{os.getpid()}", "w") as file:
            file.write("core")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGQUIT):
        pid = os.fork()
        if pid == 0:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            os._exit(0)
        if os.WCOREDUMP(os.waitpid(pid, 0)[1]):
            return f"the kernel dumped core for signal {int(number)}"
    for place in (".", "/tmp", "/var/crash", "/var/lib/systemd/coredump", "/cores", "/"):
        try:
            found = [name for name in os.listdir(place) if name.split(".")[0] == "core"]
        except OSError:
            continue
        if found and os.path.isfile(f"{place}/{found[0]}"):
            return f"a core file: {place}/{found[0]}"
    # A pattern that is a pipe starts a program of the host's root, whatever the limit says; but
    # for a limit of one byte, which the kernel takes for a program that dumps while it dumps.
    return f"a core limit of {hard} bytes" if hard not in (0, 1) else None


ATTACK = Attack(
    probe,
    expects="no core, no helper of the host's",
    drive=planting,
)
