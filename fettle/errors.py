"""The errors of the client.

FettleError             the root: a title, details, and the remedy
  +-- BadSettings       an address, a key or a proxy cannot be used
  +-- BadArgument       a request cannot have this value
  +-- ServiceUnreachable  no service answers
  |     +-- NotFettle   the server is not Fettle, or is another release of Fettle
  +-- ApiError          the service refused the request: `fettle.problems` has a class for each type
  +-- JobFailed, JobCancelled, ReviewNeeded  the result of a job is not available
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

START_IT = "start it with `fettle up`, or name its address: FETTLE_URL"


class FettleError(Exception):
    """The root: a title, details, and the remedy."""

    def __init__(self, title: str, detail: str = "", remedy: str = "") -> None:
        super().__init__(": ".join(part for part in (title, detail) if part))
        self.title = title
        self.detail = detail
        self.remedy = remedy
        if remedy:
            self.add_note(remedy)  # the end of a traceback shows it

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of the error, also in another process. The connection of a `result` stays here, so
        the copy's `result` is None."""
        fields = vars(self) | ({"result": None} if "result" in vars(self) else {})
        return Exception.__new__, (type(self), *self.args), fields


class BadSettings(FettleError):
    """An address, a key or a proxy cannot be used."""


class BadArgument(FettleError):
    """A request cannot have this value. The request was not sent."""


class ServiceUnreachable(FettleError):
    """No service answers at the address."""


class NotFettle(ServiceUnreachable):
    """The answer differs from every answer of this release of Fettle."""

    def __init__(self, url: str, detail: str) -> None:
        title = f"the server at {url} is not Fettle, or is another release of Fettle"
        super().__init__(title, detail, START_IT)


class ApiError(FettleError):
    """The service answered with a problem (RFC 9457). A problem of a type that this release does
    not know is an ApiError itself."""

    def __init__(self, problem: Mapping[str, Any], path: str = "") -> None:
        """`problem`: the members of the problem. `path`: the path of the request, as in
        /jobs/j1."""
        self.problem = problem
        """All members, also those that only some types have, such as `state` or `limit`."""
        self.path = path
        self.status: int = problem["status"]
        self.type: str = problem.get("type") or "about:blank"
        self.retryable = bool(problem.get("retryable"))
        """Whether the same request may succeed later."""
        self.fields = tuple(f"{e['field']}: {e['message']}" for e in problem.get("errors") or ())
        """Each wrong field, with the reason."""
        # The detail of a problem with wrong fields only counts them.
        detail = "; ".join(self.fields) or problem.get("detail") or ""
        super().__init__(problem["title"], detail, "try again later" if self.retryable else "")


class JobCancelled(FettleError):
    """The job was cancelled."""

    def __init__(self, job_id: str, result: Any) -> None:
        super().__init__(f"the job {job_id} was cancelled")
        self.result = result
        """The job as a Result (of an AsyncJob, an AsyncResult)."""


class JobFailed(FettleError):
    """The job has failed."""

    def __init__(self, job_id: str, reason: str, detail: str, result: Any) -> None:
        super().__init__(f"the job {job_id} failed ({reason})", detail)
        self.reason = reason
        """A reason of docs/outcomes.md."""
        self.result = result
        """The best result, which is not approved: a Result (of an AsyncJob, an AsyncResult)."""


class ReviewNeeded(FettleError):
    """The job waits for the decision of a person."""

    def __init__(self, job_id: str, review: Any) -> None:
        remedy = "decide with approve, revise, edit, reject or delegate of the job"
        super().__init__(f"the job {job_id} waits for a review", remedy=remedy)
        self.review = review
        """The open review, a fettle.types.Review."""
