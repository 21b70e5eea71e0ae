"""`fettle doctor`: whether a job could run, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from cli.context import load, open_service
from cli.doctor import deployment, machine
from cli.doctor.deployment import Finding, Health
from cli.errors import Unreachable
from cli.exit_codes import FAILED
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.render.words import printable
from settings.starting.environment import library_variables
from settings.starting.unknown import unread_settings
from settings.worker import WorkerSettings

_TONES = {
    Health.GOOD: Tone.GOOD,
    Health.NOTE: Tone.QUIET,
    Health.WARN: Tone.WARN,
    Health.BAD: Tone.BAD,
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Check Redis, workers, sandbox and model keys; exit 1 if a job could not run.

    Asks the service, with a key of the operator's: one that has the scope `admin`, in the tenant
    `default`. Where none answers, this machine is checked instead.
    """
    findings = [*_unknown(), *_dropped(), *_examined(flags)]
    could_run = all(finding.health is not Health.BAD for finding in findings)
    if as_json:
        print_json({"ok": could_run, "findings": [finding.plain() for finding in findings]})
    else:
        _show(Screen(), findings, could_run=could_run)
    return 0 if could_run else FAILED


def _unknown() -> Iterable[Finding]:
    """Of this machine, which may be the service's."""
    for each in unread_settings():
        yield Finding("settings", Health.WARN, each, "correct it, or leave it out")


def _dropped() -> Iterable[Finding]:
    """Names variables of this machine, which may be the service's, that Fettle dropped."""
    if names := library_variables():
        yield deployment.dropped(names, "this command")


def _examined(flags: Mapping[str, Any]) -> Iterable[Finding]:
    try:
        with open_service(flags) as service:
            return list(deployment.findings(service.system()))
    except Unreachable as error:
        away = Finding("service", Health.BAD, str(error), error.next_step)
        return [away, *machine.findings(load(WorkerSettings))]


def _show(screen: Screen, found: Iterable[Finding], *, could_run: bool) -> None:
    for finding in found:
        text = printable(finding.text)
        if screen.drawing:
            screen.line(finding.name, text, _TONES[finding.health])
        else:  # without colour the judgement must be a word
            screen.text(f"{finding.health:<5}{finding.name}: {text}")
        if finding.advice:
            screen.line("", f"-> {finding.advice}")
    if could_run:
        screen.line("verdict", "a job could run", Tone.GOOD)
    else:
        screen.line("verdict", "no job could run: see what is marked above", Tone.BAD)
