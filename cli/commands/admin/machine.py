"""`fettle doctor` and `fettle config`: whether jobs can run here, and with which settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
from pydantic import ValidationError

from cli.context import bad_settings, load, open_service
from cli.doctor import deployment, machine
from cli.doctor.deployment import Finding, Rating
from cli.errors import from_client
from cli.exit_codes import FAILED, NOT_REACHABLE
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.render.texts import printable
from fettle.errors import FettleError
from settings.api import ApiSettings
from settings.base import FettleSettings
from settings.client import ClientSettings, UpSettings
from settings.reading.config_file import named_file, user_file
from settings.starting.environment import library_variables
from settings.starting.provenance import Setting, trace
from settings.starting.unknown import unread_settings
from settings.worker import WorkerSettings

_TONES = {
    Rating.GOOD: Tone.GOOD,
    Rating.NOTE: Tone.QUIET,
    Rating.WARN: Tone.WARN,
    Rating.BAD: Tone.BAD,
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def doctor_command(flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Check Redis, workers, sandbox and model keys; exit 1 if a job could not run.

    It asks the service, with an operator's key (scope `admin`, tenant `default`). If no service
    answers, it checks this machine instead.
    """
    findings = [*_unknown(), *_dropped(), *_examined(flags)]
    could_run = all(finding.health is not Rating.BAD for finding in findings)
    if as_json:
        print_json({"ok": could_run, "findings": [finding.plain() for finding in findings]})
    else:
        _show(Screen(), findings, could_run=could_run)
    return 0 if could_run else FAILED


def _unknown() -> Iterable[Finding]:
    """Findings on the settings of this machine, which may also be the service's machine."""
    for setting in unread_settings():
        yield Finding("settings", Rating.WARN, setting, "correct it, or leave it out")


def _dropped() -> Iterable[Finding]:
    """The variables of libraries on this machine, which Fettle dropped."""
    if names := library_variables():
        yield deployment.dropped(names, "this command")


def _examined(flags: Mapping[str, Any]) -> Iterable[Finding]:
    try:
        with open_service(flags) as service:
            return list(deployment.findings(service.system()))
    except FettleError as error:
        away = from_client(error)
        if away.exit_code != NOT_REACHABLE:
            raise
        findings = machine.findings(load(WorkerSettings))
        return [Finding("service", Rating.BAD, str(away), away.next_step), *findings]


def _show(screen: Screen, findings: Iterable[Finding], *, could_run: bool) -> None:
    for finding in findings:
        text = printable(finding.text)
        if screen.drawing:
            screen.line(finding.name, text, _TONES[finding.health])
        else:  # without colour, a word has to show the health
            screen.text(f"{finding.health:<5}{finding.name}: {text}")
        if finding.advice:
            screen.line("", f"-> {finding.advice}")
    if could_run:
        screen.line("verdict", "a job could run", Tone.GOOD)
    else:
        screen.line("verdict", "no job could run: see the findings above", Tone.BAD)


KINDS: Mapping[str, type[FettleSettings]] = {
    "client": ClientSettings,
    "api": ApiSettings,
    "worker": WorkerSettings,
    "up": UpSettings,
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def config_command(flags: Mapping[str, Any], *, as_json: bool) -> None:
    """Show every setting of client, API, worker and `up`: its value, and the value's source.

    The first of these counts: a flag, the environment, the file that --config or FETTLE_CONFIG
    names, the default. Without such a file, the client reads its address and key from
    ~/.config/fettle/config.toml. Secrets are masked.
    """
    settings = _settings(flags)
    unknown, dropped = unread_settings(), library_variables()
    if as_json:
        objects = [_object(*row) for row in settings]
        files = {"file": named_file(), "user_file": user_file()}
        read = {name: path and str(path) for name, path in files.items()}
        print_json({**read, "settings": objects, "unknown": unknown, "dropped": dropped})
        return
    rows = ((s.variable, s.value or "-", s.origin, ", ".join(used)) for s, used in settings)
    Screen().rows(("SETTING", "VALUE", "FROM", "USED BY"), rows)
    for setting in unknown:
        Screen(stderr=True).line("unknown", setting, Tone.WARN)
    if dropped:
        text = f"{', '.join(dropped)}: variables of libraries, which have no effect in Fettle"
        Screen(stderr=True).line("dropped", text, Tone.WARN)


def _settings(flags: Mapping[str, Any]) -> list[tuple[Setting, list[str]]]:
    """Each setting once, with the processes that use it."""
    merged: dict[tuple[str, str], tuple[Setting, list[str]]] = {}
    for process, kind in KINDS.items():
        kind_flags = {name: value for name, value in flags.items() if name in kind.model_fields}
        try:
            traced = trace(kind, kind_flags)
        except ValidationError as error:
            raise bad_settings(kind, error, kind_flags) from None
        for setting in traced:
            merged.setdefault((setting.variable, setting.value), (setting, []))[1].append(process)
    return list(merged.values())


def _object(setting: Setting, used: list[str]) -> dict[str, Any]:
    return {
        "name": setting.variable,
        "value": setting.value,
        "from": str(setting.origin),
        "used_by": used,
        "description": setting.description,
    }
