"""The temperature of a repair after a failed repair: the usual temperature, unless the operator
sets another.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graph.graphs import Journey, PlannedSandbox, printed

from agents.graph.job_input import job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from lab.provider import ProviderServer, Reply, ToolCall

WRONG = ["bad", "worse", "worst"]
RUNS = {code: printed(error=f"ValueError: {code}\n", code=1) for code in WRONG} | {
    "good": printed("ok\n")
}


@pytest.mark.parametrize(
    ("name", "repairs_at", "expected"),
    [
        ("groq:llama-3.3-70b-versatile", None, [0] * 5),
        ("groq:llama-3.3-70b-versatile", 0.7, [0, 0, 0.7, 0.7, 0]),
        ("google_genai:gemini-2.5-flash", 0.7, [0, 0, 0.7, 0.7, 0]),
        ("openai:gpt-5.4-mini", 0.7, [None] * 5),
    ],
)
async def test_the_temperature_changes_only_if_one_is_set_for_repairs(
    tmp_path: Path, name: str, repairs_at: float | None, expected: list[float | None]
) -> None:
    journey = Journey.plan(tmp_path, [], PlannedSandbox(RUNS))
    runs = [
        Reply(
            tool_calls=(
                ToolCall("write_file", {"path": "notes.txt", "content": code}),
                ToolCall("python", {"code": code}),
            )
        )
        for code in (*WRONG, "good")
    ]
    turns = [
        Reply(tool_calls=(ToolCall("Plan", {"steps": ["Do it."]}),)),
        *runs,
        Reply("Done."),
        Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "feedback": ""}),)),
    ]
    with ProviderServer(turns) as server:
        keys = dict.fromkeys(("groq", "openai", "google_genai"), "key")
        pool = ModelPool(
            ModelOptions(keys, server.base_urls(), max_retries=0, repair_temperature=repairs_at)
        )
        journey.ports = journey.with_ports(models=RoleModels.alone(pool, name))
        await journey.begin(job_fields("Do it.", max_revisions=1))
        await pool.aclose()
    sent = [request.body for request in server.requests if request.forced_tool is None]
    temperatures = [body.get("generationConfig", body).get("temperature") for body in sent]
    assert [t if t is None else round(t, 3) for t in temperatures] == expected
