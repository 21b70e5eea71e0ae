"""`fettle decisions`: who decided what, for auditors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.output import print_json

AT_ONCE = 1_000


@click.command()
@click.option("--from", "start", metavar="TIME", help="From then on, as 2026-11-01.")
@click.option("--to", "end", metavar="TIME", help="Before then; else now.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of one JSON object a line.")
@click.pass_obj
def command(
    flags: Mapping[str, Any], /, *, start: str | None, end: str | None, as_csv: bool
) -> None:
    """Export decisions, oldest first: they are kept no longer than their jobs."""
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
                for each in part["decisions"]:
                    print_json(each)
            offset += AT_ONCE
            if offset >= total:
                return
