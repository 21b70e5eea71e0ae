"""The setting of MCP servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from settings.starting.carried import carried_settings
from settings.starting.provenance import complaints, trace
from settings.tools import ToolSettings

NAME = "FETTLE_MCP_SERVERS"
LOCAL = {"command": ["python", "-m", "docs"], "tools": ["search", "a.b/c"]}
HTTP = {"url": "https://mcp.example.com/key-in-path/mcp?k=hush", "tools": ["get"], "seconds": 5}


def test_servers_are_a_json_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "")  # the value that compose sends
    assert ToolSettings().mcp_servers == ()
    monkeypatch.setenv(NAME, json.dumps({"docs": LOCAL, "tickets": HTTP}))
    docs, tickets = ToolSettings().mcp_servers
    assert (list(docs.tools_by_name), docs.seconds) == (["docs__search", "docs__a_b_c"], 30)
    assert (list(tickets.tools_by_name), tickets.seconds) == (["tickets__get"], 5)
    (shown,) = (row.value for row in trace(ToolSettings) if row.name == "mcp_servers")
    assert shown == "docs (python: search, a.b/c), tickets (mcp.example.com: get)"


def test_a_file_has_a_table_for_each_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "fettle.toml"
    path.write_text('[mcp_servers.docs]\ncommand = ["python", "-m", "docs"]\ntools = ["search"]\n')
    monkeypatch.setenv("FETTLE_CONFIG", str(path))
    (docs,) = ToolSettings().mcp_servers
    assert docs.tools_by_name == {"docs__search": "search"}
    monkeypatch.setenv(NAME, carried_settings()[NAME])
    assert ToolSettings().mcp_servers == (docs,)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{hush", "is not valid JSON"),
        ("[]", "is not a JSON object such as"),
        ({"docs": []}, "docs: is not a JSON object"),
        ({"a__b": LOCAL}, "'a__b' is no name of a server"),
        ({"docs": {"command": ["x"]}}, "docs: tools: Field required"),
        ({"docs": {**LOCAL, "tools": []}}, "docs: tools: List should have at least 1 item"),
        ({"docs": {**LOCAL, **HTTP}}, "docs: give either a command or a url"),
        ({"docs": {"tools": ["x"]}}, "docs: give either a command or a url"),
        ({"docs": {**LOCAL, "token": "hush"}}, "docs: token: Extra inputs are not permitted"),
        ({"docs": {**LOCAL, "token_file": "/x"}}, "a token_file goes with a url"),
        ({"docs": {**HTTP, "folder": "/x"}}, "a folder goes with a command"),
        ({"docs": {**HTTP, "url": "https://me:hush@h/mcp"}}, "docs: url: an address has no user"),
        ({"docs": {**LOCAL, "tools": ["a.b", "a/b"]}}, "two of its tools have one name"),
        ({"docs": {**LOCAL, "tools": ["x" * 60]}}, "has more than 64 characters"),
    ],
)
def test_an_invalid_server_is_explained_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, value: Any, reason: str
) -> None:
    monkeypatch.setenv(NAME, value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(ValidationError) as error:
        ToolSettings()
    (complaint,) = complaints(ToolSettings, error.value)
    assert complaint.startswith(f"{NAME} (environment): ")
    assert reason in complaint
    assert "hush" not in complaint
