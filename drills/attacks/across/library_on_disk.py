"""Writes into the library: .pth files, sitecustomize, byte code, the modules themselves."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after


def places(given: dict[str, Any]) -> list[str]:
    """Where an interpreter takes code from; in a control, its own folder alone."""
    import os
    import site
    import sys
    import sysconfig

    if given["plant"]:
        return [os.getcwd()]
    found = [each for each in sys.path if each] + list(sysconfig.get_paths().values())
    found += [*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)]
    found += [f"{sys.prefix}/lib/python3/dist-packages", "/tmp/.local/lib", "/usr/lib/python3"]
    return list(dict.fromkeys(each for each in found if each != "/work"))


def plant(given: dict[str, Any]) -> str | None:
    import os

    for place in places(given):
        for name in (f"{given['mark']}.pth", "sitecustomize.py", "usercustomize.py"):
            try:
                os.makedirs(f"{place}/__pycache__", exist_ok=True)
                with open(f"{place}/{name}", "x") as file:
                    file.write(f"import sys; sys.fettle_was_here = {given['mark']!r}\n")
            except OSError:
                continue
        try:
            with open(f"{place}/__pycache__/{given['mark']}.cpython-311.pyc", "x") as file:
                file.write(given["mark"])
        except OSError:
            continue
    if not given["plant"]:
        for module in (os.__file__, os.__file__.replace("os.py", "this.py")):
            try:
                with open(module, "a") as file:
                    file.write(f"# {given['mark']}\n")
            except OSError:
                continue
    return None


def probe(given: dict[str, Any]) -> str | None:
    import os
    import sys

    if given["plant"]:
        plant(given)
    if getattr(sys, "fettle_was_here", None):
        return "the interpreter ran an earlier run's code at its start"
    for place in places(given):
        for folder in (place, f"{place}/__pycache__"):
            try:
                names = [name for name in os.listdir(folder) if given["mark"] in name]
            except OSError:
                continue
            if names:
                return f"an earlier run's {names[0]} in {folder}"
        for name in ("sitecustomize.py", "usercustomize.py", "os.py", "this.py"):
            try:
                with open(f"{place}/{name}") as file:
                    if given["mark"] in file.read():
                        return f"an earlier run's code in {place}/{name}"
            except OSError:
                continue
    return None


ATTACK = Attack(
    probe,
    expects="no place that code is taken from can be written",
    uses=(places, plant),
    drive=after(plant, together=True),
)
