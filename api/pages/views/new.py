"""The form for a new job. Each error is shown at its field; success leads to the job's page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.listing import JobFilters, read_page
from api.pages.format import words
from api.pages.forms import split_labels
from api.pages.job_form import RefusedForm, submit_form
from api.pages.rendering import go_to, render_page
from api.pages.views.deployment import offered_models
from api.pages.visitor import Author, Visitor
from api.problems import RefusedRequest
from api.quantities import typed_duration
from api.schemas import patterns
from api.schemas.job_request import JobRequest
from api.schemas.steps import parse_step
from api.services import Services, ServicesDep
from api.submission import new_jobs
from api.submission.follow_ups import find_newest_job
from api.submission.job_spec import new_spec
from api.submission.validation import AUTO, PAUSE_FIELDS, REVIEW_FIELDS
from jobs.model.credentials import Scope
from jobs.model.record import JobRecord
from jobs.model.spec import JobSpec, OnExpiry, Pause, repository_name
from settings.api import ApiSettings

router = APIRouter()


_APPROVALS = {1: "one person's", 2: "two people's, without yours"}
_PAUSE = {
    Pause.BEFORE_CRITIC: "when the executor has ended",
    Pause.EVERY_RUN: "also after every run",
}
_ON_EXPIRY = {
    OnExpiry.STAY: "it stays open",
    OnExpiry.APPROVE: "it counts as approved, if a run succeeded",
    OnExpiry.REJECT: "it counts as rejected",
}
Choices = Mapping[str, str]
"""Texts by the value that the form sends; the first is the default."""

OTHERS = ("labels", "steps", "files", "checks", "repo", "deliver")
"""Fields with their own format in the form."""
LEFT_OUT = {
    "workspace": "it is made from the files",
    "steps_after": "a line of the plan has it",
    "conversation_id": "a hidden field of a follow-up",
    "retry_of": "a button on the page of a job that has ended",
    "rebase": "a button on the page of a job whose branch has moved",
    "fork_of": "a button on the page of a job",
    "review_rules": "the operator has them",
    "role_models": "the operator's defaults have them",
    "kind": "programs submit verifications",
    "benchmark": "the page of benchmarks has its own form",
}
"""Fields of a job that the form does not have, and the reasons."""
NO_DELIVERY = "none"
"""The choice of a follow-up that does not deliver as the job before did."""
CHECKS_FILE = "test_acceptance.py"
RECENT_JOBS = 25
"""The form offers the repositories of the newest jobs."""
PLAIN = frozenset(JobRequest.model_fields) - {*OTHERS, "benchmark"}
"""Fields that the form sends as one text."""
_FIELDS = tuple(name for name in JobRequest.model_fields if name != "conversation_id")


@router.get("/new")
async def new(
    services: ServicesDep,
    visitor: Author,
    follows: Annotated[str | None, Query(pattern=patterns.CONVERSATION)] = None,
    repo: Annotated[str, Query(max_length=2_000)] = "",
) -> Response:
    """The form. With a `repo`, it has the options of the last job on this repository."""
    preset = None
    if repo and visitor.may(Scope.READ):
        filters = JobFilters(repository=repository_name(repo))
        preset = next(
            iter((await read_page(services, visitor.credential, filters, 1, 0)).records), None
        )
    values = {**(_texts_of(preset.spec) if preset else {}), **({"repo": repo} if repo else {})}
    return await _render_form(services, visitor, values, follows, preset)


async def _render_form(
    services: Services,
    visitor: Visitor,
    values: Mapping[str, str],
    follows: str | None,
    preset: JobRecord | None = None,
    errors: Mapping[str, str] = MappingProxyType({}),
    general: str = "",
) -> Response:
    """The form with these texts. `preset`: the job with these options."""
    defaults = await new_jobs.read_defaults(services)
    spec = new_spec(JobRequest(task="x"), services.settings, defaults)
    models = await offered_models(services)
    if (model := values.get("model")) and model not in {AUTO, *(offer.name for offer in models)}:
        values = {**values, "other_model": model}
    return render_page(
        "new.html",
        visitor,
        status=422 if errors or general else 200,
        values=values,
        preset=preset,
        errors=errors,
        general=general,
        follows=await find_newest_job(services, visitor.credential, follows) if follows else None,
        recent=await _recent_repositories(services, visitor),
        models=models,
        default=spec,
        choices=choices(services.settings, spec),
        settings=services.settings,
    )


async def _recent_repositories(services: Services, visitor: Visitor) -> Mapping[str, str]:
    """The URLs of the repositories of the newest jobs, by their name."""
    if not visitor.may(Scope.READ):
        return {}
    tenant = visitor.credential.tenant
    urls = await services.store.newest_repositories(tenant, RECENT_JOBS)
    return {words.repository_name(url): url for url in urls}


@router.post("/new")
async def submit(request: Request, services: ServicesDep, visitor: Author) -> Response:
    """Submit the job; a 422 shows each error at its field."""
    try:
        submitted = await submit_form(request, services, visitor, _job_values)
    except RefusedForm as form:
        errors, general = _describe_errors(form.refused)
        if "hx-request" not in request.headers:
            follows = form.texts.get("conversation_id")
            return await _render_form(services, visitor, form.texts, follows, None, errors, general)
        values = {"errors": errors, "general": general, "fields": _FIELDS}
        headers = {**form.refused.headers, "HX-Reswap": "none"}
        return render_page("new_wrong.html", visitor, status=422, headers=headers, **values)
    return go_to(request, f"/app/jobs/{submitted.record.id}")


def _texts_of(spec: JobSpec) -> dict[str, str]:
    """The options of a job as the texts of the form; its task, its plan, its files and its checks
    are left out."""
    unreviewed = set[str]() if spec.review else {*REVIEW_FIELDS, *PAUSE_FIELDS}
    names = PLAIN - {"task", "conversation_id"} - unreviewed
    values = {name: getattr(spec, name) for name in names}
    repo, deliver = spec.repo, spec.deliver
    return {name: _text_of(name, value) for name, value in values.items() if value is not None} | {
        "labels": ", ".join(spec.labels),
        "ref": (repo.ref if repo else None) or "",
        "deliver": ("pull_request" if deliver.pull_request else "branch") if deliver else "",
    }


def _text_of(name: str, value: Any) -> str:
    if name.endswith("_seconds"):
        return typed_duration(value)
    if isinstance(value, tuple):  # a command
        return shlex.join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _job_values(texts: Mapping[str, str]) -> dict[str, Any]:
    """The body of POST /jobs; empty fields are left out."""
    task = texts.get("task", "").replace("\r\n", "\n").strip()
    values: dict[str, Any] = {name: texts[name] for name in PLAIN if texts.get(name)}
    values["task"] = task
    if other_model := texts.get("other_model", "").strip():
        values["model"] = other_model
    values["labels"] = split_labels(texts.get("labels", ""))
    lines = map(str.strip, texts.get("steps", "").splitlines())
    values["steps"] = [parse_step(line) for line in lines if line]
    if checks := texts.get("checks", "").strip():
        values["checks"] = {"files": {CHECKS_FILE: checks.replace("\r\n", "\n") + "\n"}}
    repo = {"url": texts.get("repo", "").strip(), "ref": texts.get("ref", "").strip()}
    if repo := {name: text for name, text in repo.items() if text}:
        values["repo"] = repo
    if deliver := texts.get("deliver"):
        pull_request = {"pull_request": deliver == "pull_request"}
        values["deliver"] = None if deliver == NO_DELIVERY else pull_request
    if cases := texts.get("cases", "").strip():
        values["checks"] = {**values.get("checks", {}), "cases": _cases(cases)}
    return values


def _cases(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong = {"field": "checks", "message": f"the program checks are not JSON: {error}"}
        raise RefusedRequest(problems.INVALID, wrong["message"], {"errors": [wrong]}) from None


def _describe_errors(refused: RefusedRequest) -> tuple[Mapping[str, str], str]:
    """The errors by their field, and those without a field of the form."""
    errors: dict[str, str] = {}
    for error in refused.more.get("errors", ()):
        fields: Mapping[str, Any] = error if isinstance(error, dict) else error.model_dump()
        name = str(fields["field"]).partition(".")[0]
        errors.setdefault(name, _sentence(fields))
    elsewhere = [f"{name}: {error}" for name, error in errors.items() if name not in _FIELDS]
    general = "; ".join(elsewhere) if errors else f"{refused.kind.title}: {refused.detail}"
    return errors, general


def _sentence(fields: Mapping[str, Any]) -> str:
    name, _, path = str(fields["field"]).partition(".")
    return (
        f"{path}: {fields['message']}"
        if path and name in {"files", "checks"}
        else str(fields["message"])
    )


def choices(settings: ApiSettings, default: JobSpec) -> Mapping[str, Choices]:
    """By field. The value of the `default` job is sent as an empty value."""
    pause, expiry = default.pause, default.on_expiry
    others = _APPROVALS.keys() - {default.approvals}
    return {
        "approvals": {"": _APPROVALS[default.approvals]}
        | {str(n): _APPROVALS[n] for n in others if n >= settings.review_approvals},
        "pause": {"": _PAUSE[pause], **{k: v for k, v in _PAUSE.items() if k != pause}},
        "on_expiry": {"": _ON_EXPIRY[expiry]}
        | {outcome: text for outcome, text in _ON_EXPIRY.items() if outcome != expiry},
    }
