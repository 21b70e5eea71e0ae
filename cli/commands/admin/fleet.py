"""`fettle fleet` and `fettle drain`: the rules that all workers follow, the defaults for new jobs,
and the end of a worker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import click
from pydantic import ValidationError

from api.schemas.job_defaults import JobDefaults
from cli.context import open_service
from cli.output import Screen, print_json
from fettle import Service
from fettle.errors import ApiError

REMOVES_JOBS = "/problems/removes-jobs"
"""The problem that asks for a confirmation; its `limit` is the number of the jobs."""


@click.group()
def fleet_command() -> None:
    """Show and change the rules for all workers: leases, retries, retention.

    Needs an operator's key: scope `admin`, tenant `default`.
    """


@fleet_command.command("settings")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def show(flags: Mapping[str, Any], *, as_json: bool) -> None:
    """Show the rules, and who changed them last."""
    with open_service(flags) as service:
        _print(service.fleet(), as_json=as_json)


@fleet_command.command("set")
@click.argument("pairs", metavar="NAME=VALUE...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask before finished jobs are removed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def change(flags: Mapping[str, Any], pairs: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Change rules for all workers, such as `retention_days=90`. They follow within seconds.

    A shorter retention removes finished jobs for good: the command names their number, and asks.
    """
    values = dict(map(_value, pairs))
    with open_service(flags) as service:
        changed = _changed(service, values, yes=yes)
    _print(changed, as_json=as_json)


@fleet_command.command("defaults")
@click.argument("pairs", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def change_defaults(flags: Mapping[str, Any], pairs: tuple[str, ...], *, as_json: bool) -> None:
    """Show the defaults for new jobs, or change some, such as `critic_model=groq:a,groq:b`,
    `review=true`, `timeout_seconds=30m`, `labels=`. An empty value is no default.

    A job gets the default of each term that its request leaves out. Existing jobs do not change.
    """
    defaults = _defaults(pairs)
    with open_service(flags) as service:
        fleet = service.fleet()
        if defaults:
            fleet = service.change_defaults(fleet["version"], defaults)
    if as_json:
        print_json(fleet["defaults"])
        return
    rows = [(name, _text(term)) for name, term in fleet["defaults"].items()]
    Screen().rows(("TERM OF NEW JOBS", "DEFAULT"), rows or [("-", "no defaults")])


def _defaults(pairs: Iterable[str]) -> Mapping[str, Any]:
    """The terms as PUT /fleet takes them. Raises click.BadParameter."""
    texts = {name: text for name, _, text in (pair.partition("=") for pair in pairs)}
    if unnamed := [pair for pair in pairs if "=" not in pair]:
        raise click.BadParameter(f"{unnamed[0]!r} is not NAME=VALUE, such as review=true")
    values = {name: text or None for name, text in texts.items()}
    try:
        terms = JobDefaults.model_validate(values, strict=False)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        name = str(wrong["loc"][0])
        if wrong["type"] == "extra_forbidden":
            raise click.BadParameter(
                f"there is no term {name}: use {', '.join(JobDefaults.model_fields)}"
            ) from None
        raise click.BadParameter(f"{name}: {wrong['msg']}") from None
    return terms.model_dump(mode="json", exclude_unset=True)


def _text(term: object) -> str:
    if isinstance(term, bool):
        return str(term).lower()
    return ", ".join(map(str, term)) if isinstance(term, list) else str(term)


def _changed(service: Service, values: Mapping[str, float], *, yes: bool) -> Mapping[str, Any]:
    """The rules after the change. Asks again if more jobs have expired since the first question."""
    version, accepted = service.fleet()["version"], 0
    while True:
        try:
            return service.change_fleet(version, values, accepted)
        except ApiError as refused:
            if refused.type != REMOVES_JOBS:
                raise
            accepted = int(refused.problem["limit"])
        if not yes:
            removal = (
                f"{accepted} finished jobs are older than the new retention_days, and will be "
            )
            click.confirm(f"{removal}removed at once, for good. Go on?", abort=True, err=True)


def _value(pair: str) -> tuple[str, float | int]:
    name, equals, text = pair.partition("=")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not equals or not name or not math.isfinite(number):
        raise click.BadParameter(f"{pair!r} is not NAME=NUMBER, such as retention_days=90")
    name = name.lower().removeprefix("fettle_")
    return name, int(number) if number.is_integer() else number


def _print(fleet: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(fleet)
        return
    screen = Screen()
    screen.rows(("SETTING", "VALUE", "DEFAULT", "MEANING"), _setting_rows(fleet["settings"]))
    for name, term in fleet.get("defaults", {}).items():
        screen.line("new jobs", f"{name}={_text(term)}")
    for change in fleet["changes"][:1]:
        rules = {name: rule for name, rule in change["values"].items() if name != "defaults"}
        values = ", ".join(f"{name}={value:g}" for name, value in rules.items()) or "defaults"
        screen.line("changed", f"{change['at']} by {change['by']}: {values}")
    if not fleet["version"]:
        screen.line("record", "no record yet: the first worker creates it")


def _setting_rows(settings: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, ...]]:
    for setting in settings:
        yield (
            setting["name"],
            f"{setting['value']:g}",
            f"{setting['default']:g}",
            setting["description"],
        )


@click.command()
@click.argument("worker")
@click.pass_obj
def drain_command(flags: Mapping[str, Any], worker: str) -> None:
    """Drain WORKER (its id, as `fettle doctor` shows it): it returns its jobs to the queue and
    stops.

    The worker reads the request at its next heartbeat, and acts as it does at SIGTERM. Its
    supervisor may start another worker.
    """
    with open_service(flags) as service:
        service.drain(worker)
    Screen().line("asked", f"{worker} returns its jobs to the queue, and stops")
