"""`fettle config`: every setting, its value, and where that came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from pydantic import ValidationError

from cli.context import bad_settings
from cli.output import Screen, print_json
from cli.render.parts import Tone
from settings.api import ApiSettings
from settings.base import FettleSettings
from settings.client import ClientSettings, UpSettings
from settings.reading.config_file import named_file, user_file
from settings.starting.environment import library_variables
from settings.starting.provenance import Setting, trace
from settings.starting.unknown import unread_settings
from settings.worker import WorkerSettings

KINDS: Mapping[str, type[FettleSettings]] = {
    "client": ClientSettings,
    "api": ApiSettings,
    "worker": WorkerSettings,
    "up": UpSettings,
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(flags: Mapping[str, Any], *, as_json: bool) -> None:
    """Show every setting of client, API, worker and `up`: its value, and where it came from.

    First wins: a flag, the environment, the file that --config or FETTLE_CONFIG names, the
    default. Without such a file, the client reads its address and key from
    ~/.config/fettle/config.toml. Secrets are masked.
    """
    settings = _settings(flags)
    unknown, dropped = unread_settings(), library_variables()
    if as_json:
        shown = [_object(*row) for row in settings]
        files = {"file": named_file(), "user_file": user_file()}
        read = {name: path and str(path) for name, path in files.items()}
        print_json({**read, "settings": shown, "unknown": unknown, "dropped": dropped})
        return
    rows = ((s.variable, s.value or "-", s.origin, ", ".join(used)) for s, used in settings)
    Screen().rows(("SETTING", "VALUE", "FROM", "USED BY"), rows)
    for each in unknown:
        Screen(stderr=True).line("unknown", each, Tone.WARN)
    if dropped:
        text = f"{', '.join(dropped)}: variables of libraries, which have no effect in Fettle"
        Screen(stderr=True).line("dropped", text, Tone.WARN)


def _settings(flags: Mapping[str, Any]) -> list[tuple[Setting, list[str]]]:
    """Each setting once, with the processes that use it."""
    found: dict[tuple[str, str], tuple[Setting, list[str]]] = {}
    for process, kind in KINDS.items():
        own = {name: value for name, value in flags.items() if name in kind.model_fields}
        try:
            traced = trace(kind, own)
        except ValidationError as error:
            raise bad_settings(kind, error, own) from None
        for setting in traced:
            found.setdefault((setting.variable, setting.value), (setting, []))[1].append(process)
    return list(found.values())


def _object(setting: Setting, used: list[str]) -> dict[str, Any]:
    return {
        "name": setting.variable,
        "value": setting.value,
        "from": str(setting.origin),
        "used_by": used,
        "description": setting.description,
    }
