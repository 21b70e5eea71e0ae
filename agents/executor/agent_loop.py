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
    apart: int
    made: Sequence[str]
    reds: Sequence[Run]
    asks: bool
    level: int
    steps: NotRequired[int]
    outer: tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class LoopRequest:
    """What a pass begins with; `prompt` is what is asked of it. The others: see `Pass`."""

    prompt: Prompt
    at: CallKey
    revision: int
    runs_before: int
    level: int
    history: Sequence[AnyMessage] = ()
    made: Sequence[str] = ()
    reds: Sequence[Run] = ()
    asks: bool = False
    apart: int = 1
    steps: int = 0


@dataclass(frozen=True, slots=True)
class LoopResult:
    """What a pass has left. `said` begins with its request; `made` are the files of its calls;
    `steps` tell which steps of the plan are finished with it; `stopped` says why it was ended for
    going in circles, or is None."""

    said: list[AnyMessage]
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


async def run_loop(agent: Agent, asked: LoopRequest, ports: Ports) -> LoopResult:
    """One pass, over these ports."""
    got = await agent.ainvoke(
        {
            "messages": [*asked.history, asked.prompt.message()],
            "revision": asked.revision,
            "runs_before": asked.runs_before,
            "apart": asked.apart,
            "made": asked.made,
            "reds": asked.reds,
            "asks": asked.asks,
            "level": asked.level,
            "steps": asked.steps,
            "outer": astuple(asked.at),
        },
        _unsaved(get_config()),
        context=ports,
    )
    said: list[AnyMessage] = got["messages"][len(asked.history) :]
    found, escalated = traces(said), escalation_of(got, ports)
    return LoopResult(
        said=said,
        answer=bounded(final_answer(said), ports.bounds.answer),
        runs=runs_in(found),
        made=[file for trace in found for file in trace["files"]],
        level=escalated.level,
        steps=_ended(got, asked.at),
        stopped=escalated.stopped,
    )


def _ended(got: Mapping[str, Any], at: CallKey) -> Sequence[Event]:
    """The steps that are finished with the pass: none, where it was not the model that ended it."""
    said = this_pass(got["messages"])
    if not said or answered_by(said[-1]) is None:
        return ()
    moved = at_end(said, got.get("steps", 0))
    return moved.events(at, replies(said), got["revision"])


def _unsaved(config: RunnableConfig) -> RunnableConfig:
    """`config` for a graph that keeps no checkpoints inside one that does.

    The outer graph's durability comes with its config, and "sync" fails where there is no
    checkpointer (LangGraph 1.2.22); given as an argument it works, but warns on every call.
    """
    return {**config, "configurable": {**config["configurable"], "__pregel_durability": "async"}}


class ModelPlaceholder(BaseChatModel):
    """The agent is compiled once a process; `ModelCallMiddleware` puts each job's model in its place.

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
