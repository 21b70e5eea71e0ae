"""The job of both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

RECORDINGS = Path(__file__).parent.parent / "recordings"
MODEL: Final = "recording:overhead"
TASK: Final = "Keep a list of primes in a file."
MAX_REVISIONS: Final = 2
PAUSES: Final = 2
EVIDENCE: Final = "none"
"""The file is a document: the benchmark measures the service, not the run of a program."""
MODEL_CALLS: Final = 9
TOOL_CALLS: Final = 4


def body() -> dict[str, Any]:
    """The body of POST /jobs."""
    fields = {"task": TASK, "model": MODEL, "review": True, "evidence": EVIDENCE}
    return {**fields, "max_revisions": MAX_REVISIONS}
