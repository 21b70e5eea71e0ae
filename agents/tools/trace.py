"""Trace: what a tool call leaves besides its text. It is the artifact of the ToolMessage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.history import Trace
from agents.paths import is_scratch
from agents.ports import Artifact
from agents.runs.record import RecordedRun
from agents.state import ArtifactFields

DIFF_KEPT = 16_000


def of_run(ran: RecordedRun) -> Trace:
    """The trace of a run."""
    return Trace(kind="run_finished", data=ran.run, files=ran.run["artifacts"])


def of_use(
    tool: str,
    path: str | None,
    *,
    ok: bool,
    note: str = "",
    made: Sequence[Artifact] = (),
    diff: str = "",
) -> Trace:
    """The trace of a call that ran nothing. `diff` is the change of a file that existed before. A
    diff of more than DIFF_KEPT characters is left out: the new version has the content."""
    files: list[ArtifactFields] = [
        artifact.fields() for artifact in made if not is_scratch(artifact.name)
    ]
    data: dict[str, Any] = {"tool": tool, "path": path, "ok": ok, "note": note, "artifacts": files}
    if 0 < len(diff) <= DIFF_KEPT:
        data["diff"] = diff
    return Trace(kind="tool_used", data=data, files=files)
