"""The errors that end a command, with their exit codes.

CliError            1  the command failed; `next_step` names the remedy
  +-- BadSettings   2  a setting has an invalid value

`from_client` makes a CliError of an error of the client. `cli.exit_codes` explains the codes. A
command that a signal stops exits with 128 + the signal.
"""

from __future__ import annotations

import errno

from cli.exit_codes import BAD_USAGE, FAILED, NOT_REACHABLE
from fettle import errors

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_WRONG_REQUEST = frozenset({400, 413, 415, 422})
_PASSING = frozenset({429, 502, 503, 504})
"""The service cannot serve now."""
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


def from_client(error: errors.FettleError) -> CliError:
    """The error of the client, with its exit code and the next step at a terminal."""
    match error:
        case errors.ApiError(status=status) if status in _PASSING:
            refused = CliError(error.title, error.detail, "try again in a moment")
            refused.exit_code = NOT_REACHABLE
        case errors.ApiError(type=kind) if kind == _WRONG_STATE and error.detail:
            refused = CliError(error.detail, next_step=_advice(error))  # the title says less
        case errors.ApiError(status=status):
            refused = CliError(error.title, error.detail, _advice(error))
            refused.exit_code = BAD_USAGE if status in _WRONG_REQUEST else FAILED
        case errors.ServiceUnreachable():
            refused = CliError(error.title, error.detail, START_IT)
            refused.exit_code = NOT_REACHABLE
        case errors.BadSettings():
            return BadSettings(error.title, error.detail, error.remedy)
        case _:
            refused = CliError(error.title, error.detail, error.remedy)
            refused.exit_code = BAD_USAGE if isinstance(error, errors.BadArgument) else FAILED
    return refused


def _advice(problem: errors.ApiError) -> str:
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
