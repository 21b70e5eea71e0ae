"""Settings of the executor's tools. A tool that reaches out of the sandbox is off by default."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from settings.base import FettleSettings, Names
from settings.reading.addresses import parse_hosts
from settings.reading.tool_servers import ToolServers
from settings.sandbox import MIB


class ToolSettings(FettleSettings):
    """Sizes in bytes, times in seconds."""

    tools: Names = Field(
        (),
        description="additional tools, by their names as entry points `fettle.tools` of packages"
        " that are installed with Fettle",
    )
    fetch_hosts: Annotated[Names, AfterValidator(parse_hosts)] = Field(
        (),
        description="hosts whose pages the tool `fetch` may read, as `docs.example.org`, "
        "`*.example.org`, `example.org:8443`; unset: there is no such tool",
    )
    fetch_http: bool = Field(False, description="whether `fetch` may also read over http")
    fetch_private: bool = Field(
        False,
        description="whether hosts on that list may have private or loopback addresses, as in an"
        " intranet; link-local ones (a cloud's metadata) never",
    )
    fetch_bytes: int = Field(2 * MIB, gt=0, description="largest page")
    fetch_seconds: float = Field(15.0, gt=0, description="time for a page, redirects included")
    mcp_servers: ToolServers = Field(
        (),
        description="MCP servers whose tools executors get, by name, as a JSON object: "
        '`{"docs": {"command": ["python", "-m", "docs_server"], "tools": ["search"]}}`, or with '
        "`url` and `token_file`; see [how](how-to/give-mcp-servers-to-jobs.md)",
    )
