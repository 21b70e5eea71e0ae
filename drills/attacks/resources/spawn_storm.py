"""Starts programs by vfork from many threads at once, past the count of processes."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import Limits

LIMIT = 32


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import threading

    made: list[int] = []

    def storm() -> None:
        while len(made) < given["enough"]:
            try:
                made.append(os.posix_spawn("/bin/sleep", ["sleep", "5"], {}))
            except OSError:
                return

    threads = [threading.Thread(target=storm) for _ in range(8)]
    started = []
    for thread in threads:
        try:
            thread.start()
        except RuntimeError:  # the others have taken all there is
            break
        started.append(thread)
    for thread in started:
        thread.join()
    for pid in made:
        os.kill(pid, signal.SIGKILL)
    return f"{len(made)} programs at one time" if len(made) >= given["enough"] else None


ATTACK = Attack(
    probe,
    expects="no way of starting a process is left out of the count",
    limits=Limits(processes=LIMIT),
    given={"enough": 2 * LIMIT},
)
