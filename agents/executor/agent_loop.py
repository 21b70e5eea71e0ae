"""One pass of LangChain's agent loop: from a request to an answer, with its runs.

The executor makes one pass for each revision, and each branch makes one for its step.

See ADR 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from typing_extensions import override

from agents.attempt import Ports
from agents.executor.model_calls import ModelCallMiddleware
from agents.executor.plan_progress import changes_at_end
from agents.executor.tool_calls import ToolCallMiddleware
from agents.history import final_answer, replies, runs_in, this_pass, traces, was_paused
from agents.models.replies.fields import answered_by
from agents.ports import CallKey, Event
from agents.prompts import Prompt
from agents.repair.feedback import escalation_of
from agents.state import ArtifactFields, Messages, Run
from agents.texts import bounded
from agents.tools.registry import TOOLS, Body, build_tools

Agent = CompiledStateGraph[Any, Ports, Any, Any]

_NO_CHECKPOINTS: RunnableConfig = {"configurable": {"thread_id": "pass"}}
"""The loop runs as a graph with its own thread id, so that it does not inherit the checkpointer and
the durability of the calling graph: the loop has no checkpointer, and the durability "sync" fails
without one (LangGraph 1.2.22). It does not inherit the control either, so `run_loop` passes the
control."""


@dataclass(frozen=True, slots=True)
class LoopRequest:
    """The input of a pass."""

    prompt: Prompt
    pass_key: CallKey
    """The call key of the pass: the keys of its calls are derived from it."""
    revision: int
    """The number of the revision, from 1. Parallel branches make their passes in the same revision.
    """
    runs_before: int
    """The number of the job's last run before the pass."""
    first_level: int
    """The position of the first model in the executor's chain."""
    history: Sequence[AnyMessage] = ()
    """The messages of earlier passes, which the model also reads."""
    made_before: Sequence[str] = ()
    """The files that the job made before the pass, by name."""
    failed_verifications: Sequence[Run] = ()
    """The verifications that failed since the last success."""
    ask_to_verify: bool = False
    """Whether a model that declares no verification is asked for one."""
    run_number_step: int = 1
    """The difference between the numbers of two successive runs of the pass. It is the number of
    parallel branches, so that no two branches use the same number."""
    plan_length: int = 0
    """The number of the plan's steps if the pass reports its progress; otherwise 0."""


class LoopState(AgentState[Any]):
    """The state of one pass, which is not checkpointed."""

    messages: Messages
    """The history, the prompt, and the replies and answers of the pass."""
    request: LoopRequest


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of a pass."""

    messages: list[AnyMessage]
    """The messages of the pass; the first one is the request."""
    answer: str
    runs: list[Run]
    new_files: list[ArtifactFields]
    """The files that its calls have made or changed."""
    last_level: int
    """The position of the last model in the executor's chain."""
    step_events: Sequence[Event] = ()
    """The events of the steps that finish with the pass."""
    stopped: str | None = None
    """Why the pass was ended without progress, if it was."""
    paused: bool = False
    """Whether the pass was stopped so that a person can look at a run."""


def build_agent(bodies: Sequence[Body] = TOOLS) -> Agent:
    """The compiled loop with these tools. All data of one job is in the runtime context.

    It keeps no checkpoints. Each of its calls is in the journal, so a pass that starts again after
    a crash recalls them all, and a call costs one write.
    """
    return create_agent(
        model=ModelPlaceholder(),
        tools=build_tools(bodies),
        middleware=(ModelCallMiddleware(), ToolCallMiddleware()),
        state_schema=LoopState,
        context_schema=Ports,
        checkpointer=False,
    )


async def run_loop(agent: Agent, request: LoopRequest, ports: Ports) -> LoopResult:
    """Run one pass."""
    state = await agent.ainvoke(
        {"messages": [*request.history, request.prompt.message()], "request": request},
        _NO_CHECKPOINTS,
        context=ports,
        control=get_runtime(Ports).control,
    )
    messages: list[AnyMessage] = state["messages"][len(request.history) :]
    pass_traces, escalated = traces(messages), escalation_of(state, ports)
    return LoopResult(
        messages=messages,
        answer=bounded(final_answer(messages), ports.bounds.answer),
        runs=runs_in(pass_traces),
        new_files=[file for trace in pass_traces for file in trace["files"]],
        last_level=escalated.level,
        step_events=_events_at_end(state["messages"], request),
        stopped=escalated.stopped,
        paused=was_paused(messages),
    )


def _events_at_end(conversation: Sequence[AnyMessage], request: LoopRequest) -> Sequence[Event]:
    """The events of the steps that finish with the pass. If Fettle has ended the pass, and not the
    model, no step is finished."""
    messages = this_pass(conversation)
    if not messages or answered_by(messages[-1]) is None:
        return ()
    changes = changes_at_end(messages, request.plan_length)
    return changes.events(request.pass_key, replies(messages), request.revision)


class ModelPlaceholder(BaseChatModel):
    """Compiled into the agent once a process; `ModelCallMiddleware` replaces it for each job.

    Raises RuntimeError when it is called, because the middleware is missing then.
    """

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise RuntimeError("ModelCallMiddleware, which sets the job's model, is missing")

    @property
    def _llm_type(self) -> str:
        return "fettle-per-job"
