"""Takes all the memory, processes and disk a run may take; the next one wants its own share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import MIB, Limits

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation

SHARE = Limits(memory_bytes=192 * MIB, processes=24, workspace_bytes=16 * MIB)
LESS = Limits(memory_bytes=192 * MIB, processes=4, workspace_bytes=2 * MIB)


def fill(given: dict[str, Any]) -> str | None:
    import os
    import time

    for place in ("/dev/shm", "/tmp", "/work"):
        try:
            with open(f"{place}/full", "wb") as file:
                file.writelines(bytes(1 << 20) for _ in range(100))
        except OSError:
            continue
    try:
        for _ in range(100):
            if os.fork() == 0:
                time.sleep(10)
                os._exit(0)
    except OSError:
        pass
    kept = []
    for _ in range(400):
        kept.append(bytearray(b"x") * (1 << 20))
        time.sleep(0.001)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    for place in ("/dev/shm", "/tmp", os.getcwd()):
        with open(f"{place}/{given['mark']}", "wb") as file:
            try:
                file.write(bytes(8 << 20))
                file.flush()
            except OSError as error:
                return f"no 8 MiB in {place}: {error}"
        os.remove(f"{place}/{given['mark']}")
    made = []
    try:
        for _ in range(12):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.2)
                os._exit(0)
            made.append(pid)
    except OSError as error:
        return f"{len(made)} processes, and no more: {error}"
    finally:
        for pid in made:
            os.waitpid(pid, 0)
    kept = [bytearray(b"x") * (1 << 20) for _ in range(64)]
    return None if len(kept) == 64 else "no memory"


async def drive(context: Context) -> Observation:
    await context.run(fill)
    seen = await context.run()
    if seen.report is not None and seen.report.reached is None:
        seen = await context.run()
    return seen


ATTACK = Attack(
    probe,
    expects="what a run has taken is given back in full before the next one starts",
    limits=SHARE,
    control=Raised(LESS),
    drive=drive,
)
