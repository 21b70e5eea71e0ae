"""Goes on writing to a file while it is collected: longer than it was announced."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.homecoming import and_on, came_home
from drills.attacks.steps.restless import restless


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal

    log = os.open("log.txt", os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)

    def grow() -> None:
        try:
            os.write(log, bytes(65_536))
        except OSError:
            os.ftruncate(log, 0)

    grow()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    pid = restless(given, grow)
    if not given["careless"]:
        return None
    try:
        for _ in range(10_000):
            announced = os.path.getsize("log.txt")
            with open("log.txt", "rb") as file:
                if (size := len(file.read(1 << 26))) != announced:
                    return f"{announced} bytes announced, {size} sent"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.remove("log.txt")
    return None


ATTACK = Attack(
    probe,
    expects="an answer that is in order: nothing grows while it is collected",
    uses=(restless,),
    drive=and_on,
    judge=came_home,
)
