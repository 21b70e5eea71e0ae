"""The form for a new job: an error is shown at its field, success leads to the job's page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.http import multipart
from api.pages import form
from api.pages.rendering import page
from api.pages.views import offers
from api.pages.views.examples import EXAMPLES
from api.pages.views.form_choices import choices
from api.pages.visitor import Author, Submitter, Visitor
from api.problems import Refused
from api.schemas import patterns
from api.schemas.job_request import JobRequest
from api.services import ServicesDep
from api.submission import job_requests, new_jobs

router = APIRouter()

OTHERS = ("labels", "steps", "files", "checks", "repo", "deliver")
"""Fields with their own format in the form."""
LEFT_OUT = {
    "workspace": "it is made from the files",
    "conversation_id": "a hidden field of a follow-up",
    "retry_of": "a button on the page of a job that has ended",
    "rebase": "a button on the page of a job whose branch has moved",
    "kind": "verifications have no form: programs submit them",
}
"""Fields of a job that the form does not have, and why."""
CHECKS_FILE = "test_acceptance.py"
PLAIN = frozenset(JobRequest.model_fields) - frozenset(OTHERS)
"""Fields that the form sends as one text."""
_FIELDS = tuple(name for name in JobRequest.model_fields if name != "conversation_id")


@router.get("/new")
async def new(
    services: ServicesDep,
    visitor: Author,
    follows: Annotated[str | None, Query(pattern=patterns.CONVERSATION)] = None,
) -> Response:
    """The form."""
    return page(
        "new.html",
        visitor,
        follows=follows,
        examples=EXAMPLES,
        models=await offers.models(services),
        defaults=JobRequest(task="x"),
        choices=choices(services.settings),
        settings=services.settings,
    )


@router.post("/new")
async def submit(request: Request, services: ServicesDep, visitor: Submitter) -> Response:
    """Submit the job; a 422 shows each error at its field."""
    settings = services.settings
    async with services.uploads.turn(visitor.credential.id):
        try:
            sent = await multipart.read(request, settings, settings.max_body_bytes)
            asked = form.checked(JobRequest, _asked(sent.fields))
            size = len(asked.model_dump_json())
            job_requests.check(asked, size, settings, sent.files, sent.bundle)
        except Refused as refused:
            return _refusal(visitor, refused)
        submitted = await new_jobs.submit(
            services,
            visitor.credential,
            asked,
            request.scope["request_id"],
            sent=sent,
        )
    where = f"/app/jobs/{submitted.record.id}"
    return Response(status_code=204, headers={"HX-Redirect": where})


def _asked(texts: Mapping[str, str]) -> dict[str, Any]:
    """The body of POST /jobs; empty fields are left out."""
    lines = texts.get("task", "").replace("\r\n", "\n").strip()
    asked: dict[str, Any] = {name: texts[name] for name in PLAIN if texts.get(name)}
    asked["task"] = lines
    asked["labels"] = [part.strip() for part in texts.get("labels", "").split(",") if part.strip()]
    asked["steps"] = [line.strip() for line in texts.get("steps", "").splitlines() if line.strip()]
    if checks := texts.get("checks", "").strip():
        asked["checks"] = {"files": {CHECKS_FILE: checks.replace("\r\n", "\n") + "\n"}}
    repo = {"url": texts.get("repo", "").strip(), "ref": texts.get("ref", "").strip()}
    if repo := {name: text for name, text in repo.items() if text}:
        asked["repo"] = repo
    if deliver := texts.get("deliver"):
        asked["deliver"] = {"pull_request": deliver == "pull_request"}
    if cases := texts.get("cases", "").strip():
        asked["checks"] = {**asked.get("checks", {}), "cases": _cases(cases)}
    return asked


def _cases(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong = {"field": "checks", "message": f"the program checks are not JSON: {error}"}
        raise Refused(problems.INVALID, wrong["message"], {"errors": [wrong]}) from None


def _refusal(visitor: Visitor, refused: Refused) -> Response:
    """Each error at its field; errors without a field of the form on top."""
    errors: dict[str, str] = {}
    for error in refused.more.get("errors", ()):
        fields: Mapping[str, Any] = error if isinstance(error, dict) else error.model_dump()
        name = str(fields["field"]).partition(".")[0]
        errors.setdefault(name, _sentence(fields))
    elsewhere = [f"{name}: {error}" for name, error in errors.items() if name not in _FIELDS]
    general = "; ".join(elsewhere) if errors else f"{refused.kind.title}: {refused.detail}"
    values = {"errors": errors, "general": general, "fields": _FIELDS}
    headers = {**refused.headers, "HX-Reswap": "none"}
    return page("new_wrong.html", visitor, status=422, headers=headers, **values)


def _sentence(fields: Mapping[str, Any]) -> str:
    name, _, rest = str(fields["field"]).partition(".")
    return (
        f"{rest}: {fields['message']}"
        if rest and name in {"files", "checks"}
        else str(fields["message"])
    )
