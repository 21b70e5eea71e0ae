"""`fettle chat`: one conversation at the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.chat.chat import Chat
from cli.chat.user_state import last_conversation
from cli.client import Job
from cli.client.input_files import collect
from cli.commands.jobs.run import show_left_out
from cli.commands.jobs.spec_options import chat_options, set_fields
from cli.context import open_service
from cli.errors import CliError
from cli.exit_codes import HELP
from cli.output import Screen
from cli.repository.source import find_source
from settings.reading.config_file import state_folder


@click.command(epilog=HELP)
@click.option("--conversation", "conversation_id", metavar="ID", help="Resume the conversation ID.")
@click.option("--last", is_flag=True, help="Resume the conversation of your last chat.")
@chat_options
@click.pass_obj
def chat_command(
    flags: Mapping[str, Any],
    /,
    *,
    conversation_id: str | None,
    last: bool,
    files: Any,
    repo: str | None,
    ref: str | None,
    dirty: bool,
    **options: Any,
) -> None:
    """Chat: the first line is a task, and each next line follows it up in the same conversation.

    The files and the repository go with the first task; the other options hold for each job. /help
    lists the commands of the chat.
    """
    if not Screen().asking:
        remedy = 'use `fettle run "..."`, and `fettle run --conversation ID "..."` to follow it up'
        raise CliError("fettle chat needs a terminal for input and output", next_step=remedy)
    if last and conversation_id:
        raise click.UsageError("--last and --conversation exclude each other")
    folder = state_folder()
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_service(flags) as service:
        if last and (conversation_id := last_conversation(folder, service.url)) is None:
            raise CliError(
                "there is no chat to resume", next_step="`fettle conversations` lists all"
            )
        source = find_source(repo, ref, dirty=dirty, follows_up=conversation_id is not None)
        inputs = collect(files)
        inputs.require_fit(service, len(source.bundle or b""))
        show_left_out(inputs, source)

        def submit_first(spec: Mapping[str, Any]) -> Job:
            fields = set_fields({**spec, "repo": source.repo})
            return service.submit(fields, inputs.read(), bundle=source.bundle)

        Chat(service, set_fields(options), submit_first, folder, conversation_id).run()
