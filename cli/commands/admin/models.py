"""`fettle models`: the models of each role, their prices, and whether they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from api.quantities import money, plural
from cli.context import open_service
from cli.exit_codes import FAILED
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.render.words import printable

UNKNOWN = "unknown"


@click.command()
@click.argument("names", nargs=-1, metavar="[PROVIDER:MODEL]...")
@click.option("--check", is_flag=True, help="Have a worker ask each of them one short question.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(
    flags: Mapping[str, Any], /, *, names: Sequence[str], check: bool, as_json: bool
) -> int:
    """List the models of the workers: by role, with prices per million tokens.

    With --check, or with names, a worker asks each model one short question (a few tokens, charged
    to no job; needs a key with the scope `admin`): exit 1 if one does not answer.
    """
    wanted = check or bool(names)
    with open_service(flags) as service:
        found = dict(service.models())
        if wanted and found["workers"] != 0:
            found["checks"] = service.check_models(names)
        if as_json:
            print_json(found)
        else:
            screen = Screen()
            _show_models(screen, found)
            _show_checks(screen, found.get("checks", ()))
        answered = found["workers"] != 0 and all(each["ok"] for each in found.get("checks", ()))
        return FAILED if wanted and not answered else 0


def _show_models(screen: Screen, found: Mapping[str, Any]) -> None:
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


def _show_checks(screen: Screen, checks: Sequence[Mapping[str, Any]]) -> None:
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
