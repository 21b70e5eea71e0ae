"""`fettle keys` and `fettle tenants`: keys, and limits on spending."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

from api.quantities import money
from cli.context import open_service
from cli.errors import CliError
from cli.follow.review_prompt import confirmed
from cli.output import Screen, print_json

SCOPES = ("submit", "read", "review", "admin")


def limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that bound what jobs may spend on a day."""
    dollars = click.option(
        "--max-cost-usd-per-day",
        metavar="DOLLARS",
        help="US dollars that its jobs may spend on a day (UTC).",
    )
    tokens = click.option(
        "--max-tokens-per-day", type=int, metavar="N", help="Tokens that they may use on a day."
    )
    return dollars(tokens(command))


@click.group()
def keys_command() -> None:
    """Create, list and revoke API keys. Needs a key with the scope `admin`."""


@keys_command.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=("submit", "read", "review"),
    show_default=True,
    help="What the key may do; may be given again.",
)
@click.option(
    "--person",
    metavar="NAME",
    help="The person who owns the key, for good; else a person of the key's name.",
)
@click.option("--tenant", metavar="NAME", help="The tenant of the key; else your key's tenant.")
@click.option("--expires-days", type=int, metavar="N", help="Days until the key expires.")
@limits
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def create(
    flags: Mapping[str, Any],
    /,
    name: str,
    *,
    scopes: tuple[str, ...],
    person: str | None,
    tenant: str | None,
    as_json: bool,
    **limited: Any,
) -> None:
    """Create a key named NAME: it signs decisions. Its secret is shown this once.

    If a job needs two approvals, all keys of a person have one vote, and a key that you make for
    another person has none, unless you make it with the operator's first key.
    """
    request = {"name": name, "scopes": list(scopes), "person": person, "tenant": tenant, **limited}
    request = {field: value for field, value in request.items() if value is not None}
    with open_service(flags) as service:
        key = service.create_key(request)
        if as_json:
            print_json(key)
            return
        screen = Screen()
        may = ", ".join(key["scopes"])
        screen.line("key", f"{key['id']}, of tenant {key['tenant']}, may {may}")
        screen.line("person", key.get("person") or key["name"])
        screen.line("secret", key["secret"])
        screen.line(
            "", "it is not shown again; use it as FETTLE_API_KEY or in the header X-API-Key"
        )


@keys_command.command("limit")
@click.argument("key_id", metavar="ID")
@limits
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def limit_key(flags: Mapping[str, Any], /, key_id: str, *, as_json: bool, **limited: Any) -> None:
    """Set the limits on the daily spending of the key ID; a limit without an option is removed, and
    the settings apply.

    Needs an operator's key: scope `admin`, tenant `default`.
    """
    with open_service(flags) as service:
        key = service.limit_key(key_id, limited)
        if as_json:
            print_json(key)
        else:
            Screen().line("limited", f"{key['id']}, a day: {format_limits(key)}")


@keys_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def list_keys(flags: Mapping[str, Any], *, as_json: bool) -> None:
    """List keys, oldest first, without their secrets."""
    with open_service(flags) as service:
        keys = service.keys()
        if as_json:
            print_json({"keys": keys})
            return
        heads = ("ID", "NAME", "TENANT", "SCOPES", "CREATED", "REVOKED", "PER DAY", "TODAY")
        Screen().rows((*heads, "PERSON", "MADE BY", "EXPIRES", "USED"), map(_row, keys))


@keys_command.command()
@click.argument("key_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def revoke(flags: Mapping[str, Any], key_id: str, *, as_json: bool) -> None:
    """Revoke the key ID, for good."""
    with open_service(flags) as service:
        service.revoke_key(key_id)
    if as_json:
        print_json({"id": key_id, "revoked": True})
    else:
        Screen().line("revoked", key_id)


def _row(key: Mapping[str, Any]) -> tuple[str, ...]:
    moments = ("created_at", "revoked_at", "expires_at", "last_used_at")
    times = [(key.get(name) or "-")[:10] for name in moments]
    names = (key["id"], key["name"], key["tenant"], ",".join(key["scopes"]))
    owner = (key.get("person") or key["name"], key.get("created_by") or "-")
    return (*names, *times[:2], format_limits(key), format_spent(key), *owner, *times[2:])


def format_spent(key: Mapping[str, Any]) -> str:
    """What a key or a tenant has spent today."""
    spent = key.get("spent_today")
    return f"{money(spent['cost_usd'])}, {spent['tokens']:,} tokens" if spent else "-"


def format_limits(key: Mapping[str, Any]) -> str:
    """What a key or a tenant may spend on a day."""
    dollars, tokens = key.get("max_cost_usd_per_day"), key.get("max_tokens_per_day")
    parts = (
        f"${dollars}" if dollars is not None else "",
        f"{tokens:,} tokens" if tokens is not None else "",
    )
    return ", ".join(filter(None, parts)) or "-"


@click.group()
def tenants_command() -> None:
    """List tenants, and limit what each may spend on a day. Needs a key with the scope `admin`."""


@tenants_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def list_tenants(flags: Mapping[str, Any], *, as_json: bool) -> None:
    """List your tenant, or with an operator's key (scope `admin`, tenant `default`) all tenants."""
    with open_service(flags) as service:
        tenants = service.tenants()
        if as_json:
            print_json({"tenants": tenants})
            return
        rows = ((tenant["name"], format_limits(tenant), format_spent(tenant)) for tenant in tenants)
        Screen().rows(("TENANT", "PER DAY", "TODAY"), rows)


@tenants_command.command("limit")
@click.argument("name", metavar="TENANT")
@limits
@click.option("--yes", is_flag=True, help="Do not ask whether an unknown tenant is meant.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def limit_tenant(
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
            _require_known(name, [entry["name"] for entry in service.tenants()], asking=not as_json)
        tenant = service.limit_tenant(name, limited)
        if as_json:
            print_json(tenant)
        else:
            Screen().line("limited", f"{tenant['name']}, a day: {format_limits(tenant)}")


def _require_known(name: str, existing: Sequence[str], *, asking: bool) -> None:
    """Raise CliError for an unknown tenant, unless the person at the terminal confirms it."""
    if name in existing:
        return
    title = f"no tenant {name} has a key or limits"
    similar = get_close_matches(name, existing, n=1)
    hint = f"did you mean {similar[0]}?" if similar else ""
    if not (asking and Screen().asking):
        step = "--yes limits it all the same; `fettle tenants list` shows the tenants"
        raise CliError(title, hint, step)
    if not confirmed(f"{title}. {hint} Limit it all the same?".replace("  ", " "), default=False):
        raise CliError("nothing was changed", next_step="`fettle tenants list` shows the tenants")
