"""The operator's review rules: those in force, and a change of those that may change at run time.

See ADR 96.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import structlog
from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Operator
from api.http.answers import as_json
from api.http.body import read_json
from api.http.field_errors import refuse
from api.openapi import body_responses, responses, with_body
from api.problems import RefusedRequest
from api.schemas.problem import FieldError
from api.schemas.review_rules import DescribedRule, ReviewRulesRequest, RulesInForce, Source
from api.services import Services, ServicesDep
from api.submission.review_rules import parse_stored
from api.submission.rule_sentences import describe_rule
from jobs.audit.entries import Actor
from jobs.model.credentials import Credential
from jobs.store.review_rules import StoredRules
from jobs.view.job import format_time
from settings.api import ApiSettings
from settings.review_policy import ReviewPolicy, parse_policy

log = structlog.get_logger(__name__)
router = APIRouter(tags=["system"])


@router.get(
    "/review-rules",
    operation_id="read_review_rules",
    response_model=RulesInForce,
    summary="The review rules in force",
    responses=responses(problems.RULES_UNREADABLE),
)
async def review_rules(services: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001 - who may
    """The rules of the operator's file, and those that were set at run time."""
    return as_json(await read(services))


@router.put(
    "/review-rules",
    operation_id="change_review_rules",
    response_model=RulesInForce,
    summary="Change the review rules that are added to the file's",
    responses=body_responses(problems.RULES_CHANGED),
    openapi_extra=with_body(ReviewRulesRequest),
)
async def change_review_rules(
    request: Request, services: ServicesDep, caller: Operator
) -> Response:
    """Replace the rules that were set at run time. They apply to jobs that are submitted from now
    on. The rules of the file stay: each rule that matches a job applies."""
    change, _ = await read_json(request, ReviewRulesRequest, services.settings)
    return as_json(await replace_rules(services, change, caller))


async def read(services: Services) -> RulesInForce:
    """The rules in force. Raises RefusedRequest: 500."""
    stored = await services.store.review_rules.read()
    policy = parse_stored(stored.text) if stored.text else None
    return _describe(services.settings, policy, stored)


async def replace_rules(
    services: Services, change: ReviewRulesRequest, caller: Credential
) -> RulesInForce:
    """The rules with the changed text, which are in force unless `dry_run`. Raises RefusedRequest:
    409, 422."""
    text = (change.text or "").replace("\r\n", "\n")
    text = text if text.strip() else ""
    of_file = services.settings.review_policy
    policy = await asyncio.to_thread(_parse, text, of_file) if text else None
    if change.dry_run:
        return _describe(services.settings, policy, StoredRules(text, change.digest or ""))
    store = services.store.review_rules
    if not await store.replace(text, change.digest or "", Actor.of(caller)):
        digest = (await store.read()).digest
        detail = f"the text has the digest {digest or '(none)'} now: read it, and change it again"
        raise RefusedRequest(problems.RULES_CHANGED, detail)
    stored = await store.read()
    log.info("review rules changed", before=change.digest, digest=stored.digest)
    return _describe(services.settings, policy, stored)


def _parse(text: str, of_file: ReviewPolicy | None) -> ReviewPolicy:
    """The policy in a new text. Raises RefusedRequest: 422, with the line of each fault."""
    try:
        policy = parse_policy(text)
    except ValueError as error:
        refuse([FieldError(field="text", message=str(error))])
        raise
    names = {rule.name for rule in of_file.rule} if of_file else set[str]()
    refuse(
        FieldError(field="text", message=f"the file has a rule {rule.name!r}: rename one")
        for rule in policy.rule
        if rule.name in names
    )
    return policy


def _rules(policy: ReviewPolicy | None, source: Source) -> Iterator[DescribedRule]:
    if policy:
        for rule in policy.rule:
            sentence = describe_rule(rule, policy)
            yield DescribedRule(name=rule.name, source=source, sentence=sentence)


def _describe(
    settings: ApiSettings, policy: ReviewPolicy | None, stored: StoredRules
) -> RulesInForce:
    of_file = settings.review_policy
    return RulesInForce(
        rules=[*_rules(of_file, "file"), *_rules(policy, "run time")],
        file=str(of_file) if of_file else None,
        text=stored.text,
        digest=stored.digest,
        changed_at=format_time(stored.at or None),
        changed_by=stored.by,
        person=stored.person,
    )
