"""The repository of a new job as its spec has it: a bundle is a blob."""

from __future__ import annotations

from api.schemas.fields import KeptFile
from api.schemas.job_request import JobRequest
from api.schemas.problem import FieldError
from api.services import Services, find_job
from api.submission.job_requests import refuse
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.model.credentials import Credential
from jobs.model.spec import Repo


async def resolve(
    services: Services,
    caller: Credential,
    asked: JobRequest,
    bundle: bytes | None,
    blobs: Blobs,
) -> Repo | None:
    """The repository for the spec. A bundle is put into `blobs`; one of another job stays until the
    new job refers to it. Raises Refused: 404, 422."""
    repo = asked.repo
    if bundle is not None:
        return Repo(None, repo.ref if repo else None, await blobs.put(bundle))
    if repo is None:
        return None
    if repo.bundle is None:
        return Repo(repo.url, repo.ref)
    await _check_kept(services, caller, repo.bundle)
    return Repo(None, repo.ref, repo.bundle.digest)


def kept(asked: JobRequest) -> list[str]:
    """The digest of the bundle that another job has, if the request names one."""
    return [asked.repo.bundle.digest] if asked.repo and asked.repo.bundle else []


async def check_follow_up(services: Services, caller: Credential, name: str | None) -> None:
    """Raise Refused, a 422, where the conversation is about a repository: its next job would have
    what the last one changed, and nothing else."""
    if name is None:
        return
    entries = await services.store.conversation(caller.tenant, name, 1)
    if entries:
        last = await manifest.load(services.blobs, entries[0].workspace)
        about_repository = last.base is not None
    else:
        about_repository = (await find_job(services, caller, name)).record.spec.repo is not None
    if about_repository:
        message = "its jobs are on a repository: submit a job with `repo` instead"
        refuse([FieldError(field="conversation_id", message=message)])


async def _check_kept(services: Services, caller: Credential, kept: KeptFile) -> None:
    """Knowing a digest gives nobody its bytes: a job of the tenant must have started from them."""
    spec = (await find_job(services, caller, kept.job_id)).record.spec
    if spec.repo is None or spec.repo.bundle != kept.digest:
        message = f"job {kept.job_id} did not start from a bundle with this digest"
        refuse([FieldError(field="repo.bundle.digest", message=message)])
    await services.store.blobs.pin([kept.digest])
