"""`fettle tenants`: what all jobs of a tenant may spend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from cli.commands.admin.keys import limits, limits_shown, spent_shown
from cli.context import open_service
from cli.errors import CliError
from cli.follow.review_prompt import confirmed
from cli.output import Screen, print_json


@click.group()
def command() -> None:
    """List tenants, and limit what each may spend on a day. Needs a key with the scope `admin`."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def list_tenants(flags: Mapping[str, Any], *, as_json: bool) -> None:
    """List your tenant, or with an operator's key (scope `admin`, tenant `default`) all tenants."""
    with open_service(flags) as service:
        tenants = service.tenants()
        if as_json:
            print_json({"tenants": tenants})
            return
        rows = ((each["name"], limits_shown(each), spent_shown(each)) for each in tenants)
        Screen().rows(("TENANT", "PER DAY", "TODAY"), rows)


@command.command("limit")
@click.argument("name", metavar="TENANT")
@limits
@click.option("--yes", is_flag=True, help="Do not ask whether an unknown tenant is meant.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def limit(
    flags: Mapping[str, Any], /, name: str, *, yes: bool, as_json: bool, **limited: Any
) -> None:
    """Set what all jobs of TENANT may spend on a day; a limit that is not given is removed, and the
    settings apply.

    Needs an operator's key: scope `admin`, tenant `default`. A tenant without a key and without
    limits is unknown, and its name may be misspelt: a person at a terminal is asked, and elsewhere
    the command fails without --yes.
    """
    with open_service(flags) as service:
        if not yes:
            _require_known(name, [each["name"] for each in service.tenants()], asking=not as_json)
        tenant = service.limit_tenant(name, limited)
        if as_json:
            print_json(tenant)
        else:
            Screen().line("limited", f"{tenant['name']}, a day: {limits_shown(tenant)}")


def _require_known(name: str, known: Sequence[str], *, asking: bool) -> None:
    """Return if the tenant is known, or a person means it. Raises CliError otherwise."""
    if name in known:
        return
    title = f"no tenant {name} has a key or limits"
    similar = get_close_matches(name, known, n=1)
    hint = f"did you mean {similar[0]}?" if similar else ""
    if not (asking and Screen().asking):
        step = "--yes limits it all the same; `fettle tenants list` shows the tenants"
        raise CliError(title, hint, step)
    if not confirmed(f"{title}. {hint} Limit it all the same?".replace("  ", " "), default=False):
        raise CliError("nothing was changed", next_step="`fettle tenants list` shows the tenants")
