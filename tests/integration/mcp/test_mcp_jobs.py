"""The MCP server with a real API, a real worker and a model server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from mcp import Client
from mcp.types import BlobResourceContents, ResourceLink, TextResourceContents
from support.processes.fronts import front
from support.processes.mcp_clients import MODULE, call, over_http, over_stdio, refusal, text_of
from support.processes.scene import Work, a_scene

CODE = "open('n.txt', 'w').write('x' * 30_000); open('n.png', 'wb').write(b'\\xff\\x00')"


@contextlib.asynccontextmanager
async def connected(name: str, url: str, folder: Path) -> AsyncIterator[Client]:
    match name:
        case "command":
            connection = over_stdio(url, folder)
        case "module":
            connection = over_stdio(url, folder, program=MODULE)
        case _:
            connection = over_http(url, mode=name)
    async with connection as client:
        yield client


async def test_a_job_is_handed_over_and_read_over_each_transport(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.deployment.worker()
        with front(scene.deployment) as api:
            for name in ("command", "module", "auto", "legacy"):
                scene.work[name] = Work((CODE,))
                async with connected(name, api.url, tmp_path) as client:
                    await hand_over_and_read(client, name, api.url)


async def hand_over_and_read(client: Client, name: str, url: str) -> None:
    job = await call(client, "submit_job", task=f"By {name}.", options={"model": f"groq:{name}"})
    assert job["page"] == f"{url}/app/jobs/{job['id']}"
    notified: list[str] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        notified.append(str(message))

    arguments = {"job_id": job["id"], "seconds": 60, "after": 1}
    waited = await client.call_tool("wait_for_job", arguments, progress_callback=hear)
    assert waited.structured_content is not None, waited
    final_state = waited.structured_content
    assert final_state["state"] == "succeeded", final_state
    assert final_state["untrusted"]["answer"] == "It is done."
    assert notified == final_state["events"]
    assert notified[0] == "The plan is ready: steps: 3."
    assert notified[-2:] == ["The critic approved revision 1.", "The job has ended: succeeded."]

    uris = [block.uri for block in waited.content if isinstance(block, ResourceLink)]
    assert uris == [f"fettle://jobs/{job['id']}/files/n.{end}" for end in ("png", "txt")]
    picture, text = [(await client.read_resource(uri)).contents[0] for uri in uris]
    assert isinstance(picture, BlobResourceContents)
    assert picture.mime_type == "image/png"
    assert isinstance(text, TextResourceContents)
    assert text.text == "x" * 30_000

    part = text_of(await client.call_tool("read_file", {"job_id": job["id"], "path": "n.txt"}))
    assert "x" * 20_000 in part
    assert "x" * 20_001 not in part
    assert "with offset 20000 for more" in part
    second_part = await client.call_tool(
        "read_file", {"job_id": job["id"], "path": "n.txt", "offset": 20_000}
    )
    assert f"\n{'x' * 10_000}\n" in text_of(second_part)
    refused = await refusal(client, "read_file", job_id=job["id"], path="n.png")
    assert "read the resource" in refused
    missing = await refusal(client, "read_file", job_id=job["id"], path="m.txt")
    assert "get_job" in missing, missing
    listed = await call(client, "list_jobs", text=f"By {name}.")
    assert [row["id"] for row in listed["jobs"]] == [job["id"]]
