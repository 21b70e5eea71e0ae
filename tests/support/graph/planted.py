"""Planted calls: serialized values that name an importable call, which Fettle must never make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ormsgpack

EXTENSIONS = range(8)
"""The codes of LangGraph's extensions; the module `jsonplus` has their names."""


@dataclass(frozen=True)
class Planted:
    """A call in a LangGraph extension of this code, alone or inside another value."""

    code: int
    inside: str = ""

    def __str__(self) -> str:
        return f"{self.code}{'-in-' + self.inside if self.inside else ''}"

    def bytes_for(self, marker: Path) -> bytes:
        """The serialized value; the call writes the file `marker`."""
        command = f"touch {marker}"
        call: tuple[Any, ...]
        match self.code:
            case 0:
                call = ("os", "system", command)
            case 1:
                call = ("os", "system", (command,))
            case 3:
                call = ("subprocess", "os", command, "system")
            case 6:
                call = ("O", (1,), "C", command.encode())
            case _:
                arguments = {"args": ["touch", str(marker)]}
                call = ("subprocess", "run", arguments, "model_validate_json")
        planted: Any = ormsgpack.Ext(self.code, ormsgpack.packb(call))
        if self.code == 7:
            planted = ormsgpack.Ext(7, ormsgpack.packb(_extension(1, "os", "system", (command,))))
        match self.inside:
            case "list":
                planted = {"messages": [planted]}
            case "message":
                fields = {"content": [planted], "type": "human"}
                planted = _extension(5, "langchain_core.messages.human", "HumanMessage", fields)
        return ormsgpack.packb(planted)


def _extension(code: int, *content: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, ormsgpack.packb(content))


def planted_extensions() -> Sequence[Planted]:
    """Calls in each extension, alone and inside values that are allowed."""
    alone = [Planted(code) for code in EXTENSIONS]
    return [*alone, Planted(1, inside="list"), Planted(2, inside="message")]
