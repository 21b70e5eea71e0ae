"""The submission of a job by a form of the pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request

from api import problems
from api.http.body import read_form
from api.pages.forms import FORM_TOKEN, as_request
from api.pages.visitor import Visitor, check_origin, check_token
from api.problems import RefusedRequest
from api.schemas.job_request import JobRequest
from api.services import Services
from api.submission import new_jobs
from jobs.service import Submission


class RefusedForm(Exception):
    """The form has errors, which its page shows."""

    def __init__(self, refused: RefusedRequest, texts: Mapping[str, str]) -> None:
        super().__init__(refused.detail)
        self.refused = refused
        self.texts = texts


async def submit_form(
    request: Request,
    services: Services,
    visitor: Visitor,
    job_values: Callable[[Mapping[str, str]], dict[str, Any]],
) -> Submission:
    """Submit the job of a posted form. `job_values` makes the body of POST /jobs from the texts of
    the form. Raises RefusedForm; RefusedRequest: 401, 403, 404."""
    settings = services.settings
    check_origin(request)
    texts: Mapping[str, str] = {}
    async with services.uploads.turn(visitor.credential.id):
        try:
            parts = await read_form(request, settings, settings.max_body_bytes)
            texts = parts.fields
            check_token(request, visitor, texts.get(FORM_TOKEN, ""))
            job = as_request(JobRequest, job_values(texts))
            size = len(job.model_dump_json())
            job, spec = await new_jobs.check(services, visitor.credential, job, size, parts)
            return await new_jobs.submit(
                services, visitor.credential, job, spec, request.scope["request_id"], parts=parts
            )
        except RefusedRequest as refused:
            if refused.kind in (problems.UNAUTHORIZED, problems.FORBIDDEN, problems.NOT_FOUND):
                raise
            raise RefusedForm(refused, texts) from None
