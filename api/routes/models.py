"""Models: which there are, and whether they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Operator, Overseer
from api.http import body
from api.http.answers import as_json
from api.openapi import body_responses, responses, with_body
from api.problems import Refused
from api.schemas.models import Checked, CheckedModel, CheckRequest, Models
from api.services import Services, ServicesDep
from api.submission.job_requests import is_allowed

router = APIRouter(tags=["system"])

CHECK_SECONDS = 45.0
"""A worker gives each model 30, all of them at once."""
CHECK_MODELS = "check_models"


@router.get(
    "/models",
    operation_id="list_models",
    response_model=Models,
    summary="Which models there are",
    responses=responses(),
)
async def models(services: ServicesDep, caller: Overseer) -> Response:
    """Models by role, their prices, and what is missing where one cannot be asked.

    How many workers there are, and which of them differ, is shown to the operator alone.
    """
    said = await _said(services)
    latest = said[0]["models"] if said else {}
    differing = [str(each["id"]) for each in said if each["models"] != latest]
    return as_json(
        Models(
            workers=len(said) if caller.operates else None,
            differing=differing if caller.operates else None,
            roles=latest.get("roles", {}),
            offered=latest.get("offered", []),
            providers=latest.get("providers", []),
            recordings=latest.get("recordings", []),
            allowed=list(services.settings.models),
        )
    )


@router.post(
    "/models/check",
    operation_id="check_models",
    response_model=Checked,
    summary="Whether models answer",
    responses=body_responses(problems.NOT_READY),
    openapi_extra=with_body(CheckRequest),
)
async def check(request: Request, services: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001
    """One worker asks each model one short question, and reports the outcome.

    That costs a few tokens; they are charged to no job, so only the operator may. Takes as long as
    the slowest model, 30 s at most.
    """
    asked, _ = await body.read(request, CheckRequest, services.settings)
    said = await _said(services)
    offered = [each["name"] for each in (said[0]["models"].get("offered", ()) if said else ())]
    names = asked.models or offered
    _refuse_unknown(names, offered, services.settings.models)
    answer = await services.store.rpc.call(CHECK_MODELS, {"models": names}, CHECK_SECONDS)
    if answer is None or "error" in answer:
        detail = str((answer or {}).get("error", "no worker has answered: is one running?"))
        raise Refused(problems.NOT_READY, detail, {"missing": ["a worker that checks models"]})
    return as_json(Checked(models=[CheckedModel(**each) for each in answer["checked"]]))


def _refuse_unknown(names: Sequence[str], offered: Sequence[str], allowed: tuple[str, ...]) -> None:
    for name in names:
        if name not in offered and not is_allowed(name, allowed):
            error = {"field": "models", "message": f"{name} is not on the allow-list"}
            raise Refused(problems.INVALID, error["message"], {"errors": [error]})


async def _said(services: Services) -> list[Mapping[str, Any]]:
    """What the workers announce that were seen lately, the latest first; an older release reports
    of no models in this way."""
    now = await services.store.now()
    lately = now - services.settings.worker_seen_seconds * 1000
    workers = [
        each
        for each in await services.store.workers()
        if each["seen_at"] >= lately and "offered" in each.get("models", ())
    ]
    return sorted(workers, key=lambda each: each["seen_at"], reverse=True)
