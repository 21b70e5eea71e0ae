"""The MCP servers that give tools to executors, in JSON or in a table of the file of settings.

See ADR 102.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_settings import NoDecode

from settings.reading.addresses import parse_complete_http

SEPARATOR = "__"
"""Between the names of a server and its tool. A name of a server does not contain it."""
MOST_NAME_CHARACTERS = 64
"""Longer names of tools are refused by some providers of models."""
_SERVER_NAME = re.compile(r"[A-Za-z](_?[A-Za-z0-9-])*")
_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")
"""The characters that some providers of models refuse in the name of a tool."""
_EXAMPLE = '{"docs": {"command": ["python", "-m", "docs_server"], "tools": ["search"]}}'


class ToolServer(BaseModel):
    """A server: a program that runs in a sandbox, or an address."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    name: str
    command: list[str] = Field(default_factory=list)
    """The program and its arguments. It speaks over its standard input and output."""
    folder: Path | None = None
    """The files that the program finds in its working directory."""
    url: Annotated[str, AfterValidator(parse_complete_http)] | None = None
    """The address of the server's endpoint."""
    token_file: Path | None = None
    """The file of the token that the server gets in the header `Authorization`."""
    tools: list[str] = Field(min_length=1)
    """The tools that executors may use, by the server's names."""
    seconds: float = Field(30.0, gt=0, le=600)
    """The longest time of a call."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if bool(self.command) == (self.url is not None):
            raise ValueError("give either a command or a url")
        if self.url is not None and self.folder is not None:
            raise ValueError("a folder goes with a command, not with a url")
        if self.url is None and self.token_file is not None:
            raise ValueError("a token_file goes with a url, not with a command")
        longest = max(self.tools_by_name, key=len)
        if len(longest) > MOST_NAME_CHARACTERS:
            raise ValueError(
                f"the name {longest} of a tool has more than {MOST_NAME_CHARACTERS} characters, "
                "which providers of models refuse: shorten the name of the server"
            )
        if len(self.tools_by_name) < len(self.tools):
            raise ValueError("two of its tools have one name for models: leave one of them out")
        return self

    @property
    def tools_by_name(self) -> dict[str, str]:
        """`tools`, by names that every provider of models accepts."""
        prefix = f"{self.name}{SEPARATOR}"
        return {f"{prefix}{_OTHER_CHARACTERS.sub('_', tool)}": tool for tool in self.tools}

    def __str__(self) -> str:
        """The server for `fettle config`: without arguments and parts of addresses, which may be
        secret."""
        target = self.command[0] if self.url is None else urlsplit(self.url).hostname
        return f"{self.name} ({target}: {', '.join(self.tools)})"


def _parse_servers(value: Any) -> Any:
    """The servers of a JSON object or a table, by name. An error names the server and its field,
    and repeats no value."""
    if not value:  # compose sends an empty text
        return ()
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"is not valid JSON: {error}") from None
    if isinstance(value, tuple):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"is not a JSON object such as {_EXAMPLE}")  # noqa: TRY004 - for pydantic
    return tuple(_parse_server(name, fields) for name, fields in value.items())


def _parse_server(name: str, fields: Any) -> ToolServer:
    if not _SERVER_NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name of a server: use letters, digits, - and single _, a letter first"
        )
    if not isinstance(fields, Mapping):
        raise ValueError(f"{name}: is not a JSON object, as in {_EXAMPLE}")  # noqa: TRY004
    try:
        return ToolServer.model_validate({**fields, "name": name})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, fault["loc"]))
        reason = str(fault["ctx"]["error"] if fault["type"] == "value_error" else fault["msg"])
        valid = ", ".join(field for field in ToolServer.model_fields if field != "name")
        raise ValueError(
            f"{name}: {field}: {reason} (the fields are {valid})" if field else f"{name}: {reason}"
        ) from None


ToolServers = Annotated[tuple[ToolServer, ...], NoDecode, BeforeValidator(_parse_servers)]
