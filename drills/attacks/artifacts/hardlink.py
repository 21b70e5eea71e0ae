"""Links host files, and the system's own, into its work area by a second name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.steps.homecoming import came_home, checked

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation


def probe(given: dict[str, Any]) -> str | None:
    import os
    import sys

    own = (os.__file__, sys.executable, "/etc/passwd", "/proc/self/environ", "/run/main.py")
    for number, path in enumerate((*given["files"], *own)):
        for follow in (True, False):
            try:
                os.link(path, f"x{number}.txt", follow_symlinks=follow)
            except OSError:
                continue
            os.unlink(f"x{number}.txt")
            return f"{path} has a second name in the work area"
    # By its descriptor, as a file that was opened elsewhere.
    with open(os.__file__, "rb") as file:
        try:
            os.link(f"/proc/self/fd/{file.fileno()}", "x.txt", follow_symlinks=True)
            os.unlink("x.txt")
            return "an open library file has a second name in the work area"
        except OSError:
            return None


async def drive(context: Context) -> Observation:
    return checked(context, await context.run())


ATTACK = Attack(
    probe,
    expects="a link to what lies on another file system, or is another's, is refused",
    control=Baseline(root=True),
    drive=drive,
    judge=came_home,
)
