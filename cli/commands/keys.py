"""`fettle keys`: who may do what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.screen import Screen, print_json

SCOPES = ("submit", "read", "review", "admin")


@click.group()
def command() -> None:
    """Create, list and revoke API keys. Needs a key with the scope `admin`."""


@command.command()
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
@click.option("--tenant", metavar="NAME", help="Whose jobs it sees; else your key's own tenant.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def create(
    flags: Mapping[str, Any],
    name: str,
    *,
    scopes: tuple[str, ...],
    tenant: str | None,
    as_json: bool,
) -> None:
    """Create a key named NAME: it signs decisions. Its secret is shown this once."""
    asked = {"name": name, "scopes": list(scopes), **({"tenant": tenant} if tenant else {})}
    with open_service(flags) as service:
        key = service.create_key(asked)
    if as_json:
        print_json(key)
        return
    screen = Screen()
    screen.line("key", f"{key['id']}, of tenant {key['tenant']}, may {', '.join(key['scopes'])}")
    screen.line("secret", key["secret"])
    screen.line("", "it is not shown again; use it as FETTLE_API_KEY or in the header X-API-Key")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def list_keys(flags: Mapping[str, Any], *, as_json: bool) -> None:
    """List keys, oldest first, without their secrets."""
    with open_service(flags) as service:
        keys = service.keys()
    if as_json:
        print_json({"keys": keys})
        return
    heads = ("ID", "NAME", "TENANT", "SCOPES", "CREATED", "REVOKED")
    Screen().rows(heads, (_row(key) for key in keys))


@command.command()
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
    times = ((key[name] or "-")[:10] for name in ("created_at", "revoked_at"))
    return (key["id"], key["name"], key["tenant"], ",".join(key["scopes"]), *times)
