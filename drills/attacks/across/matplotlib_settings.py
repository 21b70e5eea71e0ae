"""Changes matplotlib's settings, on disk and in memory; a later run looks at its own."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after


def homes() -> list[str]:
    """Where matplotlib looks for its settings and keeps its caches."""
    import os

    config = os.environ.get("MPLCONFIGDIR", "/tmp/.config/matplotlib")
    return [
        os.getcwd(),
        config,
        "/tmp/.config/matplotlib",
        "/tmp/.cache/matplotlib",
        "/etc/matplotlib",
    ]


def plant(given: dict[str, Any]) -> str | None:
    import os
    import sys

    for home in homes() if not given["plant"] else [os.getcwd()]:
        try:
            os.makedirs(home, exist_ok=True)
            for name in ("matplotlibrc", "fontlist-v390.json", f"{given['mark']}.mplstyle"):
                with open(f"{home}/{name}", "w") as file:
                    file.write(f"savefig.dpi: 77  # {given['mark']}\n")
        except OSError:
            continue
    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].rcParams["savefig.dpi"] = 77
        sys.modules["matplotlib"].rcParamsDefault["savefig.dpi"] = 77
    return None


def probe(given: dict[str, Any]) -> str | None:
    import importlib
    import os

    if given["plant"]:
        plant(given)
    for home in homes():
        try:
            for name in os.listdir(home):
                with open(f"{home}/{name}", errors="replace") as file:
                    if given["mark"] in file.read(1 << 20):
                        return f"an earlier run's {home}/{name}"
        except OSError:
            continue
    try:
        mpl = importlib.import_module("matplotlib")
    except ImportError:
        return None
    for told in (mpl.rcParams, mpl.rcParamsDefault):
        if told["savefig.dpi"] == 77:
            return "an earlier run's settings in memory"
    return None


ATTACK = Attack(
    probe,
    expects="each run has the settings that the library ships",
    uses=(homes, plant),
    drive=after(plant, together=True),
)
