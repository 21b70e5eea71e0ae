"""`fettle mcp`: the MCP server for a program that starts it, such as an editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import load
from cli.exit_codes import HELP
from fettle.mcp import stdio
from settings.client import ClientSettings


@click.command(epilog=HELP)
@click.pass_obj
def mcp_command(flags: Mapping[str, Any], /) -> None:
    """Serve the Model Context Protocol on stdin and stdout until stdin is closed.

    A program starts this command, such as Claude Code, Cursor, VS Code or Zed: docs/mcp.md has
    their settings. The service need not run yet.
    """
    settings = load(ClientSettings, **flags)
    stdio.run(settings.url, settings.api_key.get_secret_value())
