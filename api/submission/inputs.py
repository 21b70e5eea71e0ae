"""The inputs of a job as stored bytes: its files, its repository's bundle, its acceptance checks.

A request may name bytes that another job has, by digest. The digest alone gives no access to the
bytes: the other job must belong to the caller's tenant. Bytes are pinned, so that they remain until
the new job refers to them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from api.http.body import FormParts
from api.http.field_errors import refuse
from api.quantities import plural
from api.refusals import from_refusal
from api.schemas.checks import CaseRequest, ChecksRequest, VerificationRequest
from api.schemas.fields import KeptFile
from api.schemas.job_request import JobRequest
from api.schemas.problem import FieldError
from api.services import Services, find_job
from api.submission.validation import case_ids, inline_files, kept_files, path_errors, size_errors
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, Manifest, normalize_path
from jobs.model.credentials import Credential
from jobs.model.record import JobRecord
from jobs.model.spec import CASES_PATH, CheckSpec, JobSpec, Repo
from jobs.store import ENTRIES_KEPT
from jobs.store.blob_index import PinnedBlobs
from jobs.transitions.lifecycle import Refusal
from jobs.view.work import workspaces_of_revisions

_NO_START = (
    "the job has not begun, and chooses the commit and the change that it starts from when it "
    "begins: fork it later; if it has ended, retry it, or submit its task as a follow-up"
)


async def store_inputs(
    services: Services, caller: Credential, request: JobRequest, spec: JobSpec, parts: FormParts
) -> tuple[JobSpec, list[str]]:
    """Store the inputs of a job. Returns the spec with their digests, and all digests that the job
    refers to. Raises RefusedRequest: 404, 422."""
    texts = {path: text.encode() for path, text in inline_files(request).items()}
    files = {**texts, **parts.files}
    size = sum(map(len, files.values())) + len(parts.bundle or b"")
    kept_entries = await _find_kept_files(services, caller, kept_files(request))
    refuse(
        size_errors(size + sum(entry.size for entry in kept_entries.values()), services.settings)
    )
    digests = [entry.digest for entry in kept_entries.values()]
    if digests:  # retention keeps them: a job refers to them, or did so within the grace period
        await services.store.blobs.pin(digests)
    blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, digests.append)
    workspace = await _store_workspace(blobs, files, kept_entries)
    checks = await store_checks(blobs, request.checks) if request.checks else None
    repo = await _store_repository(services, caller, request, parts.bundle, blobs)
    if repo is not None and repo.bundle is not None and repo.bundle not in digests:
        digests.append(repo.bundle)
    return replace(spec, workspace=workspace, checks=checks, repo=repo), digests


async def store_verified_files(
    blobs: Blobs, request: VerificationRequest, job: JobRecord | None
) -> tuple[str | None, list[str]]:
    """Store the present files of `job`, overlaid with the request's files; of a job on a
    repository, the changes over its commit. Returns the digest of their manifest, and the digests
    of the files. Raises RefusedRequest, a 422, for files that cannot exist together.
    """
    base = await manifest.load(blobs, job.workspace if job else None)
    contents = {normalize_path(path): text.encode() for path, text in request.files.items()}
    entries = await manifest.store_files(blobs, contents)
    merged: Manifest = base.with_files(entries, frozenset())
    refuse(path_errors(merged.files, "files"))
    if merged == Manifest():
        return None, []
    digest = await blobs.put(merged.dump())
    return digest, [entry.digest for entry in merged.files.values()]


async def store_checks(blobs: Blobs, checks: ChecksRequest) -> CheckSpec:
    """Store acceptance checks for the worker."""
    files = {path: text.encode() for path, text in checks.files.items()}
    paths = tuple(sorted(map(normalize_path, files)))
    if checks.cases:
        cases = [_case_with_normal_paths(case) for case in checks.cases]
        files[CASES_PATH] = json.dumps(cases).encode()
    digest = await manifest.save(blobs, files)
    assert digest is not None  # noqa: S101 - the schema requires a file or a case
    return CheckSpec(digest, paths, checks.command, case_ids(checks))


async def start_files(services: Services, record: JobRecord) -> Manifest:
    """The files that a job started from: the submitted files, over the files that the earlier job
    of the conversation left. Files of a repository's commit are not among them."""
    if record.start is not None:
        return await manifest.load(services.blobs, record.start)
    submitted = await manifest.load(services.blobs, record.spec.workspace)
    earlier = await manifest.load(services.blobs, await _earlier_workspace(services, record))
    if earlier == Manifest():
        return submitted
    return earlier.with_files(submitted.files, frozenset(), links=submitted.links)


