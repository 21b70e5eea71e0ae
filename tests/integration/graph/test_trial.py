"""The trial of a model, through each provider's real client."""

from __future__ import annotations

from collections import defaultdict

import pytest
from support.graph.graphs import PlannedSandbox, printed

from agents.graph.trial import REQUIRED, TrialStep, build_trials, run_trial
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.providers import PROVIDERS
from agents.models.role_models import RoleModels
from lab.provider import Hang, ProviderServer, Reply, Request, Tokens, ToolCall, Turn

NAMES = (
    "groq:openai/gpt-oss-20b",
    "google_genai:gemini-2.5-flash",
    "openai:gpt-5.4-mini",
    "anthropic:claude-haiku-4-5",
    "deepseek:deepseek-v4-flash",
    "openrouter:openai/gpt-oss-20b",
    "ollama:qwen3:8b",
    "compatible:of-our-own",
)


def thinks(request: Request) -> Reply:
    """A model that thinks before it follows its instructions."""
    used = Tokens(1_500, 20, thoughts=10)
    if request.tools == ("Plan",):
        calls = (ToolCall("Plan", {"steps": ["Count the files."]}),)
        return Reply(tool_calls=calls, tokens=used, thoughts="A plan.")
    if request.messages[-1].speaker == "tool":
        return Reply("2", tokens=used, thoughts="It says two.")
    return Reply(tool_calls=(ToolCall("list_dir", {}),), tokens=used, thoughts="I list them.")


async def tried(name: str, server: ProviderServer, seconds: float = 30.0):
    keys = dict.fromkeys(PROVIDERS, "key")
    pool = ModelPool(ModelOptions(keys, server.base_urls(), max_retries=0))
    sandbox = PlannedSandbox(defaultdict(lambda: printed("2\n")))
    try:
        return await run_trial(build_trials(), RoleModels.alone(pool, name), sandbox, seconds)
    finally:
        await pool.aclose()


@pytest.mark.parametrize("name", NAMES)
async def test_a_model_that_thinks_passes_in_three_requests(name: str) -> None:
    with ProviderServer(thinks) as server:
        result = await tried(name, server)
    assert [(each.step, each.ok, each.error) for each in result.steps] == [
        (step, True, None) for step in TrialStep
    ]
    assert result.passed
    assert result.notes() == []
    assert len(server.requests) == len(result.replies) == 3
    result_sent_back = server.requests[-1]
    assert "notes.txt" in result_sent_back.last_text
    assert {"python", "list_dir"} <= {*result_sent_back.tools}


async def test_a_trial_ends_in_time_and_later_steps_are_not_tried() -> None:
    def silent(request: Request) -> Turn:
        return thinks(request) if request.tools == ("Plan",) else Hang(60)

    with ProviderServer(silent) as server:
        result = await tried("compatible:of-our-own", server, seconds=2.0)
    assert [step.ok for step in result.steps] == [True, False, None, True]
    failed = result.steps[1]
    assert failed.error is not None
    assert "within the 2 s of a check" in failed.error
    assert 0.5 < (failed.seconds or 0) < 2.5
    assert not result.passed
    assert {step.step for step in result.steps if step.ok is not True} <= REQUIRED
