"""Executors call the tools of the operator's MCP servers: in a sandbox, or over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from structlog.testing import capture_logs
from support.graph.graphs import call
from support.graph.tool_runs import Used, use
from support.servers.mcp_servers import PIXEL, plain_folder, scripted_server, sdk_http_server

from agents.critic.request import critic_messages
from agents.errors import ToolRefused
from agents.sandbox_programs import ARGV, source
from agents.state import State
from agents.tools.server_tools import WARNING
from sandbox.local import LocalSandbox
from sandbox.protocol import DEFAULT_LIMITS
from settings.reading.tool_servers import ToolServer
from settings.sandbox import sandbox_python
from settings.tools import ToolSettings
from worker.adapters.tool_servers import McpServers, open_servers
from worker.adapters.tools import ToolUnfit

ROOT = Path(__file__).parents[3]

EMPTY_LIST = """
import json, sys
for message in map(json.loads, sys.stdin):
    if "id" in message:
        print(json.dumps({"id": message["id"], "result": {}}), flush=True)
"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=1)
    yield local
    await local.close()


def plain(folder: Path, *tools: str, **fields: Any) -> dict[str, Any]:
    """The setting of a server that uses the standard library, in a sandbox."""
    return {
        "command": ["python", "server.py"],
        "folder": str(plain_folder(folder / "server")),
        "tools": tools,
        **fields,
    }


@contextlib.asynccontextmanager
async def listed(sandbox: LocalSandbox, **servers: Mapping[str, Any]) -> AsyncIterator[McpServers]:
    """The servers of the setting, which were asked for their tools."""
    settings = ToolSettings(mcp_servers=json.dumps(servers, default=list))  # type: ignore[arg-type]
    opened = open_servers(settings.mcp_servers, sandbox, DEFAULT_LIMITS)
    listing = asyncio.create_task(opened.list_forever())
    await opened.wait()
    yield opened
    listing.cancel()


async def used_by(
    servers: McpServers, folder: Path, sandbox: LocalSandbox, *calls: dict[str, Any]
) -> Used:
    return await use(folder / "recording", sandbox, *calls, tool_servers=servers)


async def test_a_server_runs_in_a_sandbox_of_its_own(tmp_path: Path, sandbox: LocalSandbox) -> None:
    setting = plain(tmp_path, "search", "network", "files")
    async with listed(sandbox, docs=setting) as servers:
        used = await use(
            tmp_path / "recording",
            sandbox,
            call("docs__search", text="found"),
            call("docs__network", text=""),
            call("docs__files", text=""),
            files={"secret_of_the_job.txt": b"x"},
            tool_servers=servers,
        )
    state = (await used.journey.graph.aget_state(used.journey.config)).values
    _, request = await critic_messages(cast("State", state), used.journey.ports)
    outside = request.text.partition("that the other programmer has read, oldest first:\n")[2]
    assert outside.startswith(f'\n=== docs__search {{"text": "found"}}\n```\n{WARNING}\n\nnotes of')
    found, network, files = used.texts
    assert found == f"{WARNING}\n\nnotes of the operator; found"
    assert "no network: " in network
    assert "['notes.txt', 'server.py']" in files
    assert "FETTLE" not in files
    assert used.data[0] == {
        "tool": "docs__search",
        "path": None,
        "ok": True,
        "note": '{"text": "found"}',
        "artifacts": [],
        "output": "notes of the operator; found",
    }
    assert set(await used.files()) == {"secret_of_the_job.txt"}


