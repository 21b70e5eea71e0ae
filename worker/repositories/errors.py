"""Errors of repositories, setups and deliveries. The person who sent the job reads the texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from jobs.model.record import Push, Result


class RepositoryRefused(Exception):
    """The repository, its ref or its address cannot be used. The text has the remedy."""


class RepositoryUnavailable(RepositoryRefused):
    """The host, the network or this machine fails: a later try may succeed."""


class RepositoryDiskFails(RepositoryUnavailable):
    """This machine's disk is full, or fails."""


class RepositoryTooSlow(RepositoryRefused):
    """The host needs more time than a job may wait."""


class SetupFailed(Exception):
    """The repository's dependencies cannot be installed. The text has the reason."""

    def __init__(self, reason: str, output: str = "", seconds: float = 0.0) -> None:
        """`output` is the end of the command's output, `seconds` its duration."""
        super().__init__(reason)
        self.output, self.seconds = output, seconds


class SetupUnavailable(SetupFailed):
    """An index did not answer: a later try may succeed."""


class DeliveryRefused(Exception):
    """The host or the operator does not allow the delivery. The text has the remedy."""

    def __init__(self, reason: str, done: Push | None = None) -> None:
        """`done` is the part of the delivery that was completed before."""
        super().__init__(reason)
        self.done = done


class DeliveryUnavailable(DeliveryRefused):
    """The host fails: a later try may succeed."""

    def __init__(self, reason: str, requested_seconds: float = 0.0) -> None:
        """`requested_seconds` is the pause that the host requested."""
        super().__init__(reason)
        self.requested_seconds = requested_seconds
        self.result: Result | None = None
        """The job's result so far; `worker.job_ending` adds it."""


class RepositoriesUnfit(Exception):
    """The operator's settings of repositories cannot be used. The text names the setting."""


QUOTE_CHARACTERS = 300
_CREDENTIAL = "(FETTLE_REPO_CREDENTIALS)"


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_MISSING = _pattern(
    r"not found|error: 404\b|not be found|find repository|not appear to be a git repository"
)
_FINAL: Final[Mapping[re.Pattern[str], str]] = {
    _pattern(r"Host key for \S+ has changed"): (
        "has another host key than the operator's file of known hosts: if the host's owners "
        "publish the new one, the operator replaces the line (FETTLE_REPO_KNOWN_HOSTS)"
    ),
    _pattern(r"Host key verification failed"): (
        "has a host key that the operator's file of known hosts lacks: the operator adds what the "
        "host's owners publish (FETTLE_REPO_KNOWN_HOSTS)"
    ),
    _pattern(r"Permission denied \([a-z,-]+\)"): (
        f"accepts no key of the operator, or the operator has no key for it {_CREDENTIAL}"
    ),
    _pattern(r"could not read Username|Authentication failed|error: 401\b"): (
        f"wants a credential, or the operator's credential for this tenant is wrong {_CREDENTIAL}"
    ),
    _pattern(r"error: 403\b"): (
        f"answered 403: the operator's credential may not read it {_CREDENTIAL}"
    ),
    _MISSING: f"has no repository for the operator's credential {_CREDENTIAL}",
    _pattern(r"unadvertised object"): (
        "does not send a commit without a branch or a tag: it may have been replaced by a forced "
        "push, or the host lacks git's protocol 2 (AcceptEnv GIT_PROTOCOL in its sshd_config)"
    ),
    _pattern(r"not our ref|remote ref"): (
        "no longer has the commit: it may have been replaced by a forced push"
    ),
    _pattern(r"dumb http transport"): "serves only files, and git's smart protocol is needed",
    _pattern(r"mismatched algorithms"): "names its objects by SHA-256; only SHA-1 is known",
    _pattern(r"fsck error"): "sent an object that is not safe to check out",
}
"""The meanings of git's messages. The first pattern that matches counts."""
_FINAL_PUSH: Final[Mapping[re.Pattern[str], str]] = {
    **_FINAL,
    _pattern(r"error: 403\b"): (
        f"answered 403: the operator's credential may not write to it {_CREDENTIAL}"
    ),
    _MISSING: f"has no repository that the operator's credential may write to {_CREDENTIAL}",
}
_REMOTE_LINE = "remote:"
"""The prefix of a line that the host wrote."""
_DECLINED = (" ! [rejected] ", " ! [remote rejected] ", " ! [remote failure] ")
"""The prefixes of git's lines about a branch: its name and `(reason)` follow."""
_HOST_FAILS = re.compile(
    r"internal (server )?error|commit_refs|failed to (update ref|report status|store)"
    r"|failed to lock|unable to create|unpacker error|no space left|time(d )?out|try again",
    re.IGNORECASE,
)
"""Failures of the host, in the messages of git, GitHub and Gerrit about a declined branch."""
_HOOK_FAILS = re.compile(r"GitLab: (Internal API |API is not accessible|Failed to contact)")
"""Failures of GitLab: its hook declines the branch, as it does for every reason."""
_NAME_TAKEN = re.compile(r"' exists; cannot create")
"""The host has a branch `a`, so `a/b` cannot be created; git's reason is `failed to update ref`."""
_TAG_REMOVED = re.compile(r"remote ref refs/tags/")
_TEMPORARY = re.compile(
    r"error: (5\d\d|429)\b|resolve|connect|timed out|timeout|too slow|early EOF|hung up|curl"
    r"|still expected",
    re.IGNORECASE,
)


def fetch_failed(url: str, message: str) -> RepositoryRefused:
    """The error of a failed fetch, by git's message; RepositoryUnavailable if a later try may
    succeed."""
    if _TAG_REMOVED.search(message):
        return RepositoryUnavailable(f"{url} has deleted a tag since it listed it: {message}")
    return _failed(url, message, _FINAL, "cannot be fetched")


def push_failed(url: str, message: str, errors: str) -> RepositoryRefused:
    """The error of a failed push, by git's message; `errors` is git's full standard error. If the
    host has declined the branch, the text has the host's reason."""
    lines = errors.split("\n")
    declined = next((line for line in lines if line.startswith(_DECLINED)), None)
    if declined is not None:
        remarks = (
            line.removeprefix(_REMOTE_LINE) for line in lines if line.startswith(_REMOTE_LINE)
        )
        reason = declined.partition(" (")[2].rstrip().removesuffix(")")
        details = (reason, " ".join(" ".join(remarks).split()))
        full_reason = ": ".join(detail for detail in details if detail)
        text = f"{url} declined the branch: {printable(full_reason or message)}"
        is_temporary = _HOST_FAILS.search(reason) or _HOOK_FAILS.search(full_reason)
        if is_temporary and not _NAME_TAKEN.search(full_reason):
            return RepositoryUnavailable(text)
        return RepositoryRefused(text)
    return _failed(url, message, _FINAL_PUSH, "cannot be pushed to")


def printable(text: str) -> str:
    """The beginning of another machine's text, in one line of printable characters."""
    characters = text[:QUOTE_CHARACTERS]
    return "".join(letter if letter.isprintable() else "?" for letter in characters)


def _failed(
    url: str, message: str, final: Mapping[re.Pattern[str], str], otherwise: str
) -> RepositoryRefused:
    for pattern, meaning in final.items():
        if pattern.search(message):
            return RepositoryRefused(f"{url} {meaning}: {message}")
    if _TEMPORARY.search(message):
        return RepositoryUnavailable(f"{url} could not be reached: {message}")
    return RepositoryRefused(f"{url} {otherwise}: {message}")
