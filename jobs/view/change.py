"""The change of a job's repository that another job can start from. Pure."""

from __future__ import annotations

from jobs.model.record import JobRecord
from jobs.model.spec import EarlierChange


def change_to_continue(record: JobRecord) -> EarlierChange | None:
    """The change of a job that has ended. If the job has changed nothing: the earlier change that
    the job itself started from, unless the job has undone it. None: there is no change."""
    result, start, repo = record.result, record.continues, record.spec.repo
    if repo is None or result is None or result.patch is None or result.bundle is None:
        # without a patch, the files are those of the commit, which lacks a merged change
        is_undone = start is not None and start.merged and start.branch is None
        return start.change if start and not is_undone else None
    delivered = result.delivery.branch if result.delivery else None
    return EarlierChange(
        record.id,
        result.bundle,
        result.patch.base,
        branch=delivered or (start.branch if start else None),
        root=start.root if start else None,
        upload=repo.bundle,
    )
