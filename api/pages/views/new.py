"""The form for a new job: an error is shown at its field, success leads to the job's page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from api import problems
from api.http.body import PIECE_BYTES, bounded
from api.pages import form
from api.pages.rendering import page
from api.pages.views import offers
from api.pages.views.examples import EXAMPLES
from api.pages.views.form_choices import choices
from api.pages.visitor import Author, Submitter, Visitor
from api.problems import Refused
from api.routes.jobs import accept
from api.schemas import patterns
from api.schemas.job_request import JobRequest
from api.services import ServicesDep
from api.submission import job_requests

router = APIRouter()

OTHERS = ("labels", "steps", "files", "checks")
"""Fields with their own format in the form."""
LEFT_OUT = {
    "workspace": "it is made from the files",
    "conversation_id": "a hidden field of a follow-up",
    "retry_of": "a button on the page of a job that has ended",
    "kind": "verifications have no form: programs submit them",
}
"""Fields of a job that the form does not have, and why."""
CHECKS_FILE = "test_acceptance.py"
PLAIN = frozenset(JobRequest.model_fields) - frozenset(OTHERS)
"""Fields that the form sends as one text."""
_FIELDS = tuple(name for name in JobRequest.model_fields if name != "conversation_id")
MOST_PARTS = 1_100
"""Files and fields of a form; the limit of a job's files is a setting."""


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
    most = form.ENCODED * services.settings.max_body_bytes + services.settings.max_files_bytes
    raw = await bounded(request, most, services.settings.body_seconds)
    sent = await _parts(request, raw)
    try:
        asked = form.checked(JobRequest, await _asked(sent))
        job_requests.check(asked, len(raw), services.settings)
    except Refused as refused:
        return _refusal(visitor, refused)
    submitted = await accept(services, visitor.credential, asked, request.scope["request_id"])
    where = f"/app/jobs/{submitted.record.id}"
    return Response(status_code=204, headers={"HX-Redirect": where})


async def _parts(request: Request, raw: bytes) -> FormData:
    async def stream() -> Any:
        for start in range(0, len(raw), PIECE_BYTES):
            yield raw[start : start + PIECE_BYTES]
            await asyncio.sleep(0)  # other requests are served between two pieces

    parser = MultiPartParser(
        request.headers,
        stream(),
        max_files=MOST_PARTS,
        max_fields=MOST_PARTS,
        max_part_size=len(raw) + 1,
    )
    try:
        return await parser.parse()
    except (MultiPartException, KeyError):
        raise Refused(problems.BAD_REQUEST, "the form cannot be read") from None


async def _asked(sent: FormData) -> dict[str, Any]:
    """The body of POST /jobs; empty fields are left out."""
    texts = {name: str(value) for name, value in sent.items() if isinstance(value, str)}
    lines = texts.get("task", "").replace("\r\n", "\n").strip()
    asked: dict[str, Any] = {name: texts[name] for name in PLAIN if texts.get(name)}
    asked["task"] = lines
    asked["labels"] = [part.strip() for part in texts.get("labels", "").split(",") if part.strip()]
    asked["steps"] = [line.strip() for line in texts.get("steps", "").splitlines() if line.strip()]
    if checks := texts.get("checks", "").strip():
        asked["checks"] = {"files": {CHECKS_FILE: checks.replace("\r\n", "\n") + "\n"}}
    if cases := texts.get("cases", "").strip():
        asked["checks"] = {**asked.get("checks", {}), "cases": _cases(cases)}
    asked["files"] = await _files(sent)
    return asked


def _cases(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong = {"field": "checks", "message": f"the program checks are not JSON: {error}"}
        raise Refused(problems.INVALID, wrong["message"], {"errors": [wrong]}) from None


async def _files(sent: FormData) -> dict[str, str]:
    found: dict[str, str] = {}
    for upload in sent.getlist("files"):
        if not isinstance(upload, UploadFile) or not upload.filename:
            continue
        try:
            found[upload.filename] = (await upload.read()).decode()
        except UnicodeDecodeError:
            wrong = {"field": "files", "message": f"{upload.filename[:100]} is not a text file"}
            raise Refused(problems.INVALID, wrong["message"], {"errors": [wrong]}) from None
    return found


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
    return page("new_wrong.html", visitor, status=422, headers={"HX-Reswap": "none"}, **values)


def _sentence(fields: Mapping[str, Any]) -> str:
    name, _, rest = str(fields["field"]).partition(".")
    return (
        f"{rest}: {fields['message']}"
        if rest and name in {"files", "checks"}
        else str(fields["message"])
    )
