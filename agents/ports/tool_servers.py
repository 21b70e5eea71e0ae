"""The port of tools that servers of the operator offer (MCP). `worker` implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server. The description and the schema are the server's, and untrusted."""

    name: str
    """The name for models."""
    description: str
    schema: Mapping[str, Any]
    """The JSON schema of its arguments, an object."""

    def for_model(self) -> dict[str, Any]:
        """The tool in the form that all models take."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.schema),
        }
        return {"type": "function", "function": function}


class ToolServers(Protocol):
    """The servers of the settings. A server that has not listed its tools yet offers none."""

    @property
    def names(self) -> Sequence[str]:
        """The names of all tools that the settings allow. Equal in every attempt."""
        ...

    @property
    def tools(self) -> Mapping[str, ServerTool]:
        """The tools that the servers have listed, by name, in the order of the settings."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result of a call, as the server sent it: untrusted. Raises ToolRefused if the server
        sends no result, and SandboxUnavailable."""
        ...
