"""`fettle conversations`: list conversations, or read one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.output import Screen, print_json
from cli.render.listing import show_jobs, thread_parts


@click.command()
@click.argument("conversation_id", metavar="[ID]", required=False)
@click.option("--limit", type=click.IntRange(1, 50), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--text", metavar="WORDS", help="Only conversations with these words in the first task."
)
@click.option("--person", metavar="NAME", help="Only conversations that this person began.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def conversations_command(
    flags: Mapping[str, Any], /, *, conversation_id: str | None, as_json: bool, **query: Any
) -> None:
    """List conversations by their first jobs, the latest begun first; with ID, show the tasks and
    the answers of the conversation.

    `fettle chat --conversation ID` continues a conversation.
    """
    screen = Screen()
    with open_service(flags) as service:
        if conversation_id is not None and (query["text"] or query["person"]):
            raise click.UsageError("--text and --person filter the list: leave out the ID")
        if conversation_id is None:
            content = service.conversations(**query)
        else:
            pages = {name: query[name] for name in ("limit", "offset")}
            content = service.conversation(conversation_id, **pages)
    if as_json:
        print_json(content)
    elif conversation_id is None:
        show_jobs(screen, content)
    else:
        screen.parts(thread_parts(content))
