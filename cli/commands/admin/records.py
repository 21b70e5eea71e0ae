"""`fettle decisions` and `fettle webhooks`: the record of decisions, webhooks and their outbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import click

from api.http.foreign_text import first_line
from api.quantities import plural
from cli.context import open_service
from cli.output import Screen, print_json
from cli.render.texts import printable
from settings.webhooks import WebhookFormat

AT_ONCE = 1_000


@click.command()
@click.option("--from", "start", metavar="TIME", help="The start of the time, such as 2026-11-01.")
@click.option("--to", "end", metavar="TIME", help="The end of the time; default: now.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of one JSON object a line.")
@click.pass_obj
def decisions_command(
    flags: Mapping[str, Any], /, *, start: str | None, end: str | None, as_csv: bool
) -> None:
    """Export decisions, oldest first. A decision is removed together with its job."""
    with open_service(flags) as service:
        offset = 0
        while True:
            query = {"from": start, "to": end, "limit": AT_ONCE, "offset": offset}
            if as_csv:
                text, total = service.decisions_csv(query)
                click.echo(text if offset == 0 else text.split("\r\n", 1)[1], nl=False)
            else:
                part = service.decisions(query)
                total = part["total"]
                for decision in part["decisions"]:
                    print_json(decision)
            offset += AT_ONCE
            if offset >= total:
                return


@click.group()
def webhooks_command() -> None:
    """Add, show and delete the webhooks of a tenant: needs a key with the scope `admin`. Show
    messages that have not arrived: needs an operator's key (scope `admin`, tenant `default`)."""


@webhooks_command.command("show")
@click.argument("tenant")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def show(flags: Mapping[str, Any], /, tenant: str, *, as_json: bool) -> None:
    """Show the webhooks of TENANT, without their secrets."""
    with open_service(flags) as service:
        webhooks = service.tenant_webhooks(tenant)
    if as_json:
        print_json({"webhooks": webhooks})
        return
    rows = (
        (
            *(hook[name] for name in ("id", "address", "format")),
            ", ".join(hook["labels"]) or "all",
            ", ".join(hook["events"]) or "all",
        )
        for hook in webhooks
    )
    Screen().rows(("ID", "ADDRESS", "FORMAT", "LABELS", "MESSAGES"), rows)


@webhooks_command.command()
@click.argument("tenant")
@click.argument("url")
@click.option("--format", type=click.Choice(get_args(WebhookFormat)), default="generic")
@click.option("--label", "labels", multiple=True, help="Only jobs with one of these labels.")
@click.option("--event", "events", multiple=True, help="Only messages of one of these types.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def add(flags: Mapping[str, Any], /, tenant: str, *, as_json: bool, **request: Any) -> None:
    """Send messages about the jobs of TENANT to URL. The secret that signs them is shown this
    once."""
    with open_service(flags) as service:
        webhook = service.add_webhook(tenant, request)
    if as_json:
        print_json(webhook)
        return
    screen = Screen()
    screen.line("webhook", f"{webhook['id']}, {webhook['format']}, to {webhook['address']}")
    if webhook.get("secret"):
        screen.line("secret", webhook["secret"])


@webhooks_command.command()
@click.argument("tenant")
@click.argument("webhook_id", metavar="ID")
@click.pass_obj
def delete(flags: Mapping[str, Any], /, tenant: str, webhook_id: str) -> None:
    """Delete the webhook ID of TENANT at once, with its messages that have not arrived."""
    with open_service(flags) as service:
        service.delete_webhook(tenant, webhook_id)
    Screen().line("deleted", webhook_id)


@webhooks_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def listing(flags: Mapping[str, Any], /, *, as_json: bool) -> None:
    """List messages that have not arrived, and dead ones, which are no longer tried."""
    with open_service(flags) as service:
        outbox = service.webhooks()
        if as_json:
            print_json(outbox)
        else:
            _show(Screen(), outbox)


@webhooks_command.command()
@click.argument("delivery_id", metavar="ID")
@click.pass_obj
def retry(flags: Mapping[str, Any], /, delivery_id: str) -> None:
    """Send the dead message ID again."""
    with open_service(flags) as service:
        service.retry_webhook(delivery_id)
    Screen().line("webhook", f"{delivery_id} is sent again")


def _row(state: str, message: Mapping[str, Any]) -> tuple[str, ...]:
    error = first_line(printable(message["error"]), 60)
    return message["id"], state, message["type"], message["job_id"], str(message["tries"]), error


def _show(screen: Screen, outbox: Mapping[str, Any]) -> None:
    rows = [_row("waiting", message) for message in outbox["waiting"]]
    rows += [_row("dead", message) for message in outbox["dead"]]
    screen.rows(("ID", "STATE", "TYPE", "JOB", "TRIES", "WHY"), rows)
    if screen.drawing:
        waiting, dead = outbox["waiting_total"], outbox["dead_total"]
        screen.text(f"{plural(waiting, 'message')} waiting, {dead} dead", "dim")
