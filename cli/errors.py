"""The errors that end a command, with their exit codes.

CliError            1  the command failed; `next_step` names the remedy
  +-- RequestRefused 1 the service refused (2 if the request itself was wrong)
  +-- Unreachable   3  no service answers
  |     +-- NotFettle  the server is not Fettle, or is another release of Fettle
  +-- BadSettings   2  a setting has an invalid value

`cli.exit_codes` explains the codes. A command that a signal stops exits with 128 + the signal.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Any

from cli.exit_codes import BAD_USAGE, FAILED, NOT_REACHABLE

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_WRONG_REQUEST = frozenset({400, 413, 415, 422})
_WRONG_STATE = "/problems/wrong-state"
_RULES_OF_REVIEWS = ("/problems/own-approval", "/problems/review-rule")
_OVERRIDE_NEEDED = "/problems/override-needed"
_LISTED = {
    "keys": "`fettle keys list` shows the keys",
    "fleet": "`fettle fleet settings` shows the present rules",
    "workers": "`fettle doctor` names the workers",
    "tenants": "`fettle tenants list` shows the tenants",
    "audit": "`fettle tenants list` shows the tenants",
    "webhook-deliveries": "`fettle webhooks list` shows the messages that have not arrived",
}

START_IT = "start it with `fettle up` (or `make up`), or name its address: --url, FETTLE_URL"


class CliError(Exception):
    """The root: a title, details, and the next step."""

    exit_code = FAILED

    def __init__(self, title: str, detail: str = "", next_step: str = "") -> None:
        super().__init__(": ".join(part for part in (title, detail) if part))
        self.title = title
        self.detail = detail
        self.next_step = next_step


class BadSettings(CliError):
    """A setting has a value that cannot be used."""

    exit_code = BAD_USAGE


class Unreachable(CliError):
    """No server answers at the service's address, or it cannot serve now."""

    exit_code = NOT_REACHABLE


class NotFettle(Unreachable):
    """The answer differs from every answer of this release of Fettle."""

    def __init__(self, url: str, detail: str) -> None:
        title = f"the server at {url} is not Fettle, or is another release of Fettle"
        super().__init__(title, detail, START_IT)


@dataclass(frozen=True, slots=True)
class ServiceProblem:
    """An RFC 9457 problem from the API."""

    status: int
    title: str
    detail: str = ""
    retryable: bool = False
    fields: tuple[str, ...] = ()
    """Each wrong field, with the reason."""
    path: str = ""
    """The path of the request, such as /jobs/j1."""
    type: str = ""
    limit: Any = None


class RequestRefused(CliError):
    """The service answered with a problem."""

    def __init__(self, problem: ServiceProblem) -> None:
        detail = "; ".join(problem.fields) or problem.detail  # the detail only sums the fields up
        if problem.type == _WRONG_STATE and detail:  # the title says less
            super().__init__(detail, next_step=_advice(problem))
        else:
            super().__init__(problem.title, detail, _advice(problem))
        self.problem = problem
        if problem.status in _WRONG_REQUEST:
            self.exit_code = BAD_USAGE


def _advice(problem: ServiceProblem) -> str:
    match problem.status:
        case 401:
            return "set FETTLE_API_KEY to a key of this service (`fettle keys create` makes one)"
        case 403 if problem.type in _RULES_OF_REVIEWS:
            return "docs/review.md, Policies, has the rules and the remedy"
        case 403:
            return "use a key with the scope that this needs (`fettle keys list` shows the scopes)"
        case 404 | 409 if (about := problem.path.strip("/").partition("/")[0]) in _LISTED:
            return _LISTED[about]
        case 404 if problem.path == "/jobs":  # the request names a conversation, or another's file
            return "`fettle show ID --json` names the conversation of a job"
        case 404:
            return "`fettle list` shows the jobs that this key can see"
        case 409 if problem.type == _OVERRIDE_NEEDED:
            return "`fettle show ID` shows the evidence; --override -m TEXT approves nevertheless"
        case 409:
            return "`fettle show ID` shows the state of the job"
        case _:
            return "try again in a moment" if problem.retryable else ""


def of_system(error: OSError) -> CliError:
    """The error of the operating system as a sentence: the path, and the cause."""
    path = f": {error.filename}" if error.filename else ""
    if error.errno in DISK_FULL:
        return CliError(f"the disk is full{path}", next_step="free some space, and try again")
    return CliError(f"{error.strerror or error}{path}")
