"""The critic: a model judges the evidence, and `evidence.verdict` limits its approvals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key
from agents.critic.loop import ask_critic
from agents.critic.request import critic_messages
from agents.errors import ModelRefused, ModelUnavailable, another_may_answer
from agents.evidence.revisions import NextRevision, after_critique
from agents.evidence.verdict import (
    AWAY,
    CRITIC,
    REFUSED,
    UNREADABLE,
    Critique,
    critique_of,
    feedback_text,
)
from agents.ports import Event
from agents.prompts.images import Image, images_of
from agents.runs.record import EXECUTOR
from agents.state import State


async def critic(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """One critique. The last one that `max_revisions` allows ends the job."""
    ports = runtime.context
    messages = await critic_messages(state, ports)
    images = await images_of(state, ports.workspace)
    critique = await _verdict(state, runtime, messages, images)
    next_revision = _next_revision(state, critique, ports.models.levels(EXECUTOR))
    if critique["verdict"] == "revise":
        critique = {**critique, "ends": next_revision.ends}
    await ports.events.emit(Event(call_key(runtime.execution_info), "critiqued", critique))
    if critique["verdict"] == "approve":
        return {"critiques": [critique], "approved_by": critique["by"]}
    return {
        "critiques": [critique],
        "feedback": {"by": CRITIC, "text": feedback_text(critique)},
        "exhausted": next_revision.exhausted,
        "level": next_revision.level,
    }


def _next_revision(state: State, critique: Critique, levels: int) -> NextRevision:
    """The decision after the critique. Without a readable reply the job ends."""
    if critique["ends"]:
        return NextRevision(exhausted=True, level=state.get("level", 0), ends=critique["ends"])
    return after_critique(state, [*state.get("critiques", []), critique], levels)


async def _verdict(
    state: State,
    runtime: Runtime[Ports],
    messages: Sequence[BaseMessage],
    images: Sequence[Image],
) -> Critique:
    """The critic's verdict, as far as the verification supports it.

    If the model is unavailable, the job is tried again until its last attempt. If the model refuses
    the request, the job is not tried again. In both cases the job then ends without an approval. A
    problem with the key, the account, the model or its address fails the job, as in every role: a
    retry of the job then continues here.
    """
    try:
        answer = await ask_critic(state, runtime, messages, images)
    except ModelRefused as error:
        if another_may_answer(error):
            raise
        return critique_of(state, None, f"{REFUSED}: {error}")
    except ModelUnavailable as error:
        if error.unproven or not runtime.context.last_try:
            raise
        return critique_of(state, None, f"{AWAY}: {error}")
    return critique_of(state, answer.value, f"{UNREADABLE}: {answer.error}")
