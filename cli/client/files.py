"""The files of a job: as text, as a change, and written to a folder of this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from api.pages.format.code import diff_of
from cli.client.service import Job, Service
from cli.errors import CliError, RequestRefused
from jobs.blobs import atomic_write

MOST_BYTES = 64 * 1024
"""A longer file is named and not fetched, because nobody would read it on a terminal."""


def save(
    service: Service, job_id: str, folder: Path, names: Collection[str] | None = None
) -> list[Path]:
    """Write the workspace's files (those with `names`) below `folder`; returns their paths."""
    stored_paths = [file["path"] for file in service.files(job_id)]
    return [
        write(folder, path, service.file(job_id, path))
        for path in stored_paths
        if names is None or path in names
    ]


def write(folder: Path, name: str, data: bytes) -> Path:
    """Write one file below `folder`. Raises CliError if the name leads out of `folder`, because a
    model's code has chosen the name."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or not path.name:
        raise CliError("a file was not saved", f"its name {name!r} leads out of {folder}")
    target = folder.joinpath(*path.parts)
    if not target.resolve().is_relative_to(folder.resolve()):  # by a link that was there before
        raise CliError("a file was not saved", f"{target} leads out of {folder}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def save_recording(service: Service, job_id: str, path: Path) -> None:
    """Write the recording in one step. Only its owner can read the file.

    Raises RequestRefused if the job has no recording, CliError if the file cannot be written.
    """
    content = service.recording(job_id)
    try:
        atomic_write.write(path, content)
    except OSError as error:
        raise CliError("the recording was not saved", f"{path}: {error.strerror}") from None


TextOf: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""A function from an artifact ({name, digest, size}) to the text of this version. It returns None
if the content is not text, is too long, or cannot be read any more."""


def text_of(service: Service, job_id: str, most_bytes: int = MOST_BYTES) -> TextOf:
    """The function that fetches texts of a job's artifacts."""

    def fetched(artifact: Mapping[str, Any]) -> str | None:
        if not 0 < artifact["size"] <= most_bytes:
            return None
        try:
            content = service.artifact(job_id, artifact["name"], digest=artifact["digest"])
        except RequestRefused:
            return None
        return as_text(content)

    return fetched


def as_text(content: bytes) -> str | None:
    """The bytes as UTF-8 text; None if they are not text."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


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
class JobChange:
    """`patch`: of a job on a repository, in git's format; of other jobs None, and `files`.
    `problem`: why the change cannot be read. `facts`: why a reviewer should look at a file, by
    path."""

    patch: str | None = None
    files: tuple[FileChange, ...] = ()
    problem: str = ""
    facts: Mapping[str, Sequence[str]] = field(default_factory=dict)


def change_of(service: Service, job: Job) -> JobChange:
    """The change of the open review, else of the result, against the files that the job started
    from. Files that cannot be read are named, so that the rest of the job can be shown."""
    work = job["review"]["payload"] if job["review"] else job["result"]
    if not work or "artifacts" not in work:
        return JobChange()
    try:
        if work.get("patch"):
            patch = service.patch(job["id"]).decode(errors="backslashreplace")
            return JobChange(patch, facts=_facts(service, job["id"]))
        if job["spec"].get("repo"):
            return JobChange()
        files = tuple(_changed_files(service, job["id"], work["artifacts"]))
        return JobChange(files=files, facts=_facts(service, job["id"]))
    except RequestRefused as refused:
        return JobChange(problem=str(refused))


def _facts(service: Service, job_id: str) -> Mapping[str, Sequence[str]]:
    """The facts by path. A service of an older release has none."""
    try:
        changes = service.changes(job_id)
    except RequestRefused:
        return {}
    if not changes["complete"]:
        return {"the patch": ["it is too large to be checked"]}
    return {file["path"]: file["facts"] for file in changes["files"] if file["facts"]}


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
        yield _compare_file(service, job_id, before.get(artifact["name"]), artifact)
    for artifact in differing[MOST_FILES:]:
        kind = "changed" if artifact["name"] in before else "new"
        yield FileChange(artifact["name"], kind, artifact, reason="not shown here")
    for path in sorted(before.keys() - after):
        yield FileChange(path, "deleted")


def _compare_file(
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
    except RequestRefused as refused:
        return replace(change, reason=str(refused))
    text = None if old is None else diff_of(old, new)
    return replace(change, text=text, reason="" if text else "its lines cannot be compared")
