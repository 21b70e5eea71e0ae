"""The operator's review rules in requests and responses."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.fields import RequestModel, ResponseModel, Time

Source = Literal["file", "run time"]


class ReviewRulesRequest(RequestModel):
    """The body of PUT /review-rules."""

    text: str | None = Field(
        max_length=50_000,
        description="the rules that are added to those of the file, as TOML in the form of the "
        "file (FETTLE_REVIEW_POLICY), in place of the present text; null or empty: none",
    )
    digest: str | None = Field(
        description="the digest of the present text, on which the change is based; null or empty: "
        "there is none"
    )
    dry_run: bool = Field(False, description="check the text and describe it; change nothing")


class DescribedRule(ResponseModel):
    """A rule in force."""

    name: str
    source: Source
    sentence: str = Field(description="the rule in plain English")


class RulesInForce(ResponseModel):
    """All rules in force: each rule that matches a job applies."""

    rules: list[DescribedRule]
    file: str | None = Field(description="the path of the operator's file; null: there is none")
    text: str = Field(description="the rules that were set at run time; empty: none")
    digest: str = Field(description="its sha256, hexadecimal; empty: none")
    changed_at: Time | None = Field(None, description="the last change of the text")
    changed_by: str = Field("", description="the key that made this change")
    person: str = Field("", description="the person of that key")
