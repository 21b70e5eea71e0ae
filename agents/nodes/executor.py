"""The executor: one pass of the agent loop for each revision."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, cast

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key
from agents.checks.reports import criteria_for_prompt, failing_excerpt
from agents.evidence.declared import last_declaration
from agents.evidence.record import UnnoticedMutation
from agents.evidence.verdict import CRITIC, run_of, verification_of
from agents.executor.agent_loop import Agent, LoopRequest, run_loop
from agents.nodes.review import since_last_pass
from agents.nodes.tester import put_tests_into_project
from agents.parallel.merging import join_context
from agents.paths import own_files
from agents.ports import Event
from agents.prompts import Prompt, prompt, task_prompt
from agents.repair.feedback import failed_verifications
from agents.runs.kept_files import remove_scratch
from agents.runs.record import EXECUTOR, last_number, still_there
from agents.runs.report import ending_of
from agents.runs.start_files import StartFiles, files_at
from agents.state import State, is_paused


class GraphNode(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: State, *, runtime: Runtime[Ports]) -> Awaitable[dict[str, Any]]: ...


def build_executor(agent: Agent) -> GraphNode:
    """The node around the loop."""

    async def executor(state: State, *, runtime: Runtime[Ports]) -> dict[str, Any]:
        ports = runtime.context
        revision = state["revision"] + 1
        at = call_key(runtime.execution_info)
        runs = state.get("runs", [])
        request = LoopRequest(
            prompt=await _request(state, ports),
            pass_key=at,
            revision=revision,
            runs_before=last_number(runs),
            first_level=state.get("level", 0),
            history=state.get("messages", []),
            made_before=list(state["artifacts"]),
            failed_verifications=failed_verifications(runs),
            ask_to_verify=_has_no_verification(state),
            plan_length=len(state["plan"]),
        )
        loop_result = await run_loop(agent, request, ports)
        await remove_scratch(ports, at, state["job"].get("start"))
        tests = await put_tests_into_project(state, ports, at)
        answered = {"revision": revision, "text": loop_result.answer}
        for event in loop_result.step_events:
            await ports.events.emit(event)
        await ports.events.emit(Event(at, "answered", answered))
        workspace = ports.workspace.digest
        artifacts = still_there(
            state["artifacts"], [*loop_result.new_files, *tests], own_files(ports.workspace)
        )
        stored_answer = {
            **answered,
            "workspace": workspace,
            "artifacts": artifacts,
            "level": loop_result.last_level,
        }
        stored_answer |= {"stopped": loop_result.stopped, "paused": loop_result.paused}
        return {
            "messages": [_without_trace(message) for message in loop_result.messages],
            "revision": revision,
            "answers": [stored_answer],
            "runs": loop_result.runs,
            "level": loop_result.last_level,
            "workspace": workspace,
            "artifacts": artifacts,
            "feedback": None,
        }

    return executor


def _has_no_verification(state: State) -> bool:
    """Whether neither the job nor the model has declared a verification."""
    job = state["job"]
    has_checks = job.get("verify") or job.get("checks") or state.get("tests")
    return not has_checks and last_declaration(state) is None


async def _request(state: State, ports: Ports) -> Prompt:
    """The prompt of this pass."""
    feedback = state["feedback"]
    if feedback is None and state.get("branches"):
        files = await files_at(ports, state.get("workspace"))
        joins = prompt("executor/joins", **join_context(state))
        return task_request(state, ports, joined=files).then(joins)
    if feedback is None:
        return task_request(state, ports)
    edits = [
        {**run, "ending": ending_of(run, ports.limits)}
        for run in state.get("runs", [])
        if run["revision"] == state["revision"] and run["by"] != EXECUTOR
    ]
    words = {
        "by": feedback["by"],
        "text": feedback["text"],
        "comments": _comments(state),
        "edited_files": [
            {**file, "by": edit["by"]}
            for edit in state.get("edits", ())
            if edit["revision"] == state["revision"]
            for file in edit.get("changes", ())
        ],
        "before": since_last_pass(state),
    }
    if is_paused(state) and feedback["by"] != CRITIC:
        return prompt("executor/go_on", edits=edits, **words)
    review = {**words, **failing_excerpt(state), "unnoticed": _unnoticed(state)}
    return prompt("executor/feedback", edits=edits, verified=_failed_verification(state), **review)


def _comments(state: State) -> list[dict[str, Any]]:
    """The comments on lines that came with a person's feedback."""
    decisions, feedback = state.get("decisions"), state["feedback"]
    if not decisions or feedback is None or feedback["by"] == CRITIC:
        return []
    comments: list[dict[str, Any]] = decisions[-1].get("comments", [])
    return comments


def _unnoticed(state: State) -> list[UnnoticedMutation]:
    """The mutations that the verification does not notice, for the first critique that sends back
    work with such mutations. They never send work back by themselves."""
    if state["feedback"] is None or state["feedback"]["by"] != CRITIC:
        return []
    revised = {record["revision"] for record in state.get("critiques", ())}
    by_revision = {
        record["revision"]: strength["unnoticed"]
        for record in state.get("verifications", ())
        if record["revision"] in revised and (strength := record.get("strength"))
    }
    earlier = any(
        unnoticed for revision, unnoticed in by_revision.items() if revision < state["revision"]
    )
    return [] if earlier else by_revision.get(state["revision"], [])


def _failed_verification(state: State) -> dict[str, Any] | None:
    """{problem, run} of a verification that is not evidence; `run` is its failed run, or None."""
    verification = verification_of(state)
    if verification is None or verification["holds"]:
        return None
    run = run_of(verification, state)
    failed = run is not None and not run["succeeded"]
    return {"problem": verification["problem"], "run": run if failed else None}


def task_request(state: State, ports: Ports, joined: StartFiles | None = None) -> Prompt:
    """The task with its plan: the first prompt of the executor and of each branch. `joined` are the
    files that parallel steps left."""
    if joined is not None:
        job = {**state["job"], "inputs": list(joined.listing), "contents": dict(joined.texts)}
        state = cast("State", {**state, "job": job})
    return task_prompt(
        "executor/task",
        state,
        ports.repository,
        joined=joined is not None,
        plan=state["plan"],
        only_answer=state.get("only_answer", False),
        **criteria_for_prompt(state, ports),
    )


def _without_trace(message: AnyMessage) -> AnyMessage:
    """A message without its trace. The state has the content of the trace in `runs` and
    `artifacts`."""
    if isinstance(message, ToolMessage) and message.artifact:
        return message.model_copy(update={"artifact": None})
    return message
