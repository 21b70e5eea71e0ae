"""The result of a job in responses, and its cost."""

from __future__ import annotations

from pydantic import Field

from api.schemas.benchmark import BenchmarkSummary
from api.schemas.checks import CheckReport
from api.schemas.fields import ResponseModel
from api.schemas.job_work import Verification
from api.schemas.review import PastApproval
from jobs.model.event_data.model_calls import Usd
from jobs.model.run_data import ArtifactData


class Patch(ResponseModel):
    """The change of the job in its repository; `GET /jobs/{id}/patch` has the bytes."""

    digest: str = Field(description="sha256, hexadecimal")
    size: int = Field(description="bytes")
    files: int = Field(description="changed files")
    insertions: int = Field(description="lines")
    deletions: int = Field(description="lines")
    base: str = Field(description="the commit that it applies to")
    lfs: list[str] = Field(
        description="the first changed files that Git LFS would store: the patch has their bytes "
        "instead of a pointer"
    )


class Delivery(ResponseModel):
    """The branch and the pull request in the repository that the job was fetched from."""

    branch: str | None = Field(description="null: nothing was delivered, see `note`")
    commit: str | None = Field(description="the commit that was pushed")
    pull_request: str | None = Field(description="the address of the pull or merge request")
    base: str | None = Field(description="the branch that the change is for")
    base_moved: bool = Field(
        description="whether `base` has other commits than at the start of the job"
    )
    note: str = Field(description="the reason for no delivery, or the remedy if `base` moved")


class Result(ResponseModel):
    """The job's result."""

    answer: str = Field(description="the model's answer")
    approved_by: str | None = Field(
        description="critic, the names of persons, or null: not approved"
    )
    override: bool = Field(
        False,
        description="a person approved although the evidence failed: no verification of the final "
        "files holds, checks did not pass, or a conflict was left",
    )
    approvals: list[PastApproval] = Field(
        default_factory=list, description="of persons: who, when, on which evidence"
    )
    artifacts: list[ArtifactData] = Field(
        default_factory=list, description="files that runs and tools made"
    )
    checks: CheckReport | None = Field(None, description="the report of the acceptance checks")
    verification: Verification | None = Field(None, description="the evidence that the files work")
    patch: Patch | None = Field(None, description="of a job on a repository: its change")
    bundle: str | None = Field(
        None, description="the digest of the change as a git bundle, see `GET /jobs/{id}/bundle`"
    )
    delivery: Delivery | None = Field(None, description="of a job that delivers its change")
    benchmark: BenchmarkSummary | None = Field(None, description="of a benchmark: its report")


class Spend(ResponseModel):
    """The cost of model calls. `cost_usd` is null if the price of a call is unknown, or if its
    usage was not reported."""

    calls: int = Field(description="the number of calls")
    input_tokens: int = Field(description="the tokens of requests, cached or not")
    cached_input_tokens: int = Field(
        0, description="the input tokens that came from the provider's cache"
    )
    output_tokens: int = Field(description="the tokens of replies")
    cost_usd: Usd | None = Field(description="null: not known")
    known_usd: Usd = Field(description="the cost of the calls with a known cost")
    unpriced_calls: int = Field(0, description="the calls with an unknown price")
    unreported_calls: int = Field(
        0, description="the calls whose usage the provider did not report"
    )


class Cost(ResponseModel):
    """The job's cost, by role and in total."""

    roles: dict[str, Spend] = Field(description="by the role of the model")
    total: Spend = Field(description="the sum over all roles")
