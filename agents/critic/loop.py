"""The critic's loop: calls of its tools, up to the bound, and then the verdict.

The first request already offers `Verdict`, before the other tools, and the model has to call one of
them. So a model that judges at once is asked once.

See ADR 82.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.errors import GraphDrained
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key, for_call
from agents.calls.messages import messages_read, unread_messages
from agents.calls.structured_call import ask_role, calls_of
from agents.critic.tools import call_tool, critic_tools, schemas_of
from agents.evidence.verdict import CRITIC, Verdict
from agents.executor.model_calls import with_all_calls
from agents.executor.tool_calls import TOOL_CALL_OFFSET
from agents.models.replies.structured import Answer
from agents.prompts import past_reply
from agents.prompts.images import Image
from agents.state import State

NO_CALLS_LEFT = "error: no calls are left"


async def ask_critic(
    state: State,
    runtime: Runtime[Ports],
    messages: Sequence[BaseMessage],
    images: Sequence[Image],
) -> Answer[Verdict]:
    """The critic's verdict, or the error of its reply.

    An approval does not count if a person has sent a message since, and a revision is left in which
    the executor can follow it: then the critic is asked again.

    Model calls and tool calls are journaled: a crash repeats only the call in flight. Raises the
    errors of `agents.calls.model_call.model_call` and of the sandbox, and GraphDrained between two
    requests if the worker stops: LangGraph itself looks only between two nodes.
    """
    ports, at = runtime.context, call_key(runtime.execution_info)
    tools, remaining_calls = schemas_of(critic_tools(ports)), ports.bounds.critic_calls
    conversation, reply_count = list(messages), 0
    while True:
        offered = tools if remaining_calls > 0 else []
        answer = await ask_role(
            runtime,
            CRITIC,
            conversation,
            Verdict,
            level=state.get("level", 0),
            images=images,
            tools=offered,
            replies=reply_count,
        )
        conversation += messages_read(answer.message)
        if answer.value is None and calls_of(answer.message, offered):
            reply = with_all_calls(answer.message)
            conversation.append(reply)
            for index, call in enumerate(reply.tool_calls):
                key = for_call(at, reply_count, TOOL_CALL_OFFSET + index)
                if remaining_calls > 0:
                    tool_message = await call_tool(call, reply, state, ports, key)
                else:
                    tool_message = ToolMessage(NO_CALLS_LEFT, tool_call_id=call["id"])
                conversation.append(tool_message)
                remaining_calls -= 1
        elif await _has_message_against(answer.value, state, ports, conversation):
            conversation.append(past_reply(answer.reply_text, answer.message))
        else:
            return answer
        reply_count += 1
        if runtime.drain_requested:
            raise GraphDrained(runtime.drain_reason or "shutdown")


async def _has_message_against(
    verdict: Verdict | None, state: State, ports: Ports, conversation: Sequence[BaseMessage]
) -> bool:
    """Whether a message has arrived that the critic did not know when it approved the work, and
    that the executor can still follow."""
    if verdict is None or verdict.verdict != "approve":
        return False
    if len(state.get("critiques", ())) + 1 >= state["job"]["max_revisions"]:
        return False
    return bool(await unread_messages(ports, CRITIC, conversation))
