"""Models, as `fettle models` shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from api.quantities import money, plural
from cli.output import Screen
from cli.render.parts import Tone
from cli.render.words import printable

UNKNOWN = "unknown"


def models_shown(screen: Screen, found: Mapping[str, Any]) -> None:
    """Roles, models, and what keeps some from being asked."""
    if found["workers"] == 0 or not (found["roles"] or found["recordings"]):
        screen.line("workers", "none was seen lately: start one with `python -m worker`", Tone.BAD)
        return
    screen.title("roles")
    for role, chains in found["roles"].items():
        for level, chain in enumerate(chains):
            climbs = "" if level == 0 else f"level {level}: "
            screen.line(role if level == 0 else "", climbs + ", then ".join(chain))
        if not chains:
            screen.line(role, "no model: set FETTLE_MODEL where the workers run", Tone.BAD)
    if found["offered"]:
        screen.title("models, in USD for a million tokens")
        heads = ("MODEL", "IN", "OUT", "STATE")
        screen.rows(heads, (_row(model) for model in found["offered"]))
    screen.title("providers")
    columns = ("PROVIDER", "STATE")
    screen.rows(columns, ((each["name"], _state(each)) for each in found["providers"]))
    screen.text()
    if found["recordings"]:
        screen.line("recordings", ", ".join(map(printable, found["recordings"])), Tone.QUIET)
    screen.line("allowed", f"jobs may name {', '.join(found['allowed'])}", Tone.QUIET)
    if found["differing"]:
        others = ", ".join(map(printable, found["differing"]))
        screen.line("differing", f"other workers say otherwise: {others}", Tone.WARN)


def checks_shown(screen: Screen, checks: Sequence[Mapping[str, Any]]) -> None:
    """One line a model that was asked."""
    if not checks:
        return
    screen.title("checked")
    for each in checks:
        name = printable(each["name"])
        if not each["ok"]:
            screen.line("no", printable(each["error"] or name), Tone.BAD)
        elif each["seconds"] is None:
            screen.line("ok", f"{name}: a recording, nobody is asked", Tone.GOOD)
        else:
            screen.line("ok", f"{name}: {_timing(each)}", Tone.GOOD)


def _row(model: Mapping[str, Any]) -> tuple[str, str, str, str]:
    prices = (model["input_usd"] or UNKNOWN, model["output_usd"] or UNKNOWN)
    return printable(model["name"]), *prices, _state(model)


def _state(offered: Mapping[str, Any]) -> str:
    """Of a model or a provider."""
    missing = offered["missing"]
    return "ready" if missing is None else f"needs {printable(missing)}"


def _timing(check: Mapping[str, Any]) -> str:
    first = check["first_token_seconds"]
    began = "" if first is None else f" (first token {first:.2f} s)"
    spent = "" if check["output_tokens"] is None else f", {plural(check['output_tokens'], 'token')}"
    return f"{check['seconds']:.2f} s{began}{spent}, {money(check['cost_usd'])}"
