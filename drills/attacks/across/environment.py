"""Changes its environment; a later run looks at its own."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after


def plant(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    os.environ["FETTLE_LEFT"] = given["mark"]
    os.environ["PATH"] = f"/{given['mark']}:{os.environ['PATH']}"
    ctypes.CDLL(None).setenv(b"FETTLE_LEFT_TOO", given["mark"].encode(), 1)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    if given["plant"]:
        plant(given)
    for name, value in os.environ.items():
        if given["mark"] in value:
            return f"an earlier run's {name}"
    ask = ctypes.CDLL(None).getenv
    ask.restype = ctypes.c_char_p
    return "an earlier run's variable in libc" if ask(b"FETTLE_LEFT_TOO") else None


ATTACK = Attack(
    probe,
    expects="each run has the policy's environment",
    uses=(plant,),
    drive=after(plant, together=True),
)
