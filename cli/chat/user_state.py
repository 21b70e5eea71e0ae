"""The state of chats between them, in the user's state folder, which only the user can read."""

from __future__ import annotations

import json
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from jobs.blobs import atomic_write

_LAST = "last_conversations.json"


def open_history(folder: Path | None) -> History:
    """The typed lines of all chats."""
    if folder is None:
        return InMemoryHistory()
    path = folder / "chat_history"
    path.touch(mode=0o600)
    path.chmod(0o600)
    return FileHistory(path)


def remember_conversation(folder: Path | None, url: str, conversation_id: str) -> None:
    """Store the last conversation at the service `url`, for `--last`."""
    if folder is not None:
        last_ids = {**_read_last_ids(folder), url: conversation_id}
        atomic_write.write(folder / _LAST, json.dumps(last_ids).encode())


def last_conversation(folder: Path | None, url: str) -> str | None:
    """The id of the user's last conversation at the service `url`; None if the user has none."""
    return None if folder is None else _read_last_ids(folder).get(url)


def _read_last_ids(folder: Path) -> dict[str, str]:
    try:
        last_ids = json.loads((folder / _LAST).read_text())
    except (OSError, ValueError):
        return {}
    return last_ids if isinstance(last_ids, dict) else {}
