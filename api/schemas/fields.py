"""Base classes of requests and responses, and the types of fields that several of them share."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from decimal import Decimal
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from api.schemas import patterns


def _require_time(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("the time has no offset from UTC")
    return text


Time = Annotated[
    str,
    AfterValidator(_require_time),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""ISO 8601 in UTC, as `jobs.view.job.format_time` writes it: a string, described as a time."""
Date = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
"""A day (UTC)."""

NextCursor = Annotated[
    str | None,
    Field(description="the `cursor` of the next page; null: this page is the last"),
]


class RequestModel(BaseModel):
    """A request's body: no conversion of types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ResponseModel(BaseModel):
    """A part of a response: an older client can read a newer server's."""

    model_config = ConfigDict(extra="allow", frozen=True)


Label = Annotated[str, Field(pattern=patterns.LABEL)]


class KeptFile(RequestModel):
    """Bytes that the service has already, because a job of your tenant has them."""

    digest: str = Field(pattern=patterns.DIGEST, description="sha256, hexadecimal")
    job_id: str = Field(
        pattern=patterns.CONVERSATION, description="a job that started with them, or has them now"
    )


def _as_text(amount: object) -> object:
    """A JSON number as the decimal that was written; a text is not changed."""
    if isinstance(amount, int | float) and not isinstance(amount, bool):
        return format(Decimal(repr(amount)), "f")
    return amount


Dollars = Annotated[
    str,
    BeforeValidator(_as_text),
    Field(pattern=patterns.DOLLARS),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": patterns.DOLLARS}, {"type": "number"}]}
    ),
]
"""US dollars: a decimal string, or a JSON number."""

MOST_WORDS = 64
MOST_CHARACTERS = 4_096
OPERATORS = frozenset({"|", "||", "&&", ";", "&", ">", "<", ">>"})
_SCHEMA = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "maxItems": MOST_WORDS},
        {"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS},
    ]
}


def _split(command: object) -> object:
    """The words of a command line; other types are left to the field's own validation."""
    if not isinstance(command, str):
        return command
    if len(command) > MOST_CHARACTERS:  # splitting it would be slow
        raise _too_long()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise PydanticCustomError(
            "command", "it cannot be split into words: {reason}", {"reason": str(error)}
        ) from None
    if not words:
        raise PydanticCustomError("command", "it has no words")
    return words


def _fits(words: list[str]) -> list[str]:
    if len(words) > MOST_WORDS:
        raise PydanticCustomError(
            "command", "it may have at most {most} words", {"most": MOST_WORDS}
        )
    if sum(map(len, words)) > MOST_CHARACTERS:
        raise _too_long()
    if words and not words[0]:
        raise PydanticCustomError("command", "its first word, the program, is empty")
    if any("\0" in word for word in words):
        raise PydanticCustomError("command", "a word has a NUL character")
    if operator := next((word for word in words if word in OPERATORS), None):
        raise PydanticCustomError(
            "command",
            "no shell runs it, so '{operator}' has no meaning: put the pipeline into a script, or "
            "name one command",
            {"operator": operator},
        )
    return words


def _too_long() -> PydanticCustomError:
    return PydanticCustomError(
        "command", "it may have at most {most} characters", {"most": MOST_CHARACTERS}
    )


Verify = Annotated[
    list[str], BeforeValidator(_split), AfterValidator(_fits), WithJsonSchema(_SCHEMA)
]

CREDENTIALS = (
    "it has a user or a password: leave them out, the operator sets the credentials of each host"
)


_LIKE_SCP = re.compile(r"([^/:@]+@[^/:@]+):/*([^/\n].*)")
_SSH_PLACE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*@)?([A-Za-z0-9][\w.-]*|\[[\w:]+\])(:\d+)?")


def _is_repository(url: str) -> str:
    """As a URL. No message repeats it: it may hold a password."""
    if (like_scp := _LIKE_SCP.fullmatch(url)) is not None:
        url = f"ssh://{like_scp[1]}/{like_scp[2]}"
    try:
        parts = urlsplit(url)
        port_is_good = parts.port is None or parts.port > 0
    except ValueError:
        raise _bad_url("it is not a URL") from None
    over_ssh = parts.scheme == "ssh"
    if parts.password is not None or (parts.username is not None and not over_ssh):
        raise _bad_url(CREDENTIALS)
    if over_ssh and not _SSH_PLACE.fullmatch(parts.netloc):
        raise _bad_url("over ssh it has a plain name of a user and a host: ssh://git@HOST/PATH")
    if parts.query or parts.fragment:
        raise _bad_url("it has a query or a fragment: leave them out")
    if not parts.hostname or not port_is_good or not parts.path.strip("/"):
        raise _bad_url("it has no host or no path, as in https://git.example.org/team/app.git")
    return url


def _is_ref(ref: str) -> str:
    if ".." in ref or "@{" in ref or ref.endswith((".", "/", ".lock")):
        raise PydanticCustomError("ref", patterns.PATTERNS[patterns.REF])
    return ref


def _bad_url(message: str) -> PydanticCustomError:
    return PydanticCustomError("url", "{message}", {"message": message})


Url = Annotated[
    str, Field(max_length=2_000, pattern=patterns.REPO_URL), AfterValidator(_is_repository)
]
Ref = Annotated[str, Field(pattern=patterns.REF), AfterValidator(_is_ref)]


class DeliverRequest(RequestModel):
    """What becomes of an approved change in the repository that it was fetched from."""

    branch: bool = Field(True, description="push it as the branch `fettle/ID`")
    pull_request: bool = Field(
        False, description="open a pull request from that branch (GitLab: a merge request)"
    )

    @model_validator(mode="after")
    def _has_a_branch(self) -> DeliverRequest:
        if not self.branch:
            raise PydanticCustomError(
                "deliver",
                "a pull request is made of the branch: leave `branch` out, or leave out `deliver`",
            )
        return self


class RepoRequest(RequestModel):
    """The git repository that the work starts from: a `url`, or a bundle of another job, or the
    part `bundle` of the form."""

    url: Url | None = Field(
        None,
        description="https:// or ssh://, of a host that the operator allows; without a password. "
        "git@HOST:PATH is taken as ssh://git@HOST/PATH",
    )
    ref: Ref | None = Field(None, description="a branch, a tag or a commit; else HEAD")
    bundle: KeptFile | None = Field(
        None, description="the bundle that another job of your tenant started from"
    )

    @model_validator(mode="after")
    def _from_one_place(self) -> RepoRequest:
        if self.url is not None and self.bundle is not None:
            raise PydanticCustomError("repo", "it has a url and a bundle: leave one of them out")
        return self
