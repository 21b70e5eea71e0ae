"""Rebase of an approved change at a person's request, because its repository has new commits. Pure.

The rebase is a new job of the same conversation. It has the task and the terms of its parent, and
starts from the parent's change. Its first attempt finds out the new base commit. The parent's plan
and questions are not inherited, because that work is done. The parent's authors are also authors of
the rebase.

See ADR 59.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from jobs.model.record import JobRecord
from jobs.model.spec import EarlierChange, JobSpec, Repo
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Change, Refusal, Submitter
from jobs.transitions.reviews import list_authors
from jobs.view.change import change_to_continue


def rebase_as_new_job(
    parent: JobRecord,
    job_id: str,
    now: int,
    *,
    spec: JobSpec | None = None,
    **submitter: Unpack[Submitter],
) -> Change | Refusal:
    """A new job that rebases the approved change of `parent` onto the branch of its delivery, or
    else onto the ref of its spec."""
    repo_and_change = _find_change(parent)
    if isinstance(repo_and_change, Refusal):
        return repo_and_change
    repo, change = repo_and_change
    spec = replace(
        spec or parent.spec,
        repo=repo,
        rebase=change,
        conversation_id=parent.conversation_id,
        retry_of=None,
        fork_of=None,
        steps=(),
        steps_after=(),
        questions=False,
        questions_expire_seconds=None,
    )
    authors = list_authors(parent)
    return lifecycle.submit(
        job_id, parent.tenant, spec, now, authors=authors, rebase_of=parent.id, **submitter
    )


def _find_change(parent: JobRecord) -> tuple[Repo, EarlierChange] | Refusal:
    """The repository with the new base, and the change. The branch of the change is the branch that
    the parent continued: a branch that the parent made belongs to the parent."""
    status, result, repo = parent.status, parent.result, parent.spec.repo
    change = change_to_continue(parent)
    if not status.final:
        return Refusal("not_final", f"the job is {status}: its change is not final", status)
    if repo is None or result is None or change is None or change.job_id != parent.id:
        return Refusal("no_change", "the job has no change of a repository to rebase", status)
    if result.approved_by is None:
        detail = "the job's change has no approval: only an approved change can be rebased"
        return Refusal("unapproved", detail, status)
    if repo.url is None:
        detail = (
            "the job's repository was uploaded, so Fettle does not know the present commit of its "
            f"branch: `fettle apply {parent.id}` applies the change to your work tree, and GET "
            f"/jobs/{parent.id}/bundle is its commit, to fetch and to rebase with git"
        )
        return Refusal("uploaded", detail, status)
    branch = result.delivery.base if result.delivery else None
    onto = replace(repo, ref=branch or repo.ref)
    continued_branch = parent.continues.branch if parent.continues else None
    return onto, replace(change, branch=continued_branch)
