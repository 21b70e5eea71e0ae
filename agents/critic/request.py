"""The critic's request: the task, the work, and the evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from agents.checks.check_reports import shown
from agents.evidence.verdict import verification_of
from agents.graph.state import Run, State
from agents.ports import Ports, Workspace
from agents.ports.repository import Patch
from agents.prompts import prompt, render
from agents.runs.report import ending_of
from agents.texts import head_and_tail
from sandbox.protocol import Limits

RUNS_SHOWN = 5
FILES_SHOWN = 8
CODE_SHOWN = 3_000
PATCH_SHOWN = 24_000
WHAT = {"shell": "command line", "verify": "verification"}
"""The label of a run's text, by its tool; `code` for all others."""
OUTPUT_SHOWN = 2_000
"""Characters of a program or a file, and of each output of a run, that the critic sees."""


async def critic_messages(state: State, ports: Ports) -> Sequence[BaseMessage]:
    """The instructions, and the evidence."""
    patch = await ports.workspace.patch()
    made = list(state["artifacts"]) if patch is None else []
    contents = await _contents(ports.workspace, made)
    request = prompt(
        "critic/evidence", **evidence(state, contents, ports.limits), patch=_shown_patch(patch)
    )
    instructions = render("critic/system", repository=patch is not None)
    return [SystemMessage(instructions), request.message()]


async def _contents(workspace: Workspace, names: Sequence[str]) -> dict[str, str]:
    """The text files that the job has made, cut to size: runs often only import them."""
    contents: dict[str, str] = {}
    for name in names:
        if len(contents) == FILES_SHOWN:
            break
        content = await workspace.read(name) or b""
        with contextlib.suppress(UnicodeDecodeError):
            contents[name] = head_and_tail(content.decode(), CODE_SHOWN)
    return contents


def _shown_patch(patch: Patch | None) -> str | None:
    """The change to the job's repository, cut to size."""
    if patch is None:
        return None
    return head_and_tail(patch.content.decode(errors="replace"), PATCH_SHOWN)


def evidence(state: State, contents: Mapping[str, str], limits: Limits) -> dict[str, Any]:
    """The values of the critic's prompt, with the latest runs, each cut to size. Pure."""
    runs, answers = state.get("runs", []), state.get("answers", [])
    return {
        "task": state["job"]["task"],
        "plan": state["plan"],
        "revision": state["revision"],
        "answer": answers[-1]["text"] if answers else "",
        "files": sorted({*state["job"]["files"], *state["artifacts"]}),
        "contents": contents,
        "left_out": max(0, len(runs) - RUNS_SHOWN),
        "runs": [_shown(run, limits) for run in runs[-RUNS_SHOWN:]],
        "critiques": state.get("critiques", []),
        "checked": shown(state),
        "verified": verification_of(state),
    }


def _shown(run: Run, limits: Limits) -> dict[str, Any]:
    return {
        "id": run["id"],
        "revision": run["revision"],
        "by": run["by"],
        "ending": ending_of(run, limits),
        "problem": _problem(run),
        "what": WHAT.get(run.get("tool", "python"), "code"),
        "code": head_and_tail(run["code"]["text"], CODE_SHOWN),
        "stdout": head_and_tail(run["stdout"]["text"], OUTPUT_SHOWN),
        "stderr": head_and_tail(run["stderr"]["text"], OUTPUT_SHOWN),
        "files": [artifact["name"] for artifact in run["artifacts"]],
    }


def _problem(run: Run) -> str:
    """Why a run failed although its exit code is 0; empty for all others."""
    if run["succeeded"] or run["exit_code"] != 0:
        return ""
    return str((run.get("failure") or {}).get("cause", ""))
