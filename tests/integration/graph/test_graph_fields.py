"""Jobs on a server that requires the fields of each reply in the next request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.graph.graphs import Crash, Journey, PlannedSandbox, printed

from agents.graph.job_input import job_fields
from agents.graph.memory_ports import MemoryJournal, MemoryRecord
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.replies.history import NO_TEXT
from agents.models.role_models import RoleModels
from agents.ports import Bounds, Finished
from lab.provider import ProviderServer, Refusal, Reply, Request, ToolCall, Turn

NAMES = ("compatible:m", "deepseek:m", "groq:m", "openrouter:m", "mistral:m", "azure:m", "ollama:m")
CODES = [f"print({n})" for n in range(12)]
PLAN = Reply(tool_calls=(ToolCall("Plan", {"steps": ["Run it."]}),))
RUNS = [Reply(tool_calls=(ToolCall("python", {"code": code}),)) for code in CODES]


def verdict(decision: str, run: str | None = None) -> Reply:
    judged = {"verdict": decision, "run": run, "feedback": "Again."}
    return Reply(tool_calls=(ToolCall("Verdict", judged),))


def thoughts(message: Mapping[str, Any]) -> Sequence[str]:
    names = ("reasoning_content", "reasoning", "thinking")
    return [message[name] for name in names if message.get(name)]


class Thinker:
    """Plays the turns, each with its own thoughts. Refuses a request if a reply in it lacks
    thoughts, original or placeholder. Its template does not accept two successive messages of the
    user.
    """

    def __init__(self, *turns: Reply) -> None:
        self.turns = list(turns)
        self.thoughts: list[str] = []
        self.sent_back: list[Sequence[str]] = []

    def __call__(self, request: Request) -> Turn:
        roles = [message["role"] for message in request.body["messages"]]
        if ("user", "user") in pairwise(roles):
            return Refusal(400, "Conversation roles must alternate user/assistant/user/assistant.")
        sent_thoughts = [
            thoughts(message)
            for message in request.body["messages"]
            if message["role"] == "assistant"
        ]
        if any(
            len(message) != 1 or message[0] not in {*self.thoughts, NO_TEXT}
            for message in sent_thoughts
        ):
            return Refusal(400, "The `reasoning_content` must be passed back to the API.")
        self.sent_back.append([text for (text,) in sent_thoughts])
        self.thoughts.append(f"These are thoughts number {len(self.thoughts)}.")
        return replace(self.turns.pop(0), thoughts=self.thoughts[-1])


class CrashingJournal(MemoryJournal):
    """Crashes after the record number `at`."""

    def __init__(self, record: MemoryRecord, at: int) -> None:
        super().__init__(record)
        self.records_left = at

    async def record(self, key: str, finished: Finished) -> None:
        await super().record(key, finished)
        self.records_left -= 1
        if self.records_left == 0:
            raise Crash


async def run(
    folder: Path,
    name: str,
    thinker: Thinker,
    *,
    bounds: Bounds | None = None,
    crash_at: int = 0,
    contexts: Sequence[int | None] = (None, None),
) -> Journey:
    """One attempt, or two if the first crashes; their models have these contexts."""
    sandbox = PlannedSandbox({code: printed(f"ran {code}\n" * 40) for code in CODES})
    journey = Journey.plan(folder, [], sandbox, bounds=bounds)
    keys = dict.fromkeys(
        ("groq", "deepseek", "openrouter", "compatible", "mistral", "azure"), "key"
    )
    with ProviderServer(thinker) as server:
        for attempt in range(2 if crash_at else 1):
            options = ModelOptions(
                keys, server.base_urls(), max_retries=0, context_tokens=contexts[attempt]
            )
            pool = ModelPool(options)
            ports = journey.with_ports(models=RoleModels.alone(pool, name))
            journey.ports = ports
            if crash_at and attempt == 0:
                journal = CrashingJournal(journey.record, crash_at)
                journey.ports = replace(ports, journal=journal)
                with pytest.raises(Crash):
                    await journey.begin(job_fields("Run them."))
                journey.ports = replace(ports, journal=MemoryJournal(journey.record))
            elif attempt:
                await journey.go_on()
            else:
                await journey.begin(job_fields("Run them."))
            await pool.aclose()
    return journey


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", [2, 3, 5])
async def test_after_a_crash_the_fields_come_from_the_journal(
    tmp_path: Path, name: str, at: int
) -> None:
    thinker = Thinker(PLAN, *RUNS[:3], Reply("All ran."), verdict("approve", "r3"))
    journey = await run(tmp_path, name, thinker, crash_at=at)
    assert (await journey.outcome()).approved_by == "critic"
    assert thinker.sent_back[-2] == thinker.thoughts[1:4]


@pytest.mark.parametrize("contexts", [(None, 4_096), (4_096, None)])
async def test_after_a_crash_a_model_with_another_context_repeats_no_call(
    tmp_path: Path, contexts: tuple[int | None, ...]
) -> None:
    thinker = Thinker(PLAN, *RUNS, Reply("All ran."), verdict("approve", "r12"))
    journey = await run(tmp_path, "compatible:m", thinker, crash_at=20, contexts=contexts)
    assert (await journey.outcome()).approved_by == "critic"
    complete = [len(thinker.sent_back[request]) == request - 1 for request in (10, 11)]
    assert complete == [context is None for context in contexts]


async def test_a_later_pass_has_the_fields_of_the_earlier_pass_from_the_checkpoint(
    tmp_path: Path,
) -> None:
    again = [verdict("revise"), RUNS[1], Reply("It ran again."), verdict("approve", "r2")]
    thinker = Thinker(PLAN, RUNS[0], Reply("It ran."), *again)
    journey = await run(tmp_path, "deepseek:m", thinker)
    assert (await journey.outcome()).approved_by == "critic"
    assert thinker.sent_back[-2] == [thinker.thoughts[n] for n in (1, 2, 4)]


async def test_old_exchanges_are_left_out_with_their_fields(tmp_path: Path) -> None:
    thinker = Thinker(PLAN, *RUNS, Reply("All ran."), verdict("approve", "r12"))
    journey = await run(tmp_path, "compatible:m", thinker, contexts=[4_096])
    assert (await journey.outcome()).approved_by == "critic"
    last = thinker.sent_back[-2]
    assert 0 < len(last) < len(CODES)
    assert last == thinker.thoughts[1 + len(CODES) - len(last) : 1 + len(CODES)]


async def test_replies_before_a_repeated_request_keep_their_fields(tmp_path: Path) -> None:
    """An invalid plan, a truncated answer, and calls with invalid JSON."""
    broken = Reply(tool_calls=(ToolCall("python", '{"code": '),))
    cut = Reply("All of them", stop="length")
    turns = [Reply("No plan."), PLAN, broken, RUNS[0], cut, Reply("It ran."), Reply("No verdict.")]
    thinker = Thinker(*turns, verdict("approve", "r1"))
    journey = await run(tmp_path, "deepseek:m", thinker)
    assert (await journey.outcome()).approved_by == "critic"
    assert thinker.sent_back == [
        [], thinker.thoughts[:1],
        [], thinker.thoughts[2:3], thinker.thoughts[2:4], thinker.thoughts[2:5],
        [], thinker.thoughts[6:7],
    ]  # fmt: skip


async def test_a_reply_of_fettle_itself_gets_a_placeholder(tmp_path: Path) -> None:
    """A pass that must end has a last reply that no model wrote."""
    turns = [RUNS[1], verdict("approve", "r2")]
    thinker = Thinker(PLAN, RUNS[0], verdict("revise"), *turns)
    journey = await run(tmp_path, "deepseek:m", thinker, bounds=Bounds(allow_repair=False))
    assert (await journey.outcome()).approved_by == "critic"
    assert thinker.sent_back[-2] == [thinker.thoughts[1], NO_TEXT]
