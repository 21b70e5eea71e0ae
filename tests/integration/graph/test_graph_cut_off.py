"""Real clients: a reply that is empty or cut off never counts as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.graph.graphs import ANSWERS, Journey, PlannedSandbox

from agents.errors import ReplyUnusable
from agents.graph.job_input import job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from lab.provider import ProviderServer, Reply, Request, Tokens, ToolCall, Turn

NAMES = (
    "groq:llama-3.3-70b-versatile",
    "google_genai:gemini-2.5-flash",
    "anthropic:claude-haiku-4-5",
)
PLAN = Reply(tool_calls=(ToolCall("Plan", {"steps": ["Write a.py.", "Run it.", "Fix it."]}),))
CHECKED = Reply(tool_calls=(ToolCall("verify", {"command": ["check"]}),))
APPROVED = Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "feedback": ""}),))


def cut(*calls: ToolCall, text: str = "") -> Reply:
    return Reply(text, calls, tokens=Tokens(output=8_192), stop="length")


def write(content: str, **more: object) -> Reply:
    return Reply(tool_calls=(ToolCall("write_file", {"path": "a.py", "content": content, **more}),))


async def played(
    folder: Path,
    name: str,
    turns: Sequence[Turn],
    plan: Sequence[Turn] = (PLAN,),
    verdict: Sequence[Turn] = (APPROVED,),
) -> tuple[Journey, Sequence[Request]]:
    journey = Journey.plan(folder, [], PlannedSandbox(ANSWERS))
    with ProviderServer([*plan, *turns, *verdict]) as server:
        keys = dict.fromkeys(("groq", "anthropic", "google_genai"), "key")
        pool = ModelPool(ModelOptions(keys, server.base_urls(), max_retries=0))
        journey.ports = journey.with_ports(models=RoleModels.alone(pool, name))
        await journey.begin(job_fields("Write a.py."))
        await pool.aclose()
        return journey, server.requests


@pytest.mark.parametrize("name", ["groq:llama-3.3-70b-versatile", "anthropic:claude-haiku-4-5"])
async def test_a_truncated_call_is_not_made_and_the_model_gets_advice(
    tmp_path: Path, name: str
) -> None:
    half = ToolCall("write_file", '{"path": "a.py", "content": "' + "x" * 30_000)
    complete_calls = [write("x = 1\n"), write("y = 2\n", append=True)]
    journey, requests = await played(
        tmp_path, name, [cut(half), *complete_calls, CHECKED, Reply("Done.")]
    )
    heard = requests[2].last_text
    assert "cut off" in heard
    assert "8192 tokens" in heard
    assert "`write_file` was not called" in heard
    assert "`append`" in heard
    assert "JSON" not in heard
    assert len(str(requests[2].body)) < 25_000
    assert await journey.ports.workspace.read("a.py") == b"x = 1\ny = 2\n"
    assert (await journey.outcome()).approved


@pytest.mark.parametrize("name", NAMES)
async def test_a_truncated_answer_is_requested_again(tmp_path: Path, name: str) -> None:
    half = cut(text="I made a.py, which")
    turns = [write("x = 1\n"), CHECKED, half, Reply("I made a.py.")]
    journey, requests = await played(tmp_path, name, turns)
    assert "cut off" in requests[4].last_text
    (answer,) = journey.event_data("answered")
    assert answer["text"] == "I made a.py."


async def test_a_truncated_call_after_a_truncated_answer_is_a_call(tmp_path: Path) -> None:
    half = ToolCall("write_file", '{"path": "a.py", "content": "' + "x" * 3_000)
    turns = [cut(text="I make"), cut(half), write("x = 1\n"), CHECKED, Reply("Done.")]
    journey, requests = await played(tmp_path, NAMES[0], turns)
    assert "`write_file` was not called" in requests[3].last_text
    assert not any("cut off, twice" in message.text for message in requests[-1].messages)
    assert (await journey.outcome()).approved


@pytest.mark.parametrize("name", NAMES)
async def test_an_answer_that_is_truncated_twice_is_marked(tmp_path: Path, name: str) -> None:
    turns = [write("x = 1\n"), CHECKED, cut(text="I made"), cut(text="I made a")]
    journey, requests = await played(tmp_path, name, turns)
    (answer,) = journey.event_data("answered")
    assert answer["text"].startswith("I made a\n")
    assert "cut off, twice" in answer["text"]
    assert any("cut off, twice" in message.text for message in requests[-1].messages)


EMPTY = (Reply(""), Reply("\u200b\n"))
WORK = (write("x = 1\n"), CHECKED)


@pytest.mark.parametrize("name", NAMES)
async def test_an_empty_reply_does_not_end_a_pass(tmp_path: Path, name: str) -> None:
    journey, requests = await played(tmp_path, name, [*WORK, EMPTY[0], Reply("I made a.py.")])
    assert "is empty" in requests[4].last_text
    (answer,) = journey.event_data("answered")
    assert answer["text"] == "I made a.py."
    assert (await journey.outcome()).approved


async def test_a_pass_without_an_answer_ends_the_job_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ReplyUnusable, match=r"two replies in a row are no answer.* is empty"):
        await played(tmp_path, NAMES[0], [*WORK, *EMPTY])


async def test_an_empty_reply_to_the_request_for_a_verification_keeps_the_answer(
    tmp_path: Path,
) -> None:
    unproven = [write("x = 1\n"), Reply("I made a.py."), *EMPTY, APPROVED]
    journey, _ = await played(tmp_path, NAMES[0], [*unproven, CHECKED, Reply("I verified it.")])
    texts = [answer["text"] for answer in journey.event_data("answered")]
    assert texts == ["I made a.py.", "I verified it."]


async def test_an_empty_plan_is_the_default_plan(tmp_path: Path) -> None:
    turns = [*WORK, Reply("I made a.py.")]
    journey, requests = await played(tmp_path, NAMES[0], turns, plan=EMPTY)
    assert "Answer by calling `Plan`" in requests[1].last_text
    (planned,) = journey.event_data("planned")
    assert planned["source"] == "default"
    assert "is empty" in planned["note"]
    assert (await journey.outcome()).approved


async def test_an_empty_verdict_is_no_approval(tmp_path: Path) -> None:
    turns = [*WORK, Reply("I made a.py.")]
    journey, _ = await played(tmp_path, NAMES[0], turns, verdict=EMPTY)
    assert not (await journey.outcome()).approved
