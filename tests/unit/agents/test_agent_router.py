"""The router: a model chooses the route once; if it does not, the route is medium."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.graph.graphs import Journey, PlannedSandbox, call, turn

from agents.calls.router import Difficulty, Routes, route
from agents.errors import BudgetExhausted
from agents.graph.memory_ports import MemoryBudget

ROUTES = Routes({"simple": ("groq:small",), "hard": ("groq:large", "groq:other")})
TASK = "A simple asyncio scheduler, short"


def a_journey(folder: Path, *turns: Any) -> Journey:
    return Journey.plan(folder, [*turns, turn("planner", "never asked", "x")], PlannedSandbox({}))


async def test_the_model_decides_once(tmp_path: Path) -> None:
    judged = call("Judged", difficulty="hard", reason="It schedules.")
    journey = a_journey(tmp_path, turn("router", TASK, judged))
    for _ in range(2):  # as a worker that continues after a crash
        assert await route(journey.ports, ROUTES, TASK, 0) is Difficulty.HARD
    (data,) = journey.event_data("routed")
    assert data == {
        "difficulty": "hard",
        "model": "groq:large",
        "reason": "It schedules.",
        "by": "model",
    }
    (model_call,) = journey.event_data("model_called")
    assert model_call["role"] == "router"


@pytest.mark.parametrize("reply", ["I cannot say", call("Judged", difficulty="huge")])
async def test_an_invalid_reply_selects_the_medium_route(tmp_path: Path, reply: Any) -> None:
    journey = a_journey(tmp_path, turn("router", TASK, reply))
    assert await route(journey.ports, ROUTES, TASK, 0) is Difficulty.MEDIUM
    (data,) = journey.event_data("routed")
    assert (data["model"], data["by"]) == (None, "default")
    assert "could not be read" in data["reason"]


async def test_an_unavailable_model_does_not_fail_the_job(tmp_path: Path) -> None:
    journey = a_journey(tmp_path)  # the recording has no answer for the router
    assert await route(journey.ports, ROUTES, TASK, 0) is Difficulty.MEDIUM
    assert "did not answer" in journey.event_data("routed")[0]["reason"]


async def test_the_call_of_the_router_is_charged_to_the_budget(tmp_path: Path) -> None:
    judged = call("Judged", difficulty="hard")
    journey = a_journey(tmp_path, turn("router", TASK, judged))
    ports = replace(journey.ports, budget=MemoryBudget(journey.record, most=100))
    with pytest.raises(BudgetExhausted):
        await route(ports, ROUTES, TASK, 0)