async def test_only_listed_tools_exist(tmp_path: Path, sandbox: LocalSandbox) -> None:
    with capture_logs() as logs:
        async with listed(sandbox, docs=plain(tmp_path, "search", "none")) as servers:
            assert list(servers.tools) == ["docs__search"]
            assert servers.facts() == {
                "docs": "the server has no tool 'none'; it has: "
                "search, hang, network, files, die, secret"
            }
            with pytest.raises(ToolRefused, match="there is no tool docs__secret"):
                await servers.call("docs__secret", {"text": ""})
    assert [log["server"] for log in logs] == ["docs"]
    tool = servers.tools["docs__search"]
    assert tool.for_model()["function"] == {
        "name": "docs__search",
        "description": "The tool search.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    }


async def test_a_server_that_hangs_or_dies_gives_an_error(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    setting = plain(tmp_path, "hang", "die", seconds=3)
    async with listed(sandbox, docs=setting) as servers:
        calls = call("docs__hang", text=""), call("docs__die", text="")
        used = await used_by(servers, tmp_path, sandbox, *calls)
    hung, died = used.texts
    assert hung == "error: the server docs took longer than 3 s"
    assert "the server docs ended before it answered (exit code 3): Traceback: a fault" in died
    assert [event["ok"] for event in used.data] == [False, False]


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (["no-such-program"], "could not be started: No such file or directory"),
        (["yes"], "took longer than 8 s"),
        (["true"], "ended before it answered (exit code 0)"),
        (["python", "-c", "print('[' * 2_000_000)"], "sent more than 1048576 bytes"),
        (
            ["python", "-c", 'input(); print(\'{"id": 1, "result": 5}\')'],
            "refused initialize: an answer without a result",
        ),
        (
            ["python", "-c", EMPTY_LIST],
            "its list of tools cannot be read",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_a_program_that_is_no_server_offers_no_tools(
    sandbox: LocalSandbox, command: list[str], fault: str
) -> None:
    with capture_logs() as logs:
        setting = {"command": command, "tools": ["search"], "seconds": 8}
        async with listed(sandbox, docs=setting) as servers:
            assert servers.tools == {}
            assert fault in str(servers.facts()["docs"])
    assert [log["event"] for log in logs] == ["tools of a server are left out"]


async def test_the_client_in_the_sandbox_speaks_to_a_server_of_the_sdk(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "from support.servers.mcp_servers import Received, sdk_server\n"
        "sdk_server(Received()).run()\n"
    )
    order = {
        "command": [sys.executable, str(script)],
        "method": "tools/call",
        "params": {"name": "count", "arguments": {"text": "a", "times": 3}},
        "protocol": "2025-11-25",
        "bytes": 100_000,
    }
    process = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, *ARGV[1:], "-c", source("mcp_client")],
        input=json.dumps(order),
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(process.stdout)["result"]["content"] == [{"type": "text", "text": "aaa 1"}]


@pytest.mark.parametrize("json_response", [False, True])
async def test_a_server_over_http(
    tmp_path: Path, sandbox: LocalSandbox, json_response: bool
) -> None:
    token = tmp_path / "token"
    token.write_text("hush-hush-token\n")
    with sdk_http_server(json_response=json_response) as received:
        setting = {
            "url": received.url,
            "token_file": str(token),
            "tools": ["count", "chart", "wrong", "long", "huge", "echo"],
        }
        async with listed(sandbox, tickets=setting) as servers:
            assert servers.facts() == {"tickets": None}
            used = await used_by(
                servers,
                tmp_path,
                sandbox,
                call("tickets__count", text="a", times="2"),
                [call("tickets__chart"), call("list_dir", path=".scratch")],
                call("tickets__wrong"),
                call("tickets__long"),
                call("tickets__huge"),
                call("tickets__echo"),
            )
    counted, chart, scratch, wrong, long, huge, echo = used.texts
    assert counted == f"{WARNING}\n\naa 1"
    assert "there is no such ticket" in wrong
    assert wrong.startswith(f"error: {WARNING}")
    assert (used.messages[3].status, used.data[3]["ok"]) == ("error", False)
    assert 15_000 < len(long) < 17_000
    assert "the server tickets sent more than 1048576 bytes" in huge
    assert "you sent {'Bearer <secret-removed>'}" in echo
    assert received.credentials == {"Bearer hush-hush-token"}
    assert "hush-hush" not in json.dumps(used.data)
    assert received.sessions_ended == 7
    name = f"tickets__chart-{hashlib.sha256(PIXEL).hexdigest()[:8]}.png"
    assert f"a chart\n\n(an image: .scratch/{name})" in chart
    assert name in scratch


async def test_a_server_that_does_not_answer_over_http(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    with sdk_http_server() as received, capture_logs():
        slow = {"url": received.url, "tools": ["sleep"], "seconds": 2}
        none = {"url": received.url.replace("/mcp", "/no"), "tools": ["sleep"]}
        closed = {"url": "http://127.0.0.1:9/mcp", "tools": ["x"]}
        metadata = {"url": "http://169.254.169.254/mcp", "tools": ["x"]}
        async with listed(
            sandbox, slow=slow, none=none, closed=closed, metadata=metadata
        ) as servers:
            faults = servers.facts()
            with pytest.raises(ToolRefused, match="the server slow took longer than 2 s"):
                await servers.call("slow__sleep", {})
    assert faults["slow"] is None
    assert faults["none"] == "the server none answered with the status 404"
    assert "the server closed could not be reached" in str(faults["closed"])
    assert "is not public" in str(faults["metadata"])


async def test_redirects_are_not_followed(sandbox: LocalSandbox) -> None:
    with (
        capture_logs(),
        sdk_http_server() as received,
        scripted_server(location=received.url) as url,
    ):
        async with listed(sandbox, tickets={"url": url, "tools": ["count"]}) as servers:
            fault = servers.facts()["tickets"]
    assert fault == "the server tickets answered with the status 307"
    assert received.credentials == set()


TOOLS = '{"tools": [{"name": "search", "inputSchema": {"type": "object"}}]}'


async def test_a_token_is_removed_however_a_server_writes_it(
    tmp_path: Path, sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.egress.mcp.END_SECONDS", 0.1)
    (tmp_path / "token").write_text('hush/"token"+')
    answer = r'{"content": [{"type": "text", "text": "you sent hush\/\u0022token\"\u002b"}]}'
    with scripted_server(tools_list=TOOLS, tools_call=answer) as url:
        setting = {"url": url, "token_file": str(tmp_path / "token"), "tools": ["search"]}
        async with listed(sandbox, docs=setting) as servers:
            used = await used_by(servers, tmp_path, sandbox, call("docs__search"))
    assert used.texts == [f"{WARNING}\n\nyou sent <secret-removed>"]


async def test_odd_answers_end_no_job(
    tmp_path: Path, sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.egress.mcp.END_SECONDS", 0.1)
    answers = {
        f'{{"structuredContent": {"[" * 400}{"]" * 400}}}': "sent JSON of more than 50 levels",
        f'{{"structuredContent": {"[" * 9_000}{"]" * 9_000}}}': "did not answer tools/call",
        f'{{"structuredContent": {"9" * 9_000}}}': "did not answer tools/call",
        '{"tools": 5}': "(an empty answer)",
        r'{"content": [{"type": "text", "text": "\ud800"}]}': "\ufffd",
        r'null, "error": {"message": "\ud800"}': "refused tools/call: \ufffd",
        f'null, "error": {{"message": "{"x" * 9_000}"}}': "xxx ...",
    }
    for number, (answer, words) in enumerate(answers.items()):
        hello = r'{"protocolVersion": "\ud800\n"}'
        with scripted_server(initialize=hello, tools_list=TOOLS, tools_call=answer) as url:
            async with listed(sandbox, docs={"url": url, "tools": ["search"]}) as servers:
                (folder := tmp_path / str(number)).mkdir()
                used = await used_by(servers, folder, sandbox, call("docs__search"))
        assert words in used.texts[0]
        assert len(used.texts[0]) < 1_200


@pytest.mark.parametrize(
    ("tools", "fault"),
    [
        ('{"tools": [], "nextCursor": "again"}', "the server has no tool 'search'"),
        (
            f'{{"tools": [{{"name": "search", "inputSchema": {"[" * 60}{"]" * 60}}}]}}',
            "more than 50 levels",
        ),
    ],
)
async def test_a_list_that_no_model_accepts_is_left_out(
    sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch, tools: str, fault: str
) -> None:
    monkeypatch.setattr("worker.egress.mcp.END_SECONDS", 0.1)
    with scripted_server(tools_list=tools) as url, capture_logs():
        async with listed(sandbox, docs={"url": url, "tools": ["search"]}) as servers:
            assert servers.tools == {}
            assert fault in str(servers.facts()["docs"])


async def test_a_program_may_write_into_the_output_of_its_client(sandbox: LocalSandbox) -> None:
    code = "import os; open(f'/proc/{os.getppid()}/fd/1', 'w').write('[5]')"
    with capture_logs():
        setting = {"command": ["python", "-c", code], "tools": ["search"]}
        async with listed(sandbox, docs=setting) as servers:
            assert "the server docs gave no answer" in str(servers.facts()["docs"])


async def test_files_that_cannot_be_used_prevent_the_start(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    for setting, words in (
        ({"command": ["x"], "folder": f"{tmp_path}/none"}, "none cannot be read (No such file"),
        ({"url": "http://h/mcp", "token_file": f"{tmp_path}/no"}, "no cannot be read (No such"),
    ):
        with pytest.raises(ToolUnfit) as unfit:
            async with listed(sandbox, docs={**setting, "tools": ["search"]}):
                pass
        assert "FETTLE_MCP_SERVERS: docs: " in str(unfit.value)
        assert words in str(unfit.value)
    (tmp_path / "large").write_bytes(bytes(DEFAULT_LIMITS.workspace_bytes + 1))
    with pytest.raises(ToolUnfit, match="name a smaller folder"):
        async with listed(
            sandbox, docs={"command": ["x"], "folder": str(tmp_path), "tools": ["search"]}
        ):
            pass


async def test_the_example_of_the_docs(tmp_path: Path, sandbox: LocalSandbox) -> None:
    page = (ROOT / "docs" / "how-to" / "give-mcp-servers-to-jobs.md").read_text()

    def block(title: str) -> str:
        match = re.search(rf"```\w+ title={re.escape(title)}\n(.*?)```", page, re.DOTALL)
        assert match is not None
        return match[1]

    (tmp_path / "docs_server.py").write_text(block("docs_server.py"))
    (tmp_path / "notes.txt").write_text("We deploy on Tuesdays.\nWe eat on Fridays.\n")
    setting = tomllib.loads(block("fettle.toml"))["mcp_servers"]["docs"]
    (variable,) = re.findall(r"FETTLE_MCP_SERVERS='(.*)'", page)
    assert json.loads(variable) == {"docs": setting}
    async with listed(sandbox, docs={**setting, "folder": str(tmp_path)}) as servers:
        used = await used_by(servers, tmp_path, sandbox, call("docs__search", word="deploy"))
    assert [text.strip() for text in used.texts] == [block("answer").strip()]
    fields = re.findall(r"^\| `(\w+)` \| ", page, re.MULTILINE)
    assert {*fields, "name"} == ToolServer.model_fields.keys()
