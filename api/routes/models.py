"""The models of the workers, and a check whether jobs can run with them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Operator, Overseer
from api.http.answers import as_json
from api.http.body import read_json
from api.http.field_errors import refuse
from api.openapi import body_responses, responses, with_body
from api.problems import RefusedRequest
from api.schemas.models import (
    AcceptedForm,
    Checked,
    CheckedModel,
    CheckRequest,
    Models,
    OfferedModel,
)
from api.schemas.problem import FieldError
from api.services import Services, ServicesDep
from api.submission.validation import explain_not_allowed, is_allowed
from jobs.view.job import format_time

router = APIRouter(tags=["system"])

CHECK_SECONDS = 135.0
"""A worker gives each model 120 seconds, all at the same time."""
CHECK_MODELS = "check_models"


@router.get(
    "/models",
    operation_id="list_models",
    response_model=Models,
    summary="List models",
    responses=responses(),
)
async def models(services: ServicesDep, caller: Overseer) -> Response:
    """Models by role, their prices, and the missing part of each model that cannot be used.

    Only the operator sees the number of workers, which of them differ, and the learned forms of
    models that no worker offers: jobs of another tenant may have named them.
    """
    workers = await _announcing(services)
    latest = workers[0]["models"] if workers else {}
    differing = [str(worker["id"]) for worker in workers if worker["models"] != latest]
    return as_json(
        Models(
            workers=len(workers) if caller.operates else None,
            differing=differing if caller.operates else None,
            roles=latest.get("roles", {}),
            offered=_offered(workers),
            providers=latest.get("providers", []),
            accepted=await _accepted(services, latest, include_unoffered=caller.operates),
            recordings=latest.get("recordings", []),
            allowed=list(services.settings.models),
        )
    )


@router.post(
    "/models/check",
    operation_id="check_models",
    response_model=Checked,
    summary="Check whether jobs can run with models",
    responses=body_responses(problems.NOT_READY),
    openapi_extra=with_body(CheckRequest),
)
async def check(request: Request, services: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001
    """Have one worker begin a small job with each model, and return what works.

    The model gets the requests of a planner and of an executor: it has to call a tool, and to
    answer when it gets the result. These are three requests of together about 3,500 tokens, which
    are charged to no job, so only the operator may. It takes as long as the slowest model, at most
    two minutes.
    """
    check_request, _ = await read_json(request, CheckRequest, services.settings)
    workers = await _announcing(services)
    latest = workers[0]["models"] if workers else {}
    offered = [model["name"] for model in latest.get("offered", ())]
    names = check_request.models or offered
    _refuse_unknown(names, offered, services.settings.models)
    answer = await services.store.rpc.call(CHECK_MODELS, {"models": names}, CHECK_SECONDS)
    if answer is None or "error" in answer:
        detail = str(
            (answer or {}).get("error", "no worker answered: start a worker, or try again")
        )
        raise RefusedRequest(
            problems.NOT_READY, detail, {"missing": ["a worker that checks models"]}
        )
    return as_json(Checked(models=[CheckedModel(**model) for model in answer["checked"]]))


def _offered(workers: Sequence[Mapping[str, Any]]) -> list[OfferedModel]:
    """The models of the latest worker, with the contexts that it knows."""
    if not workers:
        return []
    servers = workers[0].get("model_servers", {})
    return [
        OfferedModel(**model, context_tokens=servers.get(model["name"], {}).get("context_tokens"))
        for model in workers[0]["models"].get("offered", ())
    ]


async def _accepted(
    services: Services, latest: Mapping[str, Any], *, include_unoffered: bool
) -> list[AcceptedForm]:
    """The forms in the settings of the latest worker, and the forms that the workers have learned.
    Records that cannot be read or have expired are left out; workers do not use them either."""
    forms = [
        AcceptedForm(model=model, source="setting", **fields)
        for model, fields in latest.get("capabilities", {}).items()
    ]
    offered = {model["name"] for model in latest.get("offered", ())}
    now = await services.store.now()
    for model, text in sorted((await services.store.capabilities.all()).items()):
        with contextlib.suppress(ValueError, TypeError, OverflowError, OSError):
            fields = json.loads(text)
            times = {name: int(fields[name] * 1_000) for name in ("learned_at", "expires_at")}
            if times["expires_at"] > now and (include_unoffered or model in offered):
                written = {name: format_time(ms) for name, ms in times.items()}
                forms.append(AcceptedForm(**{**fields, **written}, model=model, source="learned"))
    return forms


def _refuse_unknown(names: Sequence[str], offered: Sequence[str], allowed: tuple[str, ...]) -> None:
    for name in names:
        if name not in offered and not is_allowed(name, allowed):
            refuse([FieldError(field="models", message=explain_not_allowed(name, allowed))])


async def _announcing(services: Services) -> list[Mapping[str, Any]]:
    """The workers that were seen lately and announce models (older releases do not), the latest
    first."""
    now = await services.store.now()
    lately = now - services.settings.worker_seen_seconds * 1000
    workers = [
        worker
        for worker in await services.store.workers()
        if worker["seen_at"] >= lately and "offered" in worker.get("models", ())
    ]
    return sorted(workers, key=lambda worker: worker["seen_at"], reverse=True)
