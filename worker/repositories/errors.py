"""Errors of repositories, setups and deliveries. The person who sent the job reads the texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from jobs.model.record import Push


class RepositoryRefused(Exception):
    """The repository, its ref or its address will not do. The text says what to change."""


class RepositoryUnavailable(RepositoryRefused):
    """The host, the network or this machine's disk fails: the same may work later."""


class RepositoryDiskFails(RepositoryUnavailable):
    """This machine's disk is full, or fails."""


class RepositoryTooSlow(RepositoryRefused):
    """The host takes longer than a job may wait for it."""


class SetupFailed(Exception):
    """The repository's dependencies cannot be installed. The text has the reason."""

    def __init__(self, reason: str, output: str = "", seconds: float = 0.0) -> None:
        """`output` is the end of the command's output, `seconds` its duration."""
        super().__init__(reason)
        self.output, self.seconds = output, seconds


class SetupUnavailable(SetupFailed):
    """An index did not answer: the same may work later."""


class DeliveryRefused(Exception):
    """The host, or its operator, does not take it. The text says what to change. `done` is what
    had been delivered before."""

    def __init__(self, why: str, done: Push | None = None) -> None:
        super().__init__(why)
        self.done = done


class DeliveryUnavailable(DeliveryRefused):
    """The host fails: the same may work later, and not before the seconds that it asked for."""

    def __init__(self, why: str, asked_seconds: float = 0.0) -> None:
        super().__init__(why)
        self.asked_seconds = asked_seconds


class RepositoriesUnfit(Exception):
    """The operator's settings of repositories cannot be used. The text says where."""


SAID_CHARACTERS = 300
_CREDENTIAL = "(FETTLE_REPO_CREDENTIALS)"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_GONE = _words(
    r"not found|error: 404\b|not be found|find repository|not appear to be a git repository"
)
_FINAL: Final[Mapping[re.Pattern[str], str]] = {
    _words(r"Host key for \S+ has changed"): (
        "has another host key than the operator's file of known hosts: if the host's owners "
        "publish the new one, the operator replaces the line (FETTLE_REPO_KNOWN_HOSTS)"
    ),
    _words(r"Host key verification failed"): (
        "has a host key that the operator's file of known hosts lacks: the operator adds what the "
        "host's owners publish (FETTLE_REPO_KNOWN_HOSTS)"
    ),
    _words(r"Permission denied \([a-z,-]+\)"): (
        f"takes no key of the operator's, or there is none for it {_CREDENTIAL}"
    ),
    _words(r"could not read Username|Authentication failed|error: 401\b"): (
        f"wants a credential, or the operator's for this tenant is wrong {_CREDENTIAL}"
    ),
    _words(r"error: 403\b"): (
        f"answered 403: the operator's credential may not read it {_CREDENTIAL}"
    ),
    _GONE: f"has no repository for the operator's credential {_CREDENTIAL}",
    _words(r"unadvertised object"): (
        "gives no commit that no branch and no tag is at: it may have been replaced by a forced "
        "push, or the host lacks git's protocol 2 (AcceptEnv GIT_PROTOCOL in its sshd_config)"
    ),
    _words(r"not our ref|remote ref"): (
        "no longer has the commit: it may have been replaced by a forced push"
    ),
    _words(r"dumb http transport"): "serves files alone; git's smart protocol is needed",
    _words(r"mismatched algorithms"): "names its objects by SHA-256; only SHA-1 is known",
    _words(r"fsck error"): "sent an object that is not safe to check out",
}
"""What a word of git's means. The first that fits counts."""
_FINAL_PUSH: Final[Mapping[re.Pattern[str], str]] = {
    **_FINAL,
    _words(r"error: 403\b"): (
        f"answered 403: the operator's credential may not write to it {_CREDENTIAL}"
    ),
    _GONE: (
        f"has no repository for the operator's credential, or none it may write to {_CREDENTIAL}"
    ),
}
_SAID = "remote:"
_DECLINED = (" ! [rejected] ", " ! [remote rejected] ", " ! [remote failure] ")
"""Begin a line of what a host said by itself, and of git on a branch: its name, and `(reason)`."""
_HOST_FAILS = re.compile(
    r"internal (server )?error|commit_refs|failed to (update ref|report status|store)"
    r"|failed to lock|unable to create|unpacker error|no space left|time(d )?out|try again",
    re.IGNORECASE,
)
"""Reasons for a declined branch that are the host's own trouble, in the words of git, GitHub and
Gerrit."""
_HOOK_FAILS = re.compile(r"GitLab: (Internal API |API is not accessible|Failed to contact)")
"""GitLab's own trouble: it declines the branch by a hook then, as for any other reason."""
_NAME_TAKEN = re.compile(r"' exists; cannot create")
"""A branch `a` at the host: `a/b` cannot be made. Git's reason is `failed to update ref` then."""
_TAG_GONE = re.compile(r"remote ref refs/tags/")
_PASSING = re.compile(
    r"error: (5\d\d|429)\b|resolve|connect|timed out|timeout|too slow|early EOF|hung up|curl"
    r"|still expected",
    re.IGNORECASE,
)


def fetch_failed(url: str, said: str) -> RepositoryRefused:
    """Why a fetch failed, from what git said: what may pass is RepositoryUnavailable."""
    if _TAG_GONE.search(said):
        return RepositoryUnavailable(f"{url} has deleted a tag since it listed it: {said}")
    return _failed(url, said, _FINAL, "cannot be fetched")


def push_failed(url: str, said: str, errors: str) -> RepositoryRefused:
    """Why a push failed, from what git said; `errors` is all of it. Where the host has declined the
    branch, its own words count."""
    lines = errors.split("\n")
    declined = next((line for line in lines if line.startswith(_DECLINED)), None)
    if declined is not None:
        own = (line.removeprefix(_SAID) for line in lines if line.startswith(_SAID))
        reason = declined.partition(" (")[2].rstrip().removesuffix(")")
        words = (reason, " ".join(" ".join(own).split()))
        why = ": ".join(each for each in words if each)
        text = f"{url} declined the branch: {printable(why or said)}"
        passing = _HOST_FAILS.search(reason) or _HOOK_FAILS.search(why)
        if passing and not _NAME_TAKEN.search(why):
            return RepositoryUnavailable(text)
        return RepositoryRefused(text)
    return _failed(url, said, _FINAL_PUSH, "cannot be pushed to")


def printable(text: str) -> str:
    """The beginning of what another machine says, on one line."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:SAID_CHARACTERS])


def _failed(
    url: str, said: str, final: Mapping[re.Pattern[str], str], otherwise: str
) -> RepositoryRefused:
    for pattern, meaning in final.items():
        if pattern.search(said):
            return RepositoryRefused(f"{url} {meaning}: {said}")
    if _PASSING.search(said):
        return RepositoryUnavailable(f"{url} could not be reached: {said}")
    return RepositoryRefused(f"{url} {otherwise}: {said}")
