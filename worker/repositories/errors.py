"""Why a repository cannot be worked on. The texts go to the person who sent the job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final


class RepositoryRefused(Exception):
    """The repository, its ref or its address will not do. The text says what to change."""


class RepositoryUnavailable(RepositoryRefused):
    """The host, the network or this machine's disk fails: the same may work later."""


class RepositoriesUnfit(Exception):
    """The operator's settings of repositories cannot be used. The text says where."""


_CREDENTIAL = "(FETTLE_REPO_CREDENTIALS)"
_FINAL: Final[Mapping[str, str]] = {
    r"could not read Username|Authentication failed|error: 401": (
        f"wants a credential, or the one that the operator set is wrong {_CREDENTIAL}"
    ),
    r"error: 403": f"answered 403: the operator's credential may not read it {_CREDENTIAL}",
    r"not found|error: 404": f"has no repository for the operator's credential {_CREDENTIAL}",
    r"not our ref|unadvertised object|remote ref": (
        "no longer has the commit: it may have been replaced by a forced push"
    ),
    r"dumb http transport": "serves files alone; git's smart protocol is needed",
    r"mismatched algorithms": "names its objects by SHA-256; only SHA-1 is known",
    r"fsck error": "sent an object that is not safe to check out",
}
"""What a word of git's means. The first that fits counts."""
_PASSING = re.compile(
    r"error: (5\d\d|429)|resolve|connect|timed out|timeout|too slow|early EOF|hung up|curl",
    re.IGNORECASE,
)


def fetch_failed(url: str, said: str) -> RepositoryRefused:
    """Why a fetch failed, from what git said: what may pass is RepositoryUnavailable."""
    for pattern, meaning in _FINAL.items():
        if re.search(pattern, said, re.IGNORECASE):
            return RepositoryRefused(f"{url} {meaning}: {said}")
    if _PASSING.search(said):
        return RepositoryUnavailable(f"{url} could not be reached: {said}")
    return RepositoryRefused(f"{url} cannot be fetched: {said}")
