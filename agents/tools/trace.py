"""Traces: the records of tool calls. A trace is the artifact of a ToolMessage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.history import Trace
from agents.paths import is_scratch
from agents.ports import Artifact
from agents.runs.record import RecordedRun
from agents.state import ArtifactFields

MOST_DIFF_CHARACTERS = 16_000
"""A longer diff is left out: the new version of the file has the content."""


def of_run(recorded: RecordedRun) -> Trace:
    """The trace of a run."""
    run = recorded.run
    return Trace(kind="run_finished", data=run, files=run["artifacts"])


def of_use(
    tool: str,
    path: str | None,
    *,
    ok: bool,
    note: str = "",
    artifacts: Sequence[Artifact] = (),
    diff: str = "",
) -> Trace:
    """The trace of a call that ran nothing. `artifacts` are the files that the call wrote, `diff`
    is the change of a file that existed before."""
    files: list[ArtifactFields] = [
        artifact.fields() for artifact in artifacts if not is_scratch(artifact.name)
    ]
    data: dict[str, Any] = {"tool": tool, "path": path, "ok": ok, "note": note, "artifacts": files}
    if 0 < len(diff) <= MOST_DIFF_CHARACTERS:
        data["diff"] = diff
    return Trace(kind="tool_used", data=data, files=files)
