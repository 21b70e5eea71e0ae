"""A person's edit of the work, without a model: files that they write, and a program that they run.

The API has checked the files as far as it can. Only the workspace knows the files of a repository's
commit, so it may still refuse an edit. Then no file is changed, no program runs, and the review
opens again with the reason.

See ADR 93.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.errors import ToolRefused
from agents.failures.workspace_change import change
from agents.history import runs_in, traces
from agents.links import follow
from agents.paths import own_files
from agents.ports import CallKey, Event, Finished
from agents.runs.program import Program
from agents.runs.record import last_number, run_and_keep, still_there
from agents.state import State
from agents.tools.trace import of_run, of_use


async def edit(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Write the files of the latest decision, then run its program, as part of the revision that
    the person reviewed."""
    ports, at = runtime.context, call_key(runtime.execution_info)
    decision = state["decisions"][-1]
    written: Mapping[str, Any] = {"artifacts": [], "changes": [], "refused": None}
    if decision.get("files"):
        written = await _write_files(decision, ports, at)
    runs_program = decision["code"] and written["refused"] is None
    messages = [await _run_program(state, ports, at)] if runs_program else []
    run_traces = traces(messages)
    changed = [*written["artifacts"], *(file for trace in run_traces for file in trace["files"])]
    artifacts = still_there(state["artifacts"], changed, own_files(ports.workspace))
    files = {"workspace": ports.workspace.digest, "artifacts": artifacts}
    edited = {"by": decision["by"], "changes": written["changes"], "refused": written["refused"]}
    return {
        "tests": await _edited_tests(state, ports),
        "runs": runs_in(run_traces),
        "edits": [{"revision": state["revision"], **files, **edited}],
        **files,
    }


async def _edited_tests(state: State, ports: Ports) -> dict[str, str]:
    """The tester's tests after the edit. On a repository they are in the workspace, and a person
    may change and remove them."""
    tests = dict(state.get("tests", {}))
    if ports.repository is None:
        return tests
    contents = {path: await ports.workspace.read(path) for path in tests}
    return {
        path: content.decode(errors="replace")
        for path, content in contents.items()
        if content is not None
    }


async def _run_program(state: State, ports: Ports, at: CallKey) -> ToolMessage:
    decision, number = state["decisions"][-1], last_number(state.get("runs", [])) + 1

    async def run() -> tuple[ToolMessage, Finished]:
        program = Program.python(decision["code"])
        recorded_run, _ = await run_and_keep(
            ports, program, number, state["revision"], decision["by"]
        )
        message = ToolMessage(
            "", tool_call_id=recorded_run.run["id"], artifact=of_run(recorded_run)
        )
        event = Event(at, "run_finished", recorded_run.run)
        return message, finished_call(message, events=(event,), workspace=ports.workspace.digest)

    return await journaled(ports, at.key(digest("edit", decision["code"])), run)


async def _write_files(decision: Mapping[str, Any], ports: Ports, at: CallKey) -> dict[str, Any]:
    """Write and remove the files of an edit, with an event for each. Returns {artifacts, changes,
    refused}: see `State.edits`."""
    files: Mapping[str, str | None] = decision["files"]
    workspace = ports.workspace

    async def write() -> tuple[ToolMessage, Finished]:
        after = {path: await workspace.stored(key) if key else None for path, key in files.items()}
        before = {path: await workspace.read(path) for path in files}
        refused = _edit_objection(ports, after)
        written = {path: content for path, content in after.items() if content is not None}
        removed = frozenset(after.keys() - written.keys())
        artifacts = () if refused else await workspace.apply(written, removed)
        uses = [
            of_use(
                _tool(before[path], after[path]),
                path,
                ok=refused is None,
                note=refused or "",
                artifacts=[artifact for artifact in artifacts if artifact.name == path],
                diff="" if refused else change({path: before[path]}, {path: after[path]}).diff,
            )
            for path in sorted(files)
        ]
        events = [
            Event(replace(at, ordinal=number), use["kind"], {**use["data"], "by": decision["by"]})
            for number, use in enumerate(uses)
        ]
        changes = [{"path": use["data"]["path"], "diff": use["data"].get("diff")} for use in uses]
        outcome = {
            "artifacts": [file for use in uses for file in use["files"]],
            "changes": [] if refused else changes,
            "refused": refused,
        }
        message = ToolMessage("", tool_call_id="edit", artifact=outcome)
        return message, finished_call(message, events=events, workspace=workspace.digest)

    message = await journaled(ports, at.key(digest("files", files)), write)
    outcome: dict[str, Any] = message.artifact
    return outcome


def _tool(before: bytes | None, after: bytes | None) -> str:
    if after is None:
        return "remove_file"
    return "write_file" if before is None else "edit_file"


def _edit_objection(ports: Ports, files: Mapping[str, bytes | None]) -> str | None:
    """The reason why the workspace cannot take the files (None: removed), or None."""
    workspace = ports.workspace
    sizes = {path: len(content) for path, content in files.items() if content is not None}
    links = workspace.links()
    present = {*workspace.list(), *links}
    for path, content in files.items():
        if content is None and path not in present:
            return f"there is no file {path!r} to remove"
        try:
            is_direct = content is None or follow(path, links) == path
        except ToolRefused as refused:
            return str(refused)
        if not is_direct:
            return f"{path!r} leads through a symbolic link: edit the file by its own path"
    return ports.write_objection(sizes)
