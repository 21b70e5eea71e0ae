"""Branches: the steps of a wave run in parallel, each in its own workspace, and the merge combines
their files in the job's workspace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.critic.outside import outside_answers
from agents.critic.runs import quoted_words
from agents.executor.agent_loop import Agent, LoopRequest, run_loop
from agents.nodes.executor import task_request
from agents.parallel.branches import Branch, branch_ports, emit_started
from agents.parallel.merging import (
    MergedFiles,
    combine_modes,
    find_texts,
    join_context,
    merge_branches,
)
from agents.paths import exceeded_limit, own_files
from agents.ports import Artifact, Event, Finished, Version, Workspace
from agents.prompts import Prompt, prompt
from agents.runs.kept_files import remove_scratch
from agents.runs.record import still_there
from agents.runs.start_files import files_at
from agents.state import Run, State


class BranchNode(Protocol):
    """A node that is sent its input, a `Branch`. With the type in the signature LangGraph would add
    each of its fields to the state.
    """

    def __call__(self, state: Any, *, runtime: Runtime[Ports]) -> Awaitable[dict[str, Any]]: ...


def build_branch(agent: Agent) -> BranchNode:
    """The node around the agent loop. It writes only lists that grow: `merge` combines the
    results of the branches of a wave.
    """

    async def branch(state: Any, *, runtime: Runtime[Ports]) -> dict[str, Any]:
        branch_input = cast("Branch", state)
        step = branch_input["step"]
        ports = await branch_ports(runtime.context, step, branch_input["base"])
        at = call_key(runtime.execution_info)
        async with ports.coordinator.branch(step):
            request = LoopRequest(
                prompt=await _request(branch_input, ports),
                pass_key=at,
                revision=branch_input["revision"],
                runs_before=branch_input["runs_before"],
                run_number_step=len(branch_input["wave"]),
                first_level=branch_input["state"].get("level", 0),
            )
            loop_result = await run_loop(agent, request, ports)
            await remove_scratch(ports, at, branch_input["state"]["job"].get("start"))
            step_data = {
                "revision": branch_input["revision"],
                "text": loop_result.answer,
                "runs": [run["id"] for run in loop_result.runs],
            }
            await ports.events.emit(Event(at, "step_finished", step_data))
        outcome = {
            "step": step,
            "text": loop_result.answer,
            "failed": _failed(loop_result.runs),
            "workspace": ports.workspace.digest,
            "level": loop_result.last_level,
            "outside": outside_answers(
                loop_result.messages, ports, quoted_words(loop_result.answer)
            ),
        }
        return {
            "branches": [outcome],
            "runs": [{**run, "step": step} for run in loop_result.runs],
        }

    return branch


async def _request(branch_input: Branch, ports: Ports) -> Prompt:
    state, step = branch_input["state"], branch_input["step"]
    follows_a_wave = bool(state.get("branches"))
    joined = await files_at(ports, branch_input["base"]) if follows_a_wave else None
    step_prompt = prompt(
        "executor/step",
        step=step,
        others=[number for number in branch_input["wave"] if number != step],
        done=join_context(state)["branches"],
    )
    return task_request(state, ports, joined).then(step_prompt)


def _failed(runs: list[Run]) -> str | None:
    """How the last run failed, in a few words; None if it succeeded."""
    if not runs or runs[-1]["succeeded"]:
        return None
    return str((runs[-1].get("failure") or {}).get("cause", runs[-1]["end"]))


@dataclass(slots=True)
class Gathered:
    """The merged files of the branches that fit into one workspace. Only paths that a branch or
    the state before the wave has changed are compared, not all files of a repository."""

    before: Mapping[str, Version]
    """The versions of these paths before the wave."""
    merged: MergedFiles
    steps: list[int] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)


async def merge(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """One merge, journaled like a tool call: a crash does not repeat it.

    After a conflict no further wave begins: the executor is next. It resolves the conflict and does
    the rest of the plan.
    """
    ports, base = runtime.context, state.get("workspace")
    at = call_key(runtime.execution_info)
    wave = state["waves"][state.get("merged", 0)]
    results = [result for result in state["branches"] if result["step"] in wave]
    workspaces = {result["step"]: result["workspace"] for result in results}

    async def make() -> tuple[ToolMessage, Finished]:
        await ports.workspace.checkout(base)
        gathered = await _gather(ports, base, workspaces)
        data = await _write_merged(ports.workspace, gathered)
        message = ToolMessage("", tool_call_id="merge", artifact=data)
        event = Event(at, "merged", data)
        return message, finished_call(message, events=(event,), workspace=ports.workspace.digest)

    message = await journaled(
        ports, at.key(digest("merge", base, sorted(workspaces.items()))), make
    )
    data: Mapping[str, Any] = message.artifact
    count = state.get("merged", 0) + 1
    clean = not data["conflicts"] and not data["left_out"]
    waves = state["waves"] if clean else state["waves"][:count]
    following = waves[count] if count < len(waves) else ()
    await emit_started(ports, runtime.execution_info, following, state["revision"] + 1)
    return {
        "waves": waves,
        "merged": count,
        "workspace": ports.workspace.digest,
        "level": max([state.get("level", 0), *(result["level"] for result in results)]),
        "artifacts": still_there(state["artifacts"], data["artifacts"], own_files(ports.workspace)),
        "conflicts": [*state.get("conflicts", []), *data["conflicts"]],
        "left_out": [*state.get("left_out", []), *data["left_out"]],
    }


async def _gather(ports: Ports, base: str | None, workspaces: Mapping[int, str | None]) -> Gathered:
    """The branches that fit into one workspace, in the order of their steps."""
    start = await _checked_out(ports.workspace, base)
    branches = {
        step: await _checked_out(ports.workspace, digest)
        for step, digest in sorted(workspaces.items())
    }
    paths = sorted({*start.changed()}.union(*(branch.changed() for branch in branches.values())))
    before, sizes = await _versions(start, paths)
    gathered = Gathered(before, merge_branches(before, {}))
    fitting: dict[int, Mapping[str, Version]] = {}
    for step, branch in branches.items():
        files, more_sizes = await _versions(branch, paths)
        sizes |= more_sizes
        candidates = {**fitting, step: files}
        texts, text_sizes = await _merge_texts(ports, before, candidates)
        candidate = merge_branches(before, candidates, texts, start.list())
        sizes |= text_sizes
        after = {path: sizes[content] for path, content in candidate.files.items()}
        if reason := exceeded_limit({}, after, ports.limits):
            gathered.left_out.append({"step": step, "why": reason})
            continue
        fitting[step] = files
        gathered.merged = candidate
        gathered.steps.append(step)
    return gathered


async def _checked_out(workspace: Workspace, digest: str | None) -> Workspace:
    copy = workspace.fork()
    await copy.checkout(digest)
    return copy


async def _versions(
    workspace: Workspace, paths: Sequence[str]
) -> tuple[dict[str, Version], dict[Version, int]]:
    """The files and links of a workspace at these paths, and the size of each version in bytes."""
    versions = {path: await workspace.version(path) for path in paths}
    present = {path: version for path, version in versions.items() if version is not None}
    sizes = workspace.list()
    return present, {
        version: sizes.get(path, len(version.target or "")) for path, version in present.items()
    }


async def _merge_texts(
    ports: Ports, before: Mapping[str, Version], branches: Mapping[int, Mapping[str, Version]]
) -> tuple[dict[str, Version], dict[Version, int]]:
    """The texts that several branches changed in different lines, combined, by path; and their
    sizes in bytes."""
    workspace, combined, sizes = ports.workspace, dict[str, Version](), dict[Version, int]()
    if ports.merge_texts is None:
        return combined, sizes
    for path, versions in find_texts(before, branches).items():
        old, first, *further = [await workspace.stored(version.digest) for version in versions]
        merged: bytes | None = first
        for text in further:
            merged = None if merged is None else await ports.merge_texts(old, merged, text)
        if merged is not None:
            version = Version(await workspace.keep(merged), combine_modes(versions))
            combined[path], sizes[version] = version, len(merged)
    return combined, sizes


async def _write_merged(workspace: Workspace, gathered: Gathered) -> dict[str, Any]:
    """Write the merged files to the workspace; returns the data of the event `merged`."""
    files_before, files_after = gathered.before, gathered.merged.files
    changed = [path for path, content in files_after.items() if files_before.get(path) != content]
    deleted = frozenset(files_before.keys() - files_after.keys())
    artifacts: Sequence[Artifact] = ()
    if changed or deleted:
        targets = {path: files_after[path].target for path in changed}
        links = {path: target for path, target in targets.items() if target is not None}
        files = [path for path in changed if files_after[path].digest]  # no submodules
        contents = {path: await workspace.stored(files_after[path].digest) for path in files}
        modes = {path: files_after[path].executable for path in files}
        artifacts = await workspace.apply(contents, deleted, executable=modes, links=links)
    return {
        "steps": gathered.steps,
        "files": sorted({*changed, *deleted}),
        "conflicts": [conflict.fields() for conflict in gathered.merged.conflicts],
        "combined": gathered.merged.combined,
        "left_out": gathered.left_out,
        "artifacts": [artifact.fields() for artifact in artifacts],
    }
