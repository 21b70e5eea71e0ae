"""A critic that can see gets the job's images; a critic that cannot see gets the same text without
them.
"""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest
from support.graph.graphs import Journey, PlannedSandbox, printed

from agents.graph.job_input import job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains, RoleModels
from lab.provider import ProviderServer, Refusal, Reply, Request, ToolCall

HEADER = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
PLOT = HEADER + struct.pack(">II", 640, 480) + b"as it may be" * 20
TEXT = b"Description\0Sales: 3 bars from 1 to 4."
CHART = HEADER + struct.pack(">II", 640, 480) + bytes(9) + struct.pack(">I", len(TEXT))
CHART += b"tEXt" + TEXT + bytes(4)
POSTER = HEADER + struct.pack(">II", 20_000, 480) + b"too large"
SENT = base64.b64encode(PLOT).decode()[:60]
RUN = printed("ok\n", plot__png=PLOT, chart__png=CHART, poster__png=POSTER, fake__png=b"no image")
SEES = "google_genai:gemini-2.5-flash"
READS = "groq:llama-3.3-70b-versatile"


def answer(request: Request) -> Reply | Refusal:
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Draw it."]}),))
    if request.forced_tool == "Verdict":
        if request.model == "llama-4-away":
            return Refusal(503)
        return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "feedback": ""}),))
    if request.replies_so_far:
        return Reply("Done.")
    return Reply(tool_calls=(ToolCall("python", {"code": "draw"}),))


async def judged(folder: Path, *critics: str) -> list[str]:
    """The bodies of the critic's requests."""
    journey = Journey.plan(folder, [], PlannedSandbox({"draw": RUN}))
    with ProviderServer(answer) as server:
        keys = dict.fromkeys(("groq", "openai", "google_genai", "anthropic"), "key")
        pool = ModelPool(ModelOptions(keys, server.base_urls(), max_retries=0))
        chains = Chains((READS,), {"critic": critics})
        journey.ports = journey.with_ports(models=RoleModels(pool, chains))
        await journey.begin(job_fields("Draw it.", max_revisions=1))
        await pool.aclose()
    assert (await journey.outcome()).approved_by == "critic"
    return [json.dumps(r.body) for r in server.requests if r.forced_tool == "Verdict"]


@pytest.mark.parametrize("name", [SEES, "anthropic:claude-haiku-4-5", "openai:gpt-5.4-mini"])
async def test_a_critic_that_sees_gets_the_images(tmp_path: Path, name: str) -> None:
    (body,) = await judged(tmp_path, name)
    assert SENT in body
    assert body.count("The image ") == 2
    assert "The image plot.png, as it is now:" in body


async def test_a_critic_that_cannot_see_gets_no_images(tmp_path: Path) -> None:
    (body,) = await judged(tmp_path, READS)
    assert SENT not in body
    assert "plot.png" in body
    assert "Sales: 3 bars from 1 to 4." in body


async def test_a_fallback_model_gets_images_only_if_it_can_see(tmp_path: Path) -> None:
    refused, with_images = await judged(tmp_path, "groq:llama-4-away", SEES)
    assert (SENT in refused, SENT in with_images) == (False, True)


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 48, 64) + b"x" * 9
LARGE = b"\xff\xd8\xff\xc2\x00\x11\x08" + struct.pack(">HH", 48, 6_400) + b"x" * 9
PICTURES = {"plot.png": PLOT, "photo.jpg": JPEG, "wide.jpg": LARGE, "no.png": b"no image"}


async def viewed(folder: Path, model: str, *paths: str) -> list[Request]:
    """The executor's requests in a job; its model looks at these images in one reply."""

    def reply(request: Request) -> Reply:
        if request.forced_tool == "Plan":
            return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Look."]}),))
        if request.forced_tool or request.replies_so_far > 1:
            return Reply("Done.")
        if request.replies_so_far == 1:
            return Reply(tool_calls=(ToolCall("list_dir", {}),))
        return Reply(tool_calls=tuple(ToolCall("view_image", {"path": path}) for path in paths))

    journey = Journey.plan(folder, [], PlannedSandbox({}), PICTURES)
    with ProviderServer(reply) as server:
        keys = dict.fromkeys(("groq", "openai", "google_genai", "anthropic"), "key")
        pool = ModelPool(ModelOptions(keys, server.base_urls(), max_retries=0))
        chains = Chains((model,), {"critic": (READS,)})
        journey.ports = journey.with_ports(models=RoleModels(pool, chains))
        await journey.begin(job_fields("Look.", files=tuple(PICTURES), max_revisions=1))
        await pool.aclose()
    return [
        request
        for request in server.requests
        if "list_dir" in request.tools and request.model in model
    ]


@pytest.mark.parametrize("name", [SEES, "anthropic:claude-haiku-4-5", "openai:gpt-5.4-mini"])
async def test_a_model_that_sees_can_look_at_images(tmp_path: Path, name: str) -> None:
    first, second, third = await viewed(tmp_path, name, "plot.png", "photo.jpg")
    photo = base64.b64encode(JPEG).decode()
    assert "view_image" in first.tools
    assert SENT not in json.dumps(first.body)
    for request in (second, third):
        body = json.dumps(request.body).replace("-", "+").replace("_", "/")  # Gemini's alphabet
        assert (body.count(SENT), body.count(photo)) == (1, 1)
        assert "image/jpeg" in body
        assert body.index("The image plot.png, as it is now:") < body.index(SENT)


async def test_a_model_that_cannot_see_is_not_offered_the_tool(tmp_path: Path) -> None:
    requests = await viewed(tmp_path, READS, "plot.png")
    assert not any("view_image" in request.tools for request in requests)
    assert not any(SENT in json.dumps(request.body) for request in requests)


async def test_other_files_and_large_images_are_refused(tmp_path: Path) -> None:
    paths = ("wide.jpg", "no.png", "gone.png")
    _, second, _ = await viewed(tmp_path, "openai:gpt-5.4-mini", *paths)
    wide, no, missing = [request.text for request in second.messages if request.speaker == "tool"]
    assert "it has 6400 x 48 pixels, and 2048 x 2048 are allowed" in wide
    assert "it is no PNG or JPEG file" in no
    assert "gone.png" in missing
