"""`fettle models`: the models of each role, their prices, and whether jobs can run with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from api.quantities import UNREPORTED, money, plural
from cli.context import open_service
from cli.exit_codes import FAILED
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.render.texts import printable

UNKNOWN = "unknown"
_STEPS = {
    "forced_tool": "calls a forced tool",
    "tool_call": "calls a tool",
    "tool_result": "answers to its result",
    "usage": "reports tokens",
}
"""The steps of a check, in words."""
_FORCING = frozenset({"tool_choice", "toolConfig"})
"""The fields that force a tool, in the wire formats."""


@click.command()
@click.argument("names", nargs=-1, metavar="[PROVIDER:MODEL]...")
@click.option("--check", is_flag=True, help="Have a worker begin a small job with each of them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def models_command(
    flags: Mapping[str, Any], /, *, names: Sequence[str], check: bool, as_json: bool
) -> int:
    """List the models of the workers: by role, with prices per million tokens.

    With --check, or with names, a worker begins a small job with each model: the model has to call
    a forced tool, then one of the executor's tools, and to answer when it gets the result. That
    takes three requests of about 3,500 tokens together, charged to no job, and a key with the scope
    `admin`. Exit 1 if no job can run with one of the models.
    """
    checks_models = check or bool(names)
    with open_service(flags) as service:
        models = dict(service.models())
        if checks_models and models["workers"] != 0:
            with Screen(stderr=as_json).waiting("a worker checks the models"):
                checks = service.check_models(names)
            models = {**service.models(), "checks": checks}  # with the forms that it has learned
        if as_json:
            print_json(models)
        else:
            screen = Screen()
            _show_models(screen, models)
            _show_accepted(screen, models.get("accepted", ()))
            _show_checks(screen, models.get("checks", ()))
        all_ok = all(result["ok"] for result in models.get("checks", ()))
        answered = models["workers"] != 0 and all_ok
        return FAILED if checks_models and not answered else 0


def _show_models(screen: Screen, models: Mapping[str, Any]) -> None:
    """Roles, models, and the reasons why some models cannot be called."""
    if models["workers"] == 0 or not (models["roles"] or models["recordings"]):
        screen.line("workers", "none was seen lately: start one with `python -m worker`", Tone.BAD)
        return
    screen.title("roles")
    for role, chains in models["roles"].items():
        for level, chain in enumerate(chains):
            climbs = "" if level == 0 else f"level {level}: "
            screen.line(role if level == 0 else "", climbs + ", then ".join(chain))
        if not chains:
            screen.line(role, "no model: set FETTLE_MODEL where the workers run", Tone.BAD)
    if models["offered"]:
        screen.title("models, in USD for a million tokens; context in tokens")
        heads = ("MODEL", "IN", "OUT", "CONTEXT", "STATE")
        screen.rows(heads, (_row(model) for model in models["offered"]))
    screen.title("providers")
    columns = ("PROVIDER", "STATE")
    screen.rows(columns, ((provider["name"], _state(provider)) for provider in models["providers"]))
    screen.text()
    if models["recordings"]:
        screen.line("recordings", ", ".join(map(printable, models["recordings"])), Tone.QUIET)
    screen.line("allowed", f"jobs may name {', '.join(models['allowed'])}", Tone.QUIET)
    if models["differing"]:
        differing = ", ".join(map(printable, models["differing"]))
        screen.line("differing", f"other workers say otherwise: {differing}", Tone.WARN)


def _show_accepted(screen: Screen, forms: Sequence[Mapping[str, Any]]) -> None:
    """The forms of requests that servers accept, if they differ from the usual form."""
    if forms:
        screen.title("what servers accept")
        rows = ((printable(form["model"]), _form(form), _source(form)) for form in forms)
        screen.rows(("MODEL", "FORM", "SOURCE"), rows)


def _form(accepted: Mapping[str, Any]) -> str:
    dropped = sorted({*accepted["drop"]} - _FORCING)
    parts = ["no tool is forced"] if _FORCING & {*accepted["drop"]} else []
    parts += [f"without {', '.join(dropped)}"] if dropped else []
    parts += [f"{old} as {new}" for old, new in sorted(accepted["rename"].items())]
    parts += [f"with {name}" for name in sorted(accepted["add"])]
    if accepted["short_ids"]:
        parts.append("short ids of calls")
    if accepted["named_results"]:
        parts.append("names in results")
    if (tokens := accepted["max_output_tokens"]) is not None:
        parts.append(f"at most {tokens:,} output tokens")
    if (tokens := accepted["context_tokens"]) is not None:
        parts.append(f"context of {tokens:,} tokens")
    return printable("; ".join(parts)) or "as Fettle sends it"


def _source(accepted: Mapping[str, Any]) -> str:
    if accepted["source"] == "setting":
        return "FETTLE_MODEL_CAPABILITIES"
    learned, expires = (str(accepted[name])[:10] for name in ("learned_at", "expires_at"))
    return f"learned {learned}, until {expires}"


def _show_checks(screen: Screen, checks: Sequence[Mapping[str, Any]]) -> None:
    """A line for each checked model, and one for each step."""
    if not checks:
        return
    screen.title("checked")
    for check in checks:
        name = printable(check["name"])
        if check["ok"] and check["seconds"] is None:
            screen.line("ok", f"{name}: a recording, nobody is asked", Tone.GOOD)
            continue
        if check["ok"]:
            screen.line("ok", f"{name}: a job can run; {_timing(check)}", Tone.GOOD)
        elif check["steps"]:
            screen.line("no", f"{name}: no job can run", Tone.BAD)
        else:
            screen.line("no", printable(check["error"] or name), Tone.BAD)
        for step in check["steps"]:
            _show_step(screen, step)
        for note in check.get("notes", ()):
            screen.line("  note", printable(note), Tone.WARN)
        if check.get("context_tokens") is not None:
            screen.line("  context", f"{check['context_tokens']:,} tokens", Tone.QUIET)


def _show_step(screen: Screen, step: Mapping[str, Any]) -> None:
    label = _STEPS.get(step["step"], step["step"].replace("_", " "))
    if step["ok"] is None:
        screen.line(f"  {label}", "not tried", Tone.QUIET)
    elif step["ok"]:
        seconds = "" if step["seconds"] is None else f", {step['seconds']:.2f} s"
        screen.line(f"  {label}", f"ok{seconds}", Tone.QUIET)
    else:
        tone = Tone.BAD if step["required"] else Tone.WARN
        screen.line(f"  {label}", printable(step["error"] or "failed"), tone)


def _row(model: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    prices = (model["input_usd"] or UNKNOWN, model["output_usd"] or UNKNOWN)
    tokens = model.get("context_tokens")
    context = UNKNOWN if tokens is None else f"{tokens:,}"
    return printable(model["name"]), *prices, context, _state(model)


def _state(offered: Mapping[str, Any]) -> str:
    """The state of a model or of a provider."""
    missing = offered["missing"]
    return "ready" if missing is None else f"needs {printable(missing)}"


def _timing(check: Mapping[str, Any]) -> str:
    first = check["first_token_seconds"]
    first_token = "" if first is None else f" (first token {first:.2f} s)"
    tokens = check["output_tokens"]
    if tokens is None:
        return f"{check['seconds']:.2f} s{first_token}, {UNREPORTED}"
    usage = f"{plural(tokens, 'token')}, {money(check['cost_usd'])}"
    return f"{check['seconds']:.2f} s{first_token}, {usage}"
