"""A critic that can see gets the job's images; one that cannot gets the same text without them."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest
from support.graph.graphs import Journey, PlannedSandbox, printed

from agents.graph.job_input import JobInput
from agents.models.chains import Chains
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from benchmarks.provider import ProviderServer, Refusal, Reply, Request, ToolCall

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
        await journey.begin(JobInput("Draw it.", max_revisions=1))
        await pool.aclose()
    assert (await journey.outcome()).approved_by == "critic"
    return [json.dumps(r.body) for r in server.requests if r.forced_tool == "Verdict"]


@pytest.mark.parametrize("name", [SEES, "anthropic:claude-haiku-4-5", "openai:gpt-5.4-mini"])
async def test_a_critic_that_sees_gets_the_images(tmp_path: Path, name: str) -> None:
    (body,) = await judged(tmp_path, name)
    assert SENT in body
    assert body.count("The image ") == 2
    assert "The image plot.png, as it is now:" in body


async def test_a_critic_that_reads_gets_none(tmp_path: Path) -> None:
    (body,) = await judged(tmp_path, READS)
    assert SENT not in body
    assert "plot.png" in body
    assert "Sales: 3 bars from 1 to 4." in body


async def test_a_model_that_stands_in_gets_what_it_takes(tmp_path: Path) -> None:
    refused, given = await judged(tmp_path, "groq:llama-4-away", SEES)
    assert (SENT in refused, SENT in given) == (False, True)
