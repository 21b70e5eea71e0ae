"""The planner: 1 to 7 steps for a task; for a parallel job also which steps are independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, BeforeValidator, Field

from agents.attempt import Ports
from agents.calls.call_key import call_key
from agents.calls.structured_call import ask_role
from agents.checks.reports import criteria_for_prompt
from agents.parallel.branches import emit_started
from agents.parallel.waves import Waves, waves
from agents.ports import Bounds, Event
from agents.prompts import described, render, task_prompt
from agents.state import State

DEFAULT_PLAN = (
    "Write the code that the task asks for, into a file of its own.",
    "Run it on real input and on the edge cases that matter, and check what comes out.",
    "Fix what fails, and run it again until every check passes.",
)
"""The plan for any task, if the model gives no usable one."""
MAX_STEPS = 7
NO_PARTS = "the planner sees no large parts that are independent"
SAME = "the behaviour stays the same"
QUESTION = "the task only asks a question: no file is to be changed"
_KEEPS = "true if the task asks only for a change that keeps the behaviour, such as a refactoring"
_ONLY_ANSWER = "true if the task only asks a question, and no file is to be made or changed"


class Plan(BaseModel):
    """The steps of the plan, in order."""

    steps: list[str] = Field(
        min_length=1, max_length=MAX_STEPS, description=f"1 to {MAX_STEPS} steps, each one sentence"
    )
    only_answer: bool = Field(False, description=_ONLY_ANSWER)
    keeps_behaviour: bool = Field(False, description=_KEEPS)


class Step(BaseModel):
    """A step of the plan."""

    does: str = Field(description="what to do, in one sentence")
    after: list[int] | None = Field(
        None,
        description="numbers (from 1) of the steps whose results it needs; an empty list "
        "if it needs none",
    )


def _as_step(value: Any) -> Any:
    """Models also write a step as a text."""
    return {"does": value} if isinstance(value, str) else value


class ParallelPlan(BaseModel):
    """The steps of the plan, and what each of them needs."""

    steps: list[Annotated[Step, BeforeValidator(_as_step)]] = Field(
        min_length=1, max_length=MAX_STEPS, description=f"1 to {MAX_STEPS} steps"
    )
    one_by_one: bool = Field(
        False, description="true if no two large parts of the task are independent"
    )
    only_answer: bool = Field(False, description=_ONLY_ANSWER)
    keeps_behaviour: bool = Field(False, description=_KEEPS)


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan, its source, and its waves of parallel steps (None: the job is not parallel).
    `only_answer`: the task only asks a question. `keeps_behaviour`: the change is to keep the
    behaviour."""

    steps: list[str]
    source: str
    note: str = ""
    waves: Waves | None = None
    only_answer: bool = False
    keeps_behaviour: bool = False


async def planner(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """The caller's steps, or otherwise the model's steps, or the default plan."""
    ports = runtime.context
    planned = await _planned(state, runtime)
    notes = [planned.note, QUESTION if planned.only_answer else ""]
    notes.append(SAME if planned.keeps_behaviour else "")
    update: dict[str, Any] = {
        "plan": planned.steps,
        "only_answer": planned.only_answer,
        "keeps_behaviour": planned.keeps_behaviour,
    }
    waves: list[list[int]] | None = None
    if planned.waves is not None:
        waves = [list(wave) for wave in planned.waves.waves]
        notes.append(
            "" if waves else f"the steps are taken one after the other: {planned.waves.reason}"
        )
        update |= {"waves": waves, "workspace": ports.workspace.digest}
    note = "; ".join(filter(None, notes))
    data: dict[str, Any] = {"steps": planned.steps, "source": planned.source, "note": note}
    data |= {} if waves is None else {"waves": waves}
    await ports.events.emit(Event(call_key(runtime.execution_info), "planned", data))
    if waves is not None:
        first = waves[0] if waves else ()
        await emit_started(ports, runtime.execution_info, first, state["revision"] + 1)
    return update


async def _planned(state: State, runtime: Runtime[Ports]) -> PlanResult:
    job, ports = state["job"], runtime.context
    parallel = job.get("parallel", False)
    if job["steps"]:
        users_waves = Waves(reason="it is not known which of your own steps are independent")
        if after := job.get("steps_after"):
            users_waves = _choose_waves(after, ports.bounds)
        return PlanResult(list(job["steps"]), "caller", waves=users_waves if parallel else None)
    if not ports.bounds.use_planner:
        no_waves = Waves(reason="the plan is the default one")
        return PlanResult(list(DEFAULT_PLAN), "default", waves=no_waves if parallel else None)
    messages = _messages(state, ports)
    if not parallel:
        plain = await ask_role(runtime, "planner", messages, Plan)
        if plain.value is not None:
            return _as_planned(plain.value, plain.value.steps)
        return PlanResult(list(DEFAULT_PLAN), "default", _unread(plain.error))
    answer = await ask_role(runtime, "planner", messages, ParallelPlan)
    if answer.value is None:
        no_waves = Waves(reason="the plan is the default one")
        return PlanResult(list(DEFAULT_PLAN), "default", _unread(answer.error), no_waves)
    plan = answer.value
    if plan.one_by_one or plan.only_answer:
        waves_of_plan = Waves(reason=NO_PARTS)
    else:
        waves_of_plan = _choose_waves([step.after for step in plan.steps], ports.bounds)
    steps = [step.does for step in plan.steps]
    return _as_planned(plan, steps, waves_of_plan)


def _choose_waves(after: Sequence[Sequence[int] | None], bounds: Bounds) -> Waves:
    """The waves of a plan. Its step n needs the steps `after[n - 1]`."""
    if bounds.pause_each_run:
        return Waves(reason="a person is asked after every run")
    if not bounds.allow_repair:
        return Waves(reason="the work ends with the first code that has run")
    return waves(after, bounds.max_parallel_steps)


def _as_planned(
    plan: Plan | ParallelPlan, steps: list[str], waves: Waves | None = None
) -> PlanResult:
    return PlanResult(
        steps,
        "model",
        waves=waves,
        only_answer=plan.only_answer,
        keeps_behaviour=plan.keeps_behaviour,
    )


def _unread(error: str | None) -> str:
    return f"the planner's reply could not be read: {error}"


def _messages(state: State, ports: Ports) -> list[SystemMessage | HumanMessage]:
    request = task_prompt(
        "planner/task", state, ports.repository, **criteria_for_prompt(state, ports)
    )
    system = render(
        "planner/system",
        most=MAX_STEPS,
        environment=described(ports.environment),
        fetch=ports.pages is not None,
        servers=ports.tool_servers.names if ports.tool_servers else [],
        parallel=state["job"].get("parallel", False),
        repository=ports.repository is not None,
    )
    return [SystemMessage(system), request.message()]
