"""The exit codes of commands. `--help` and the documentation have the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DONE = 0
FAILED = 1
BAD_USAGE = 2
NOT_REACHABLE = 3
UNAPPROVED = 4
STOPPED_BY_A_PERSON = 5
AT_A_LIMIT = 6
DETACHED = 130

MEANINGS: Mapping[int, str] = {
    DONE: "done; a job that was waited for was approved",
    FAILED: "the command failed, or the job failed for a reason not listed here",
    BAD_USAGE: "bad usage, or a request that the service refuses as wrong",
    NOT_REACHABLE: "no service answers",
    UNAPPROVED: "nobody approved the job: it failed as unapproved, or was accepted unapproved",
    STOPPED_BY_A_PERSON: "a person rejected or cancelled the job",
    AT_A_LIMIT: "the job came to its limit of time or of cost",
    DETACHED: "stopped by Ctrl-C; a job that was followed goes on",
}
_OF_REASONS: Mapping[str, int] = {
    "unapproved": UNAPPROVED,
    "rejected": STOPPED_BY_A_PERSON,
    "deadline": AT_A_LIMIT,
    "budget_exhausted": AT_A_LIMIT,
}
# click keeps the lines of a paragraph that begins so
HELP = "\n".join(
    ["\b", "Exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items())]
)


def exit_code_of(job: Mapping[str, Any]) -> int:
    """The exit code for a job that has ended."""
    match job["status"]:
        case "succeeded":
            return UNAPPROVED if job.get("unapproved") else DONE
        case "cancelled":
            return STOPPED_BY_A_PERSON
        case _:
            return _OF_REASONS.get(job["reason"] or "", FAILED)
