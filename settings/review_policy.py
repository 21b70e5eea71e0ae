"""The operator's review policy: rules by repository and label, as TOML. A file has one part of it,
and Redis the part that changes at run time.

See ADR 92, 96.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_settings import NoDecode

LONGEST_REVIEW_SECONDS = 366 * 24 * 3600
GROUP = "group:"
CODEOWNERS = "CODEOWNERS"
MOST_FAULTS = 10
"""The faults of a policy that an error explains."""
_HEADER = re.compile(r"\s*\[\[\s*rule\s*\]\]")


def _check_pattern(text: str) -> str:
    """The pattern in the form of the names that `ReviewRule.matches` takes. Raises ValueError."""
    pattern = posixpath.normpath(unquote(text.partition("://")[2] or text))
    if re.search(r"[@:\s]", pattern) or (pattern != "*" and not pattern.find("/") > 0):
        raise ValueError("write HOST/PATH, such as git.example.org/payments/*, or *")
    return pattern.casefold().removesuffix(".git")


def _check_name(text: str) -> str:
    """A name, which people read. Raises ValueError."""
    if not text.strip() or text.splitlines() != [text]:
        raise ValueError("write a name with visible text, on one line")
    return text


def _check_label(text: str) -> str:
    """A label that a job can have (`api.schemas.patterns.LABEL`). Raises ValueError."""
    if not re.fullmatch(r"[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,99}", text):
        raise ValueError("no job can have this label: write 1 to 100 characters on one line")
    return text


Name = Annotated[str, AfterValidator(_check_name)]
Names = Annotated[list[Name], Field(min_length=1)]
JobLabels = Annotated[list[Annotated[str, AfterValidator(_check_label)]], Field(min_length=1)]
Repositories = Annotated[list[Annotated[str, AfterValidator(_check_pattern)]], Field(min_length=1)]


class ReviewRule(BaseModel):
    """A rule for the reviews of the jobs that it matches."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    name: Name = Field(max_length=100)
    repositories: Repositories = Field(default_factory=list)
    """Globs of `HOST/PATH`. Missing: each job, also without a repository."""
    labels: JobLabels = Field(default_factory=list)
    """The job has at least one of them. Missing: each job."""
    approvals: int = Field(1, ge=1, le=2)
    approvers: Names = Field(default_factory=list)
    """Persons, `group:NAME`, `CODEOWNERS`. Missing: each person who is not an author."""
    override: bool = True
    """Whether a person may approve against the evidence."""
    remark: bool = False
    """Whether each approval needs a remark."""
    expires_seconds: int | None = Field(None, ge=1, le=LONGEST_REVIEW_SECONDS)
    """A review without a decision is rejected after this time."""

    def matches(self, repository: str, labels: Collection[str]) -> bool:
        """Whether the rule applies to a job. `repository`: HOST/PATH in lower case, without the
        parts that a host ignores; '': none."""
        if self.labels and set(self.labels).isdisjoint(labels):
            return False
        return not self.repositories or self.pattern_of(repository) is not None

    def pattern_of(self, repository: str) -> str | None:
        """The first pattern of the rule that the repository matches."""
        in_pattern = (name for name in self.repositories if fnmatchcase(repository, name))
        return next(in_pattern, None) if repository else None

    def condition_of(self, repository: str, labels: Collection[str]) -> str:
        """The condition by which the rule applies to a job, for people."""
        pattern = self.pattern_of(repository)
        label = next((label for label in self.labels if label in labels), None)
        parts = [f"repository {pattern}"] * bool(pattern) + [f"label {label}"] * bool(label)
        return " and ".join(parts) or "each job"


