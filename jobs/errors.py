"""Failures of this package. Expected outcomes (a wrong state, a key used twice) are values instead.

JobsError
  +-- StoreUnavailable   Redis did not answer in time; the write may have happened
  |     +-- BlobsUnavailable   the storage for bytes did not answer, or refused
  |     +-- StoreRefused       Redis answered, but accepts no writes now; the write has not happened
  |           +-- StoreFull          because Redis is at its `maxmemory`
  +-- StoreUnfit         Redis answers, but cannot keep jobs safely; says what to set
  +-- StaleEpoch         the job no longer belongs to the writer: drop the attempt (J5)
  +-- Contended          a record kept changing under a decision, or an id is taken; try again
  +-- BlobMissing        bytes that a digest names are not in the store, or are damaged
  +-- PathRefused        a path that a workspace cannot hold
  +-- NotShown           a comment is on a line that the patch does not show
"""

from __future__ import annotations


class JobsError(Exception):
    """The root of this package's errors."""


class StoreUnavailable(JobsError):
    """Redis did not answer in time."""


class BlobsUnavailable(StoreUnavailable):
    """The storage for bytes did not answer, or refused.

    The text is for logs and operators: it may have a path, or the address of a bucket. `reason` is
    for tenants and has neither.
    """

    def __init__(self, detail: str, reason: str = "it does not answer") -> None:
        super().__init__(detail)
        self.reason = reason


class StoreRefused(StoreUnavailable):
    """Redis accepts no writes now, and has not applied this write.

    `cause` is for tenants: it has no address.
    """

    def __init__(self, detail: str, cause: str = "") -> None:
        super().__init__(detail)
        self.cause = cause


class StoreFull(StoreRefused):
    """Redis has no memory for this write. It still takes some small writes."""


class StoreUnfit(JobsError):
    """Redis answers, but its settings could lose jobs."""


class StaleEpoch(JobsError):
    """A write carried an epoch that is no longer the job's, or the job is no longer running."""

    def __init__(self, job_id: str, epoch: int) -> None:
        super().__init__(f"epoch {epoch} no longer owns job {job_id}")
        self.job_id = job_id
        self.epoch = epoch


class Contended(JobsError):
    """The record changed under each of several tries. No write was made."""


class BlobMissing(JobsError):
    """No bytes are stored under this digest, or the stored bytes have another digest
    (`damaged`)."""

    def __init__(self, digest: str, *, damaged: bool = False) -> None:
        problem = "the stored bytes do not match" if damaged else "no bytes are stored under"
        super().__init__(f"{problem} sha256 {digest}")


class PathRefused(JobsError, ValueError):
    """A path that could leave the workspace, or that no archive could carry."""


class NotShown(JobsError):
    """A comment is on a file or a line that the patch does not show; the text says which."""