async def store_start_of_fork(
    services: Services, original: JobRecord, revision: int | None
) -> tuple[str | None, list[str]]:
    """Store the files that a fork starts from: those that `original` started from, or those that a
    revision of it left. A fork of a job on a repository starts from the same commit.

    Returns the digest of their manifest, and the digests that the fork refers to. Raises
    RefusedRequest: 409 if a follow-up on a repository has no start yet, 422 if the job has no such
    revision.
    """
    if revision is None and original.continues is not None:
        start = await manifest.load(services.blobs, original.continues.workspace)
    elif revision is None:
        start = await start_files(services, original)
        present = await manifest.load(services.blobs, original.workspace)
        if present.base is None and _chooses_its_start(original):
            raise from_refusal(Refusal("no_start", _NO_START, original.status))
        start = replace(start, base=present.base)
    else:
        start = await _files_of_revision(services, original, revision)
    digests = list({entry.digest for entry in start.files.values()})
    await services.store.blobs.pin(digests)
    blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, digests.append)
    return await blobs.put(start.dump()) if start != Manifest() else None, digests


def _chooses_its_start(record: JobRecord) -> bool:
    """Whether the job continues the change of its conversation that is the last when it begins."""
    spec = record.spec
    is_first = record.conversation_id == record.id
    return spec.repo is not None and spec.rebase is None and not is_first


async def _files_of_revision(services: Services, original: JobRecord, revision: int) -> Manifest:
    workspaces = workspaces_of_revisions(await services.store.events(original.id))
    if revision not in workspaces:
        message = f"the job has ended {plural(len(workspaces), 'revision')}"
        refuse([FieldError(field="revision", message=message, limit=len(workspaces))])
    return await manifest.load(services.blobs, workspaces[revision])


async def _find_kept_files(
    services: Services, caller: Credential, requested: Mapping[str, KeptFile]
) -> dict[str, FileEntry]:
    """The entries of files that other jobs have, by path."""
    entries: dict[str, FileEntry] = {}
    by_job: dict[str, dict[str, FileEntry]] = {}
    for path, file in requested.items():
        if file.job_id not in by_job:
            by_job[file.job_id] = await _entries_of_job(services, caller, file.job_id)
        entry = by_job[file.job_id].get(file.digest)
        if entry is None:
            message = f"job {file.job_id} has no file with this digest"
            refuse([FieldError(field=f"files.{path[:100]}.digest", message=message)])
        else:
            entries[normalize_path(path)] = entry
    return entries


async def _entries_of_job(
    services: Services, caller: Credential, job_id: str
) -> dict[str, FileEntry]:
    """The files that a job started with and those that it has now, by digest."""
    record = (await find_job(services, caller, job_id)).record
    workspaces = [
        await manifest.load(services.blobs, digest)
        for digest in (record.spec.workspace, record.workspace)
    ]
    entries = (entry for workspace in workspaces for entry in workspace.files.values())
    return {entry.digest: entry for entry in entries}


async def _store_workspace(
    blobs: Blobs, files: Mapping[str, bytes], kept_entries: Mapping[str, FileEntry]
) -> str | None:
    """Store the files, and return the digest of a manifest of these and the kept files."""
    digest = await manifest.save(blobs, files)
    if not kept_entries:
        return digest
    stored = await manifest.load(blobs, digest)
    return await blobs.put(stored.with_files(kept_entries, frozenset()).dump())


async def _store_repository(
    services: Services,
    caller: Credential,
    request: JobRequest,
    bundle: bytes | None,
    blobs: Blobs,
) -> Repo | None:
    """The repository of a job. A bundle of the request is stored."""
    repo = request.repo
    if bundle is not None:
        return Repo(None, repo.ref if repo else None, await blobs.put(bundle))
    if repo is None:
        return None
    if repo.bundle is None:
        return Repo(repo.url, repo.ref)
    await _pin_kept_bundle(services, caller, repo.bundle)
    return Repo(None, repo.ref, repo.bundle.digest)


async def _pin_kept_bundle(services: Services, caller: Credential, bundle: KeptFile) -> None:
    spec = (await find_job(services, caller, bundle.job_id)).record.spec
    if spec.repo is None or spec.repo.bundle != bundle.digest:
        message = f"job {bundle.job_id} did not start from a bundle with this digest"
        refuse([FieldError(field="repo.bundle.digest", message=message)])
    await services.store.blobs.pin([bundle.digest])


async def _earlier_workspace(services: Services, record: JobRecord) -> str | None:
    """The workspace that a job continues that has not started, or that Fettle 0.1 started: of the
    last job of its conversation that had succeeded by then. None without such a job. A job on a
    repository continues no other job."""
    if record.conversation_id == record.id or record.spec.repo is not None:
        return None
    store = services.store
    entries = await store.conversation(record.tenant, record.conversation_id, ENTRIES_KEPT)
    for entry in entries:  # the newest first
        earlier = await store.load(entry.job_id) if entry.job_id != record.id else None
        if earlier is None:
            continue
        if record.started_at is None or (earlier.record.finished_at or 0) <= record.started_at:
            return entry.workspace
    return None


def _case_with_normal_paths(case: CaseRequest) -> dict[str, Any]:
    """The case in the JSON form of the request, with normalized paths."""
    plain = case.model_dump(exclude_defaults=True)
    for name in ("files", "expect_files"):
        if name in plain:
            plain[name] = {normalize_path(path): text for path, text in plain[name].items()}
    return plain
