"""Problems: the explanation behind each problem's `type`."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api import problems
from api.http.answers import as_json
from api.openapi import refusals
from api.problems import Refused
from api.schemas.problem import ProblemKind

router = APIRouter(tags=["system"])


@router.get(
    "/problems/{name}",
    operation_id="explain_problem",
    response_model=ProblemKind,
    summary="Explain a problem",
    responses=refusals(problems.NOT_FOUND, problems.INVALID),
)
async def problem(name: str) -> Response:
    """What the `type` of a problem means, in a sentence or two. Needs no key."""
    kind = problems.KINDS.get(name)
    if kind is None:
        raise Refused(problems.NOT_FOUND, "there is no such kind of problem")
    return as_json(kind.told())
