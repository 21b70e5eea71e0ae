"""Keeps keys in the kernel: add_key, request_key, keyctl."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    import errno
    import os

    arm = os.uname().machine == "aarch64"
    add, request, control = (217, 218, 219) if arm else (248, 249, 250)
    name, process, session = given["mark"], -2, -3
    # In the keyring of a process that ends at once: nothing of it stays, in a control either.
    answers = {
        "add_key": apart(lambda: call(add, "user", name, "x", 1, process)),
        "request_key": apart(lambda: call(request, "user", name, 0, 0)),
        "keyctl": apart(lambda: call(control, 0, session, 0)),
    }
    refused = (None, -errno.EPERM, -errno.ENOSYS)
    passed = [each for each, answer in answers.items() if answer not in refused]
    return f"the kernel answered {', '.join(passed)}" if passed else None


ATTACK = Attack(probe, expects="each is refused", uses=(call, apart))
