"""What a job has changed, as texts: the patch of a job on a repository, else file by file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.pages.format.difference import compared
from cli.client.files import MOST_BYTES, as_text
from cli.client.service import Job, Service
from cli.errors import Refused

MOST_FILES = 20
"""Files that are fetched and compared; the others are only named."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A changed file. `kind`: new, changed or deleted. `artifact`: its new version; None if it is
    deleted. `text`: the content of a new file, or the unified diff of a changed file; None if it is
    not shown, which `reason` explains if it is a text."""

    path: str
    kind: str
    artifact: Mapping[str, Any] | None = None
    text: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """`patch`: of a job on a repository, in git's format; of other jobs None, and `files`.
    `problem`: why the change cannot be read."""

    patch: str | None = None
    files: tuple[FileChange, ...] = ()
    problem: str = ""


def change_of(service: Service, job: Job) -> Change:
    """The change of the open review, else of the result, against the files that the job started
    from. What cannot be read is named: the rest of the job can be shown without it."""
    work = job["review"]["payload"] if job["review"] else job["result"]
    if not work or "artifacts" not in work:
        return Change()
    try:
        if work.get("patch"):
            return Change(service.patch(job["id"]).decode(errors="backslashreplace"))
        if job["spec"].get("repo"):
            return Change()
        return Change(files=tuple(_changed_files(service, job["id"], work["artifacts"])))
    except Refused as refused:
        return Change(problem=str(refused))


def _changed_files(
    service: Service, job_id: str, artifacts: Sequence[Mapping[str, Any]]
) -> Iterator[FileChange]:
    before = {file["path"]: file for file in service.files(job_id, at="start")}
    after = {file["path"] for file in service.files(job_id)}
    differing = [
        artifact
        for artifact in artifacts
        if artifact["digest"] != before.get(artifact["name"], {}).get("digest")
    ]
    for artifact in differing[:MOST_FILES]:
        yield _compared(service, job_id, before.get(artifact["name"]), artifact)
    for artifact in differing[MOST_FILES:]:
        kind = "changed" if artifact["name"] in before else "new"
        yield FileChange(artifact["name"], kind, artifact, reason="not shown here")
    for path in sorted(before.keys() - after):
        yield FileChange(path, "deleted")


def _compared(
    service: Service, job_id: str, before: Mapping[str, Any] | None, artifact: Mapping[str, Any]
) -> FileChange:
    path = artifact["name"]
    change = FileChange(path, "changed" if before else "new", artifact)
    if max(artifact["size"], before["size"] if before else 0) > MOST_BYTES:
        return replace(change, reason="too large to show here")
    try:
        new = as_text(service.artifact(job_id, path, digest=artifact["digest"]))
        if before is None or new is None:
            return replace(change, text=new)
        old = as_text(service.file(job_id, path, at="start"))
    except Refused as refused:
        return replace(change, reason=str(refused))
    text = None if old is None else compared(old, new)
    return replace(change, text=text, reason="" if text else "its lines cannot be compared")
