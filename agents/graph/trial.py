"""The trial of a model: the planner and one pass of the executor, as every job begins.

`fettle models --check` makes it. It runs the graph's own nodes with the executor's own tools, over
ports in memory, so a model that passes has proved all that a job needs of it: a reply in the form
of a forced tool, a call of one of many tools, and an answer to the conversation with that call and
its result. A model that follows its instructions gets three requests.

See ADR 78.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import override

from agents.attempt import Ports, TokenStreams
from agents.calls.serializer import SERIALIZER
from agents.context.overflow import MOST_BYTES_A_TOKEN, tool_bytes
from agents.errors import ModelError
from agents.executor.agent_loop import build_agent
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryJournal, MemoryRecord, MemoryWorkspace, ports_over
from agents.models.replies.reading import CALLS_AS_TEXT
from agents.models.role_models import RoleModels
from agents.nodes.executor import build_executor
from agents.nodes.planner import planner
from agents.ports import Finished
from agents.ports.spending import Usage
from agents.runs.record import EXECUTOR
from agents.state import State
from agents.texts import one_line
from agents.tools.registry import TOOLS, Body, build_tools
from sandbox.protocol import Sandbox, SandboxUnavailable

MOST_REPLIES = 4
"""The most replies to the executor: a call, the answer, and two for a model that errs first."""
TASK = (
    "How many files are in the working directory? Call the tool list_dir once, then answer with "
    "the number. Write no file, and run no code."
)
_FILES = {"notes.txt": b"one\n", "table.csv": b"a,b\n1,2\n"}
_SHOWN_CHARACTERS = 120
_ENDLESS = f"the model gives no answer: each of its {MOST_REPLIES} replies calls a tool"
_SAFER = "to be safe, start the server with --jinja / a tool-call parser"
_PARSE = (
    "start it with --jinja and a chat template for tools, or with a tool-call parser, or name "
    "another model"
)
_NO_USAGE = "the server reports no tokens, so limits in tokens and money cannot be enforced"


class TrialStep(StrEnum):
    """The steps of a trial, in order."""

    FORCED_TOOL = "forced_tool"
    """The planner offers one tool, and the model has to call it. The critic's requests force a call
    in the same way."""
    TOOL_CALL = "tool_call"
    """The executor offers all tools, and the model calls one of them."""
    TOOL_RESULT = "tool_result"
    """The model gets the conversation with its call and the result, and answers."""
    USAGE = "usage"
    """Every reply reports its tokens."""


REQUIRED = frozenset(TrialStep) - {TrialStep.USAGE}
"""Steps without which no job can run. Without USAGE, limits on tokens cannot be enforced."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """`ok` is None if the step was not tried, because an earlier step failed. `seconds` is the time
    of the step's requests."""

    step: TrialStep
    ok: bool | None
    error: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The results of all steps, in order, and the model's replies."""

    steps: Sequence[StepResult]
    replies: Sequence[AIMessage]

    @property
    def passed(self) -> bool:
        """Whether a job can run with this model."""
        return all(result.ok for result in self.steps if result.step in REQUIRED)

    def notes(self) -> Sequence[str]:
        """Observations that keep no job from running."""
        forms = {reply.response_metadata.get(CALLS_AS_TEXT) for reply in self.replies} - {None}
        return [f"tool calls come as text ({form}) and are read; {_SAFER}" for form in forms]


@dataclass(frozen=True, slots=True)
class Trials:
    """The compiled graph of trials. `tool_tokens` is the least number of tokens that the
    descriptions of its tools take."""

    graph: CompiledStateGraph[State, Ports, State, State]
    tool_tokens: int