class ReviewPolicy(BaseModel):
    """All rules, and the groups of persons that they name."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    rule: list[ReviewRule] = Field(min_length=1)
    groups: dict[str, list[Name]] = Field(default_factory=dict)
    """Persons by the name of their group, which may be the name of an owner in CODEOWNERS."""
    _path: str = ""

    def model_post_init(self, context: Any, /) -> None:
        """Take the path of the file."""
        self._path = str(context)

    def __str__(self) -> str:
        """The path of the file, for `fettle config`."""
        return self._path

    def rules_for(self, repository: str, labels: Collection[str]) -> list[ReviewRule]:
        """The rules that apply to a job. `repository`: see `ReviewRule.matches`."""
        return [rule for rule in self.rule if rule.matches(repository, labels)]

    def approvers_of(self, rule: ReviewRule) -> tuple[str, ...]:
        """The persons who may approve by a rule, each once, and CODEOWNERS."""
        groups = (
            self.groups.get(name.removeprefix(GROUP), [name]) if name.startswith(GROUP) else [name]
            for name in rule.approvers
        )
        names = (name for group in groups for name in group)
        return tuple({" ".join(name.casefold().split()): name for name in names}.values())


def read_policy(value: object) -> object:
    """The policy in the file with this path; None for an empty path. Raises ValueError with the
    line of each fault."""
    if not isinstance(value, str | Path):
        return value
    if not str(value):
        return None
    try:
        text = Path(value).read_text(encoding="utf-8")
    except OSError as error:  # the value may be a secret that was put into the wrong variable
        raise ValueError(f"the file cannot be read ({error.strerror}): name a file") from None
    except ValueError as error:
        raise ValueError(f"the file is not valid TOML: {error}") from None
    try:
        return parse_policy(text, str(value))
    except PolicyFaults as error:
        raise ValueError(f"{value}, {error}") from None


class PolicyFaults(ValueError):
    """Each fault of a policy, with its line."""


def parse_policy(text: str, path: str = "") -> ReviewPolicy:
    """The policy in a TOML text. `path`: of its file. Raises ValueError; with the line of each
    fault, PolicyFaults."""
    try:
        policy = ReviewPolicy.model_validate(tomllib.loads(text), context=path)
    except ValidationError as error:
        faults = [(wrong["loc"], _explain(wrong)) for wrong in error.errors()[:MOST_FAULTS]]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the file is not valid TOML: {error}") from None
    else:
        faults = list(islice(_find_contradictions(policy), MOST_FAULTS))
        if not faults:
            return policy
    lines = (f"line {_find_line(text, location)}: {fault}" for location, fault in faults)
    raise PolicyFaults("; ".join(lines))


PolicyField = Annotated[ReviewPolicy | None, NoDecode, BeforeValidator(read_policy)]


def _explain(wrong: Any) -> str:
    """An error of pydantic as `field: reason`."""
    name = next((part for part in reversed(wrong["loc"]) if isinstance(part, str)), "file")
    message = wrong["msg"].removeprefix("Value error, ")
    if wrong["type"] == "extra_forbidden":
        table = ReviewRule if wrong["loc"][0] == "rule" else ReviewPolicy
        message = f"there is no such field; use {', '.join(table.model_fields)}"
    return f"{name}: {message}"


def _find_contradictions(policy: ReviewPolicy) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The location and the text of each fault that several fields make together."""
    names = [rule.name for rule in policy.rule]
    for number, rule in enumerate(policy.rule):
        approvers = policy.approvers_of(rule)
        if rule.name in names[:number]:
            yield ("rule", number, "name"), f"another rule has the name {rule.name!r}: rename one"
        for name in approvers:
            if name.startswith(GROUP):
                fault = f"{name} is not in [groups]: add the group, or correct the name"
                yield ("rule", number, "approvers"), fault
        if rule.approvers and CODEOWNERS not in approvers and len(approvers) < rule.approvals:
            fault = f"{rule.approvals} approvals need as many approvers: name more persons"
            yield ("rule", number, "approvers"), fault


def _find_line(text: str, location: tuple[str | int, ...]) -> int:
    """The number of the line with the field at `location`; else of the beginning of its table."""
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    first, last = 0, len(lines)
    if (
        location[:1] == ("rule",)
        and len(location) > 1
        and (number := int(location[1])) < len(starts)
    ):
        first, last = starts[number], [*starts, last][number + 1]
    name = next((part for part in reversed(location) if isinstance(part, str)), "")
    field = re.compile(rf"\s*(?:\[+\s*)?[\"']?{re.escape(name)}[\"']?\s*[\].=]")
    return next((at for at in range(first, last) if field.match(lines[at])), first) + 1
