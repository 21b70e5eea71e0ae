"""A person's decision on the open review of a job, for the JSON API and for the pages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import structlog

from api import problems
from api.auth.caller import configured_key, keys_of_same_person
from api.changes import load_changes
from api.http.field_errors import MAX_MESSAGE_CHARACTERS, refuse
from api.problems import RefusedRequest
from api.refusals import from_refusal
from api.schemas.problem import FieldError
from api.schemas.review import ClaimRequest, ReviewRequest, SentComment
from api.services import Services
from api.submission.edits import store_edit
from jobs.audit.entries import Actor
from jobs.errors import NotShown
from jobs.model.credentials import Credential, Scope
from jobs.model.people import identity_of
from jobs.model.record import JobRecord
from jobs.model.review import Action, Comment, Decision, Review, ReviewKind
from jobs.model.review_digest import digest_review
from jobs.model.visibility import has_visible_text
from jobs.store import Loaded
from jobs.transitions.lifecycle import Refusal
from jobs.view import patch as patches
from jobs.view.comments import add_excerpt
from jobs.view.inbox import Order
from jobs.view.patch import PatchFile

log = structlog.get_logger(__name__)


async def apply_decision(
    services: Services, caller: Credential, loaded: Loaded, request: ReviewRequest
) -> JobRecord:
    """Apply a decision to the job's open review. Raises RefusedRequest: 403, 409, 422."""
    job_id = loaded.record.id
    decision = Decision(
        review_id=request.review_id or "",
        action=request.action,
        by=caller.name,
        feedback=request.feedback,
        code=request.code,
        key_id=caller.id,
        person=caller.person,
        digest=request.digest or "",
        answers=tuple(request.answers),
        override=request.override,
    )
    if (review := loaded.record.review) is not None:
        _check(request, review, loaded.record, services)
        decision = await _about(decision, review, request, loaded.record, services)
    same_person = await keys_of_same_person(services, caller)
    decided = await services.operations.decide(job_id, decision, loaded, same_person)
    if isinstance(decided, Refusal):
        if decided.code == "remark_needed":
            refuse([FieldError(field="feedback", message=decided.detail)])
        raise from_refusal(decided, **await _open_review(services, job_id, decided, decision))
    log.info("review decided", job_id=job_id, action=request.action, override=request.override)
    return decided


async def claim_review(
    services: Services, caller: Credential, job_id: str, request: ClaimRequest
) -> JobRecord:
    """Assign the open review to a person, or release it. Raises RefusedRequest: 409, 422."""
    persons = await _find_reviewers(services, caller.tenant)
    persons |= {"": "", "me": caller.person, identity_of(caller.person): caller.person}
    assignee = persons.get(identity_of(request.assignee))
    if assignee is None:
        message = f"no reviewer of the tenant is {request.assignee!r}"
        refuse([FieldError(field="assignee", message=message)])
    claimed = await services.operations.assign(job_id, str(assignee), Actor.of(caller))
    if isinstance(claimed, Refusal):
        raise from_refusal(claimed)
    return claimed


async def release_claims(services: Services, key: Credential, actor: Actor) -> None:
    """Release the open reviews that the person of a revoked key has claimed, if the person has no
    other key to review with."""
    if identity_of(key.person) in await _find_reviewers(services, key.tenant):
        return
    claimed, _, _ = await services.store.inbox(key.tenant, (), Order.WAIT, key.person)
    for review in claimed:
        await services.operations.assign(review.job_id, "", actor)


async def _find_reviewers(services: Services, tenant: str) -> dict[str, str]:
    """The persons of the tenant with a valid key that may review, by their identity."""
    all_keys, now = await asyncio.gather(services.credentials.list_all(), services.store.now())
    first = configured_key(services.settings)
    return {
        identity_of(key.person): key.person
        for key in (*all_keys, *([first] if first else ()))
        if key.tenant == tenant and key.is_valid(now) and key.may(Scope.REVIEW)
    }