def build_trials(tools: Sequence[Body] = TOOLS) -> Trials:
    """Trials with the executor's tools."""
    graph = StateGraph(State, context_schema=Ports)
    graph.add_node("planner", planner)
    graph.add_node("executor", build_executor(build_agent(tools)))
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "executor")
    graph.add_edge("executor", END)
    return Trials(graph.compile(), tool_bytes(build_tools(tools)) // MOST_BYTES_A_TOKEN)


async def run_trial(
    trials: Trials,
    models: RoleModels,
    sandbox: Sandbox,
    seconds: float,
    tokens: TokenStreams | None = None,
) -> TrialResult:
    """Try the model of `models` for `seconds` at most. A failure of the model is a result.

    `sandbox` runs the code of a model that writes code in spite of the task. `tokens` receives the
    replies while they come.
    """
    record = MemoryRecord()
    journal = _Journal(record)
    ports = ports_over(record, sandbox, models)
    bounds = replace(ports.bounds, steps=MOST_REPLIES)
    workspace = MemoryWorkspace(record, _FILES)
    context = replace(ports, journal=journal, workspace=workspace, bounds=bounds, tokens=tokens)
    job = job_fields(TASK, files=tuple(_FILES))
    started, error = time.monotonic(), None
    try:
        async with asyncio.timeout(seconds) as clock:
            await trials.graph.ainvoke(initial_state(job), context=context)
    except (ModelError, SandboxUnavailable) as raised:
        error = str(raised)
    except TimeoutError:
        if not clock.expired():
            raise
        error = f"no end of the model's reply within the {seconds:g} s of a check"
    plans = [event.data for event in record.events.values() if event.kind == "planned"]
    judged = _judge(journal.calls, plans, error, trials.tool_tokens)
    times = _seconds(journal.calls, started, time.monotonic(), planned=bool(plans))
    steps = [StepResult(step, ok, reason, times.get(step)) for step, ok, reason in judged]
    return TrialResult(steps, _replies(journal.calls))


@dataclass(frozen=True, slots=True)
class _Call:
    """A finished call: a reply to `role`, or a tool's result (`role` is None). `at` is the end of
    the call on the monotonic clock."""

    message: BaseMessage
    role: str | None
    at: float


class _Journal(MemoryJournal):
    """Keeps the finished calls in order, with their messages as the stored bytes have them."""

    def __init__(self, record: MemoryRecord) -> None:
        super().__init__(record)
        self.calls: list[_Call] = []

    @override
    async def record(self, key: str, finished: Finished) -> None:
        await super().record(key, finished)
        message = SERIALIZER.loads_typed(("msgpack", finished.outcome))
        role = finished.charge.role if finished.charge else None
        self.calls.append(_Call(message, role, time.monotonic()))


def _judge(
    calls: Sequence[_Call],
    plans: Sequence[Mapping[str, Any]],
    error: str | None,
    tool_tokens: int,
) -> Iterator[tuple[TrialStep, bool | None, str | None]]:
    """For each step whether it worked, and the reason if it did not. `plans` is the data of the
    planner's event; empty if `error` ended the trial before it."""
    if not plans:
        yield TrialStep.FORCED_TOOL, False, error
    elif plans[0]["source"] == "model":
        yield TrialStep.FORCED_TOOL, True, None
    else:
        yield TrialStep.FORCED_TOOL, False, str(plans[0]["note"])
    if not plans:
        yield TrialStep.TOOL_CALL, None, None
        yield TrialStep.TOOL_RESULT, None, None
    elif not any(map(_is_result, calls)):
        yield TrialStep.TOOL_CALL, False, error or _without_call(calls, tool_tokens)
        yield TrialStep.TOOL_RESULT, None, None
    else:
        endless = _ENDLESS if isinstance(calls[-1].message, ToolMessage) else None
        yield TrialStep.TOOL_CALL, True, None
        yield TrialStep.TOOL_RESULT, not (error or endless), error or endless
    replies = _replies(calls)
    reported = all(map(Usage.of, replies)) if replies else None
    yield TrialStep.USAGE, reported, _NO_USAGE if reported is False else None


def _seconds(
    calls: Sequence[_Call], start: float, end: float, *, planned: bool
) -> Mapping[TrialStep, float]:
    """The time of each step that was tried. `planned`: the planner raised no error."""
    to_planner = [call.at for call in calls if call.role not in {None, EXECUTOR}]
    results = [call.at for call in calls if _is_result(call)]
    times = [start, *(to_planner[-1:] if planned else ()), *results[:1], end]
    pairs = zip(TrialStep, itertools.pairwise(times), strict=False)
    return {step: round(finish - begin, 3) for step, (begin, finish) in pairs}


def _replies(calls: Sequence[_Call]) -> list[AIMessage]:
    return [call.message for call in calls if isinstance(call.message, AIMessage)]


def _is_result(call: _Call) -> bool:
    """Whether it is a tool's result, and no error."""
    return isinstance(call.message, ToolMessage) and call.message.status != "error"


def _without_call(calls: Sequence[_Call], tool_tokens: int) -> str:
    """The reason if no call has a result."""
    last = calls[-1].message
    text = one_line(str(last.text), _SHOWN_CHARACTERS)
    if isinstance(last, ToolMessage):
        return f"the model's calls of tools fail: {text}"
    reason = f"the model calls no tool, although the task asks for a call: it answers {text!r}"
    usage = Usage.of(last) if isinstance(last, AIMessage) else None
    if usage is not None and usage.input_tokens < tool_tokens:
        counted = f"counts {usage.input_tokens:,} tokens, and the tools alone take {tool_tokens:,}"
        return f"{reason}. The server does not show the tools to the model: it {counted}; {_PARSE}"
    return reason
