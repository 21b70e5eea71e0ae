"""Follow-ups: the values that a job inherits from the newest job of its conversation.

A conversation is about one repository, or about files without a repository. When the follow-up
begins, the worker chooses the job that it continues: `worker.repositories`.
"""

from __future__ import annotations

from dataclasses import asdict

from api import problems
from api.http.body import FormParts
from api.http.field_errors import refuse
from api.problems import RefusedRequest
from api.schemas.fields import DeliverRequest, KeptFile, RepoRequest
from api.schemas.job_request import JobRequest
from api.schemas.problem import FieldError
from api.services import Services
from api.submission.job_spec import INHERITED_FIELDS
from jobs.model.credentials import Credential
from jobs.model.record import JobRecord, is_job_id
from jobs.model.spec import JobKind, Repo, repository_name

NEW_CONVERSATION = "leave out `conversation_id` to begin a conversation"


async def add_inherited_values(
    services: Services, caller: Credential, request: JobRequest, parts: FormParts
) -> JobRequest:
    """The request, with the repository, the setup, the image and the delivery of the newest job of
    its conversation if the request does not set them. Raises RefusedRequest: 404 for an unknown
    conversation, 422 for a benchmark or another repository."""
    if request.conversation_id is None:
        return request
    newest = await find_newest_job(services, caller, request.conversation_id)
    if newest.spec.kind is JobKind.BENCHMARK:
        message = f"job {newest.id} is a benchmark, and leaves no work to continue: "
        _refuse("conversation_id", message + NEW_CONVERSATION)
    unset_names = INHERITED_FIELDS - request.model_fields_set
    inherited = {name: getattr(newest.spec, name) for name in unset_names}
    values = {name: value for name, value in inherited.items() if value is not None}
    if deliver := values.get("deliver"):
        values["deliver"] = DeliverRequest(**asdict(deliver))
    values["repo"] = _continued_repository(request, parts, newest)
    return request.model_copy(update=values)


async def find_newest_job(
    services: Services, caller: Credential, conversation_id: str
) -> JobRecord:
    """The job of the conversation that was submitted last. Raises RefusedRequest: 404."""
    store = services.store
    page = await store.page(caller.tenant, limit=1, offset=0, conversation=conversation_id)
    if page.records:
        return page.records[0]
    # earlier releases did not list the jobs of a conversation
    entries = await store.conversation(caller.tenant, conversation_id, 1)
    job_id = entries[0].job_id if entries else conversation_id
    loaded = await store.load(job_id) if is_job_id(job_id) else None
    record = loaded.record if loaded else None
    remedy = "name the `conversation_id` of an earlier job, or leave it out to begin one"
    if record is not None and record.tenant == caller.tenant:
        if record.conversation_id == conversation_id:
            return record
        remedy = f"it is a job of the conversation {record.conversation_id}"
    detail = f"there is no conversation {conversation_id}: {remedy}"
    raise RefusedRequest(problems.NOT_FOUND, detail)


def _continued_repository(
    request: JobRequest, parts: FormParts, newest: JobRecord
) -> RepoRequest | None:
    """The repository of the conversation, with the ref or the bundle of the request. A new bundle
    has refs of its own. Raises RefusedRequest: 422."""
    sent, repo = request.repo, newest.spec.repo
    has_bundle = parts.bundle is not None or (sent is not None and sent.bundle is not None)
    if repo is None:
        if sent is not None or has_bundle:
            message = f"the jobs of this conversation have no repository: {NEW_CONVERSATION} on it"
            _refuse("repo" if sent is not None else "bundle", message)
        return None
    if repo.url is None:
        if sent is not None and sent.url is not None:
            message = "the conversation is about an uploaded repository: send its new state as "
            message += f"a bundle, or {NEW_CONVERSATION} on this URL"
            _refuse("repo.url", message)
        return sent if has_bundle else _stored_repository(sent, repo, newest)
    if has_bundle:
        message = f"the conversation is about {repo.url}: leave out the bundle, or "
        _refuse("bundle" if parts.bundle is not None else "repo.bundle", message + NEW_CONVERSATION)
    if sent is not None and sent.url is not None and repository_name(sent.url) != repo.name:
        message = f"the conversation is about {repo.url}: leave `repo` out, or {NEW_CONVERSATION}"
        _refuse("repo.url", f"{message} on this repository")
    return _stored_repository(sent, repo, newest)


def _stored_repository(sent: RepoRequest | None, repo: Repo, newest: JobRecord) -> RepoRequest:
    """The repository of the newest job, with the URL and the ref of the request if it sets them.

    Otherwise, the branch that the newest job was delivered for replaces the job's ref: a ref that
    is a tag or a commit never moves.
    """
    delivery = newest.result.delivery if newest.result else None
    ref = repo.ref
    if ref and delivery is not None and delivery.base:
        ref = delivery.base
    if sent is not None and "ref" in sent.model_fields_set:
        ref = sent.ref
    bundle = KeptFile(digest=repo.bundle, job_id=newest.id) if repo.bundle is not None else None
    url = (sent.url if sent is not None else None) or repo.url
    return RepoRequest(url=url, ref=ref, bundle=bundle)


def _refuse(field: str, message: str) -> None:
    refuse([FieldError(field=field, message=message)])
