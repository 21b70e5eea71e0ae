"""Files above a size are not edited in the worker's own process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agents.errors import ToolRefused
from agents.ports.memory import MemoryRecord, MemoryWorkspace
from agents.tools.edit_file import MOST_BYTES, edit_file


async def test_a_file_that_is_too_large_is_refused_unread() -> None:
    workspace = MemoryWorkspace(MemoryRecord(), {"a.txt": b"x\n" + b"-" * MOST_BYTES})
    runtime: Any = SimpleNamespace(context=SimpleNamespace(workspace=workspace))
    with pytest.raises(ToolRefused, match="too large to edit here"):
        await edit_file("a.txt", "x", "y", runtime)
