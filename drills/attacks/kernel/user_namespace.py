"""Makes a user namespace, in which it would have all capabilities: unshare, clone, clone3."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart, call

NEW_USER = 0x10000000


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal

    arm = os.uname().machine == "aarch64"
    unshare, clone, clone3 = (97, 220, 435) if arm else (272, 56, 435)
    user = given["flag"]

    def child(number: int, *words: Any) -> int:
        pid = call(number, *words)
        if pid == 0:
            os._exit(0)
        if pid > 0:
            os.waitpid(pid, 0)
        return pid

    ways = {
        "unshare": lambda: call(unshare, user),
        "clone": lambda: child(clone, user | signal.SIGCHLD, 0, 0, 0, 0),
        "clone3": lambda: child(clone3, [user, 0, 0, 0, int(signal.SIGCHLD), 0, 0, 0], 64),
    }
    answers = {way: apart(act) for way, act in ways.items()}
    passed = [way for way, answer in answers.items() if answer is not None and answer >= 0]
    return f"a user namespace by {', '.join(passed)}" if passed else None


ATTACK = Attack(
    probe,
    expects="none can be made",
    control=Bare(root=True),
    given={"flag": NEW_USER},
    uses=(call, apart),
)
