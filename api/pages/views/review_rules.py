"""The page with the operator's review rules, and its form."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api import problems
from api.auth.caller import require_operator
from api.pages.forms import as_request, form_values
from api.pages.rendering import render_page
from api.pages.visitor import Admin, PostingAdmin, Visitor
from api.problems import RefusedRequest
from api.routes import review_rules
from api.schemas.review_rules import ReviewRulesRequest, RulesInForce
from api.services import Services, ServicesDep

router = APIRouter()
SHOWN = (problems.INVALID, problems.RULES_CHANGED)
"""Problems that the page shows together with the text, so that no change is lost."""
NO_RULES = RulesInForce(rules=[], file=None, text="", digest="")


@router.get("/review-rules")
async def page(services: ServicesDep, visitor: Admin) -> Response:
    """The rules in force, and the text of those that may change."""
    await require_operator(visitor.credential)
    rules, problem = await _rules_in_force(services)
    return _render(visitor, rules, rules, problem)


@router.post("/review-rules")
async def change(request: Request, services: ServicesDep, visitor: PostingAdmin) -> Response:
    """Preview the text of the form, or put it in force."""
    caller = await require_operator(visitor.credential)
    sent = as_request(ReviewRulesRequest, await form_values(request, services.settings))
    try:
        rules = await review_rules.replace_rules(services, sent, caller)
    except RefusedRequest as refused:
        if refused.kind not in SHOWN:
            raise
        in_force, _ = await _rules_in_force(services)
        base = in_force.digest if refused.kind is problems.RULES_CHANGED else sent.digest or ""
        text = in_force.model_copy(update={"text": sent.text or "", "digest": base})
        return _render(visitor, in_force, text, refused)
    if not sent.dry_run:
        return RedirectResponse("/app/review-rules", 303)
    return _render(visitor, rules, rules, None, preview=True)


async def _rules_in_force(services: Services) -> tuple[RulesInForce, RefusedRequest | None]:
    """The rules; without sentences if they cannot be read, with the problem: the operator can
    replace them."""
    try:
        return await review_rules.read(services), None
    except RefusedRequest as refused:
        stored = await services.store.review_rules.read()
        return NO_RULES.model_copy(update={"text": stored.text, "digest": stored.digest}), refused


def _render(
    visitor: Visitor,
    rules: RulesInForce,
    edited: RulesInForce,
    problem: RefusedRequest | None,
    *,
    preview: bool = False,
) -> Response:
    """The page with these rules, and with the text and the digest of `edited` in the form."""
    return render_page(
        "review_rules.html",
        visitor,
        status=problem.kind.status if problem else 200,
        rules=rules,
        edited=edited,
        problem=problem,
        preview=preview,
    )