def _check(request: ReviewRequest, review: Review, record: JobRecord, services: Services) -> None:
    """Raise RefusedRequest: 422 for `revise` without a reason, 409 (NOT_OFFERED) for a delegation
    that this deployment does not allow."""
    has_reason = has_visible_text(request.feedback) or request.comments or review.paused
    if request.action is Action.REVISE and not has_reason:
        refuse([FieldError(field="feedback", message="revise needs feedback or comments")])
    delegates = review.kind is ReviewKind.REVIEW and request.action is Action.DELEGATE
    if delegates and record.spec.deliver and services.settings.deliver_needs_review:
        detail = (
            "this deployment delivers only changes that a person has approved: the critic cannot "
            "decide on this job"
        )
        raise RefusedRequest(problems.NOT_OFFERED, detail)


async def _about(
    decision: Decision,
    review: Review,
    request: ReviewRequest,
    record: JobRecord,
    services: Services,
) -> Decision:
    """The decision on this review: with its id, its comments, and the files of an edit. The
    suggestions of an edit become files, and are no comments any more."""
    decision = replace(decision, review_id=request.review_id or review.id)
    shows_review = request.digest in (None, digest_review(review))
    if decision.review_id != review.id or not shows_review:
        return decision
    comments, files = request.comments, decision.files
    if request.action is Action.EDIT and review.kind is ReviewKind.REVIEW:
        comments = [comment for comment in comments if not comment.suggestions]
        files = await store_edit(services, record, request)
    anchored = await _anchor_comments(services, record, comments)
    return replace(decision, comments=anchored, files=files)


async def _anchor_comments(
    services: Services, record: JobRecord, comments: Sequence[SentComment]
) -> tuple[Comment, ...]:
    """The comments with the lines of the job's change around them.

    Raises RefusedRequest (422), BlobMissing.
    """
    if not comments:
        return ()
    if record.spec.repo is not None and patches.current_patch(record) is None:
        refuse([FieldError(field="comments", message="this review shows no patch")])
    files = (await load_changes(services, record)).files
    if files is None:
        message = "the patch is too large for comments on lines: write them into the feedback"
        refuse([FieldError(field="comments", message=message)])
    anchored_comments, errors = _anchor(files or (), comments)
    refuse(errors)
    return tuple(anchored_comments)


def _anchor(
    files: Sequence[PatchFile], comments: Sequence[SentComment]
) -> tuple[list[Comment], list[FieldError]]:
    anchored_comments, errors = [], []
    for number, sent in enumerate(comments):
        try:
            comment = Comment(sent.path, sent.line, sent.side, sent.text)
            anchored_comments.append(add_excerpt(comment, files))
        except NotShown as error:
            message = str(error)[:MAX_MESSAGE_CHARACTERS]
            errors.append(FieldError(field=f"comments.{number}", message=message))
    return anchored_comments, errors


async def _open_review(
    services: Services, job_id: str, refusal: Refusal, decision: Decision
) -> dict[str, Any]:
    """For a 409: the id and digest of the open review, and the earlier decision on the review that
    was named."""
    if refusal.code not in ("stale_review", "no_open_review"):
        return {}
    loaded = await services.store.load(job_id)
    if loaded is None:
        return {}
    if (review := loaded.record.review) is None:
        last = loaded.record.decision
        return {"decision": _past_decision(last.review_id, last.action, last.by)} if last else {}
    opened = {"review_id": review.id, "digest": digest_review(review)}
    if review.id == decision.review_id:
        return opened
    for event in await services.store.events(job_id):
        data = event.data
        if event.kind == "decided" and data["review_id"] == decision.review_id:
            earlier = _past_decision(data["review_id"], data["action"], data["by"])
            return {**opened, "decision": earlier}
    return opened


def _past_decision(review_id: str, action: str, by: str) -> dict[str, str]:
    return {"review_id": review_id, "action": str(action), "by": by}
