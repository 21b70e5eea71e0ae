"""Checks the repository of a body. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from api.schemas.job_request import JobRequest, Terms
from api.schemas.problem import FieldError

MAGIC = b"# v"
SIGNATURE = b" git bundle\n"
NOT_WITH_IT = ("conversation_id", "checks", "write_tests", "parallel")
"""Fields that a job on a repository does not take."""


def errors(asked: JobRequest, bundle: bytes | None) -> Iterator[FieldError]:
    """The errors in the repository, by field; `bundle` came beside the JSON."""
    repo = asked.repo
    if asked.deliver is not None and (repo is None or repo.url is None):
        message = "a change is delivered to the repository's url: name it as repo.url"
        yield FieldError(field="deliver", message=message)
    if repo is None and bundle is None:
        yield from setup_errors(asked)
        return
    named = repo is not None and (repo.url is not None or repo.bundle is not None)
    if named and bundle is not None:
        message = "the repository is named in the JSON, too: leave one of them out"
        yield FieldError(field="bundle", message=message)
    if not named and bundle is None:
        yield FieldError(field="repo", message="it needs a url or a bundle")
    if bundle is not None and not _is_bundle(bundle):
        message = "it is no git bundle: make one with `git bundle create FILE HEAD`"
        yield FieldError(field="bundle", message=message)
    for name in NOT_WITH_IT:
        if getattr(asked, name):
            yield FieldError(field=name, message="does not go with a repository: leave it out")


def setup_errors(asked: Terms) -> Iterator[FieldError]:
    """The error of a setup without a repository."""
    if asked.setup is not None:
        message = "is about a repository's dependencies: name the `repo`, or leave it out"
        yield FieldError(field="setup", message=message)


def _is_bundle(content: bytes) -> bool:
    head = content[: len(MAGIC) + 1 + len(SIGNATURE)]
    return head.startswith(MAGIC) and head.endswith(SIGNATURE)
