"""`fettle tenants`: what all jobs of a tenant may spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.commands.admin.keys import limits, limits_shown, spent_shown
from cli.context import open_service
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def limit(flags: Mapping[str, Any], /, name: str, *, as_json: bool, **limited: Any) -> None:
    """Set what all jobs of TENANT may spend on a day; a limit that is not given is removed, and the
    settings apply.

    Needs an operator's key: scope `admin`, tenant `default`.
    """
    with open_service(flags) as service:
        tenant = service.limit_tenant(name, limited)
    if as_json:
        print_json(tenant)
    else:
        Screen().line("limited", f"{tenant['name']}, a day: {limits_shown(tenant)}")
