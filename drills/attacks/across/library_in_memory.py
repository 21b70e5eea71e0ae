"""Patches the libraries in its memory; a later run looks whether they are still so."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after


def plant(given: dict[str, Any]) -> str | None:
    import builtins
    import json
    import os
    import random
    import sys
    import types

    builtins.fettle_was_here = given["mark"]  # type: ignore[attr-defined]
    json.dumps.__defaults__ = ()
    os.fettle_was_here = random.fettle_was_here = given["mark"]  # type: ignore[attr-defined]
    sys.modules["fettle_was_here"] = types.ModuleType("fettle_was_here")
    sys.path.append(f"/{given['mark']}")
    sys.intern(given["mark"])
    for name in ("numpy", "matplotlib", "pandas"):
        if name in sys.modules:
            sys.modules[name].fettle_was_here = given["mark"]  # type: ignore[attr-defined]
    return None


def probe(given: dict[str, Any]) -> str | None:
    import builtins
    import sys

    if given["plant"]:
        plant(given)
    for name, module in [("builtins", builtins), *sys.modules.items()]:
        if getattr(module, "fettle_was_here", None) or name == "fettle_was_here":
            return f"an earlier run's patch of {name}"
    if any(given["mark"] in each for each in sys.path):
        return "an earlier run's search path"
    return None


ATTACK = Attack(
    probe,
    expects="each run starts from libraries that no run has touched",
    uses=(plant,),
    drive=after(plant, together=True),
)
