"""One pass of LangChain's agent loop: from a request to an answer, with its runs.

The executor makes one pass for each revision, and each branch makes one for its step.

Why: docs/decisions/0008-no-checkpoints-inside-a-pass.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NotRequired

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
from agents.executor.plan_progress import at_end
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
"""A graph with a thread of its own inherits no checkpointer, durability or control from the graph
that calls it. The durability "sync" fails without a checkpointer (LangGraph 1.2.22)."""


class LoopState(AgentState[Any]):
    """The state of one pass, which is not checkpointed.

    `key` is the call key of the pass itself: namespace, node, ordinal. Its runs are numbered from
    `runs_before` on, in steps of `run_number_step`. `made_before` names the files that the job made
    earlier, `failed_verifications` the verifications that failed since the last success.
    `ask_to_verify`: a model that declares no verification is asked for one. `steps` is the length
    of the plan, if the pass reports its progress; 0 otherwise.
    """

    messages: Messages
    revision: int
    runs_before: int
    run_number_step: int
    made_before: Sequence[str]
    failed_verifications: Sequence[Run]
    ask_to_verify: bool
    level: int
    steps: NotRequired[int]
    key: tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class LoopRequest:
    """The input of a pass. `prompt` is what the model is asked; `LoopState` describes the rest."""

    prompt: Prompt
    at: CallKey
    revision: int
    runs_before: int
    level: int
    history: Sequence[AnyMessage] = ()
    made_before: Sequence[str] = ()
    failed_verifications: Sequence[Run] = ()
    ask_to_verify: bool = False
    run_number_step: int = 1
    steps: int = 0


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of a pass. `messages` begins with the request, `made` are the files of its calls,
    `steps` the events of the steps that end with it. `stopped` says why a pass without progress was
    ended, or is None; `paused`: it was stopped for a person to look at a run."""

    messages: list[AnyMessage]
    answer: str
    runs: list[Run]
    made: list[ArtifactFields]
    level: int
    steps: Sequence[Event] = ()
    stopped: str | None = None
    paused: bool = False


def build_agent(bodies: Sequence[Body] = TOOLS) -> Agent:
    """The compiled loop with these tools. Everything of one job comes with the runtime context.

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
        {
            "messages": [*request.history, request.prompt.message()],
            "revision": request.revision,
            "runs_before": request.runs_before,
            "run_number_step": request.run_number_step,
            "made_before": request.made_before,
            "failed_verifications": request.failed_verifications,
            "ask_to_verify": request.ask_to_verify,
            "level": request.level,
            "steps": request.steps,
            "key": astuple(request.at),
        },
        _NO_CHECKPOINTS,
        context=ports,
        control=get_runtime(Ports).control,
    )
    messages: list[AnyMessage] = state["messages"][len(request.history) :]
    found, escalated = traces(messages), escalation_of(state, ports)
    return LoopResult(
        messages=messages,
        answer=bounded(final_answer(messages), ports.bounds.answer),
        runs=runs_in(found),
        made=[file for trace in found for file in trace["files"]],
        level=escalated.level,
        steps=_ended(state, request.at),
        stopped=escalated.stopped,
        paused=was_paused(messages),
    )


def _ended(state: Mapping[str, Any], at: CallKey) -> Sequence[Event]:
    """The steps that end with the pass; none if it was not the model that ended it."""
    messages = this_pass(state["messages"])
    if not messages or answered_by(messages[-1]) is None:
        return ()
    moved = at_end(messages, state.get("steps", 0))
    return moved.events(at, replies(messages), state["revision"])


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
