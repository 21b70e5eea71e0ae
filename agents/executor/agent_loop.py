"""A pass of LangChain's agent loop: from a request to an answer, with all that it has run.

The executor makes one for each revision, and each branch one for its step.
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
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import override

from agents.calls.journal import answered_by
from agents.executor.history import final_answer, replies, this_pass
from agents.executor.model_calls import ModelCallMiddleware
from agents.executor.plan_progress import at_end
from agents.executor.tool_calls import ToolCallMiddleware
from agents.failures.feedback import escalation_of
from agents.graph.state import ArtifactFields, Messages, Run
from agents.ports import CallKey, Event, Ports
from agents.prompts import Prompt, render
from agents.texts import bounded
from agents.tools.build import build_tools
from agents.tools.registry import TOOLS, Body
from agents.tools.trace import runs_in, traces

Agent = CompiledStateGraph[Any, Ports, Any, Any]


class LoopState(AgentState[Any]):
    """One pass of the loop. Its runs are numbered from `runs_before` on, `apart` from each other;
    `made` names the files that the job has made before it, `reds` are its verifications that failed
    since one passed. `asks`: a model that declares no verification is asked for one.

    `level` is as the outer state has it. `steps` is how many the plan has, whose progress the pass
    reports; where it is missing or 0, somebody else does. `outer` is the pass's own place in the
    graph: namespace, node, ordinal.
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
    """What a pass begins with; `prompt` is what is asked of it. The others: see `Pass`."""

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
    """What a pass has left. `said` begins with its request; `made` are the files of its calls;
    `steps` tell which steps of the plan are finished with it; `stopped` says why it was ended for
    going in circles, or is None."""

    messages: list[AnyMessage]
    answer: str
    runs: list[Run]
    made: list[ArtifactFields]
    level: int
    steps: Sequence[Event] = ()
    stopped: str | None = None


def build_agent(bodies: Sequence[Body] = TOOLS) -> Agent:
    """The loop, compiled, with these tools. What belongs to one job comes with the runtime context.

    It keeps no checkpoints: each of its calls is in the journal, so a pass that starts anew after
    a crash recalls them all, and a long pass costs one write a call.
    """
    return create_agent(
        model=ModelPlaceholder(),
        tools=build_tools(bodies),
        system_prompt=render("executor/system", tools=[body.__name__ for body in bodies]),
        middleware=(ModelCallMiddleware(), ToolCallMiddleware()),
        state_schema=LoopState,
        context_schema=Ports,
        checkpointer=False,
    )


async def run_loop(agent: Agent, request: LoopRequest, ports: Ports) -> LoopResult:
    """One pass, over these ports."""
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
        _unsaved(get_config()),
        context=ports,
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
    )


def _ended(state: Mapping[str, Any], at: CallKey) -> Sequence[Event]:
    """The steps that are finished with the pass: none, where it was not the model that ended it."""
    messages = this_pass(state["messages"])
    if not messages or answered_by(messages[-1]) is None:
        return ()
    moved = at_end(messages, state.get("steps", 0))
    return moved.events(at, replies(messages), state["revision"])


def _unsaved(config: RunnableConfig) -> RunnableConfig:
    """`config` for a graph that keeps no checkpoints inside one that does.

    The outer graph's durability comes with its config, and "sync" fails where there is no
    checkpointer (LangGraph 1.2.22); given as an argument it works, but warns on every call.
    """
    return {**config, "configurable": {**config["configurable"], "__pregel_durability": "async"}}


class ModelPlaceholder(BaseChatModel):
    """Compiled into the agent once a process; `ModelCallMiddleware` replaces it for each job.

    Raises RuntimeError when it is asked itself: the middleware is missing.
    """

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise RuntimeError(
            "a job's model is put in place by agents.executor.model_calls.ModelCalls"
        )

    @property
    def _llm_type(self) -> str:
        return "fettle-per-job"
