"""The change of a job's work between two moments, as the files of a patch: for pages, the JSON API
and the terminal.

A job on a repository has a patch by git. For other jobs, the change is compared here: the files of
the workspace with those that the job started from. So is the change since an earlier review, for
all jobs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Query

from api import problems
from api.pages.format.code import compare_lines
from api.problems import RefusedRequest
from api.quantities import plural, size
from api.services import Services
from api.submission.inputs import start_files
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, Manifest
from jobs.errors import BlobMissing
from jobs.model.events import Event, events_since_restart
from jobs.model.record import JobRecord, PatchRef
from jobs.view import patch as patches
from jobs.view.binary_patch import MAX_VERSION_BYTES, read_version_before
from jobs.view.file_patch import FILE, LINK, PROGRAM, FileVersion, format_file_patch
from jobs.view.patch import MAX_BYTES, MAX_FILES, MAX_LINES, PatchFile, parse_patch, without_rows

START, NOW, PAUSE = "start", "now", "pause"
REVIEW_NUMBER = "[1-9][0-9]{0,5}"
"""A moment: the job's review of work with this number, from 1, since its last restart."""
Since = Annotated[
    str,
    Query(
        pattern=f"^({START}|{PAUSE}|{REVIEW_NUMBER})$",
        description="`start`: the commit, or the files that the job started from; a number: the "
        "work at the job's review with this number, from 1; `pause`: the work at the last review "
        "before the present one, or at the last review if the job goes on or has ended; a 404 if "
        "there is no such review",
    ),
]
Until = Annotated[
    str,
    Query(
        pattern=f"^({NOW}|{REVIEW_NUMBER})$",
        description="`now`: the open review, else the result, else the present files; a number: as "
        "in `since`",
    ),
]
MAX_COMPARED_BYTES = 256 * 1024
"""The size of the largest file that is compared here."""
_ADDED = re.compile("new|renamed|copied")
"""The notes of a changed file that is not in the commit by this name."""


Entry = FileEntry | str
"""A file, or the target of a link."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The change of a job's work."""

    since: str
    """`start`, or the number of a review."""
    until: str
    """`now`, or the number of a review."""
    files: Sequence[PatchFile] | None
    """None: the patch is too large to be read."""
    patch: PatchRef | None
    """The stored patch, if it is this change."""
    text: bytes | None = None
    """The change in git's format, if it was compared here for a job without a repository."""
    code: PatchFile | None = None
    """The change of the last run's code since the last pause; at the first pause all of the code,
    if the run's event has only a part. None if it was not compared."""
    reviews: int = 0
    """The number of the job's reviews of work that are over, each of which is a moment."""

    @property
    def insertions(self) -> int:
        """The added lines of the files."""
        return sum(file.insertions for file in self.files or ())

    @property
    def deletions(self) -> int:
        """The removed lines of the files."""
        return sum(file.deletions for file in self.files or ())

    @property
    def takes_comments(self) -> bool:
        """Whether a review takes comments on these lines."""
        return (self.since, self.until) == (START, NOW) and self.files is not None


@dataclass(frozen=True, slots=True)
class _Work:
    """The work at a moment."""

    workspace: Manifest
    patch: PatchRef | None
    events: Sequence[Event]
    """The events up to the moment."""


async def load_changes(
    services: Services,
    record: JobRecord,
    since: str = START,
    until: str = NOW,
    *,
    with_code: bool = False,
) -> Changes:
    """The change of a job's work. `with_code`: compare the code of the last run, too, which may
    take seconds.

    Raises RefusedRequest, a 404, if a job on a repository has no patch, or has no such review;
    BlobMissing.
    """
    events = events_since_restart(await services.store.events(record.id))
    reviews = _reviews(events)
    open_id = record.review.id if record.review else None
    past = len([index for index in reviews if events[index].data["review_id"] != open_id])
    if since == PAUSE and past == 0:
        raise RefusedRequest(problems.NOT_FOUND, "the job has not paused before")
    since = str(past) if since == PAUSE else since
    old = await _work_at(services, record, events, since)
    new = await _work_at(services, record, events, until)
    text = None
    files: Sequence[PatchFile] | None
    if record.spec.repo is None:
        compared = await _compare(services.blobs, old.workspace, new.workspace)
        files = None if compared is None else [file for file, _ in compared]
        text = None if compared is None else b"".join(patch for _, patch in compared)
    elif since != START:
        files = await _changed_in_repository(services.blobs, old, new)
    elif new.patch is None and until == NOW:
        raise RefusedRequest(problems.NOT_FOUND, patches.explain_missing(record, "patch"))
    else:
        files = await _parsed(services.blobs, new.patch) if new.patch else ()
    code = None
    if with_code:
        before = old.events if since != START else events[: reviews[past - 1]] if past else ()
        code = await _code_change(services.blobs, before, new.events)
    patch = new.patch if since == START else None
    return Changes(since, until, files, patch, text, code, past)


async def load_workspace(services: Services, record: JobRecord, at: str) -> Manifest:
    """The workspace of a job at a moment, or the files of its `checks`. Raises RefusedRequest, a
    404, if the job has no such review; BlobMissing."""
    if at == "checks":
        checks = record.spec.checks.manifest if record.spec.checks else None
        return await manifest.load(services.blobs, checks)
    is_number = at not in (START, NOW)
    events = events_since_restart(await services.store.events(record.id)) if is_number else ()
    return (await _work_at(services, record, events, at)).workspace


async def load_version(
    services: Services, record: JobRecord, path: str, at: str, patch_at: str
) -> bytes | None:
    """The bytes of a file at a moment; None if they are not stored.

    The version of a binary file in the commit of a repository is not in a workspace. It follows
    from the patch at the moment `patch_at`, if that patch changes the file. Raises RefusedRequest,
    a 404, if the job has no such review; BlobMissing.
    """
    events = events_since_restart(await services.store.events(record.id))
    work = await _work_at(services, record, events, at)
    is_commit = at == START and record.spec.repo is not None
    if (entry := work.workspace.files.get(path)) and not is_commit:
        return await services.blobs.get(entry.digest)
    changed = await _work_at(services, record, events, patch_at)
    after = changed.workspace.files.get(path)
    if (
        path in work.workspace.removed
        or changed.patch is None
        or changed.patch.size > MAX_BYTES
        or (after and after.size > MAX_VERSION_BYTES)
    ):
        return None
    patch = await services.blobs.get(changed.patch.digest)
    content = await services.blobs.get(after.digest) if after else b""
    try:
        return await asyncio.to_thread(read_version_before, patch, path, content)
    except ValueError:
        return None


def _reviews(events: Sequence[Event]) -> list[int]:
    """The indexes of the events that opened a review of work. Releases up to 0.1 did not record
    the workspace."""
    return [
        index
        for index, event in enumerate(events)
        if event.kind == "review_opened" and "workspace" in event.data
    ]


async def _work_at(
    services: Services, record: JobRecord, events: Sequence[Event], at: str
) -> _Work:
    """The work at `start`, `now`, or the review with a number. Raises RefusedRequest: 404."""
    if at == START:
        return _Work(await start_files(services, record), None, ())
    if at == NOW:
        workspace = await manifest.load(services.blobs, record.workspace)
        return _Work(workspace, patches.current_patch(record), events)
    reviews = _reviews(events)
    if not 1 <= int(at) <= len(reviews):
        detail = f"the job has no review {at} of its work: it had {plural(len(reviews), 'review')}"
        raise RefusedRequest(problems.NOT_FOUND, detail)
    index = reviews[int(at) - 1]
    opened = events[index].data
    workspace = await manifest.load(services.blobs, opened["workspace"])
    return _Work(workspace, patches.read_patch_ref(opened["patch"]), events[:index])


async def _parsed(blobs: Blobs, patch: PatchRef) -> Sequence[PatchFile] | None:
    if patch.size > MAX_BYTES or patch.files > MAX_FILES:
        return None
    return await asyncio.to_thread(parse_patch, await blobs.get(patch.digest))


async def _changed_in_repository(
    blobs: Blobs, old: _Work, new: _Work, unread: str = "it is again as in the commit"
) -> Sequence[PatchFile] | None:
    """The files that differ. The version of a file that is not changed is in the commit only: if it
    is the older version, the newer patch has its lines; else the file is `unread`."""
    old_files, new_files = [
        await _parsed(blobs, work.patch) if work.patch else () for work in (old, new)
    ]
    if old_files is None or new_files is None:
        return None
    before, after = _recorded_paths(old.workspace), _recorded_paths(new.workspace)
    unchanged = {
        file.path: replace(file, notes=(), insertions=0, deletions=0, rows=(), unread=unread)
        for file in old_files
        if file.path not in after and not _ADDED.match(" ".join(file.notes))
    }
    paths = before - unchanged.keys()
    compared = await _compare(blobs, _select(old.workspace, paths), _select(new.workspace, paths))
    if compared is None:
        return None
    files = [*(file for file, _ in compared), *unchanged.values()]
    return sorted(
        [*files, *(file for file in new_files if file.path not in before)],
        key=lambda file: file.path,
    )


async def compare_jobs(
    services: Services, first: JobRecord, other: JobRecord
) -> tuple[Sequence[PatchFile], str]:
    """The files that differ between the present files of two jobs, and the reason if they cannot be
    compared. Raises BlobMissing.

    On a repository, a file of the commit that only the first job changes has no lines: its version
    in the commit is not known here.
    """
    old, new = [await _work_at(services, job, (), NOW) for job in (first, other)]
    if old.workspace.base != new.workspace.base:
        return (), "the jobs work on different commits"
    files: Sequence[PatchFile] | None
    if old.workspace.base is None:
        compared = await _compare(services.blobs, old.workspace, new.workspace)
        files = None if compared is None else [file for file, _ in compared]
    else:
        unread = "only the first job changes it"
        files = await _changed_in_repository(services.blobs, old, new, unread)
    return ((), "too many files or lines differ") if files is None else (files, "")


def _select(workspace: Manifest, paths: Collection[str]) -> Manifest:
    """The files and links with these paths."""
    files = {path: entry for path, entry in workspace.files.items() if path in paths}
    links = {path: target for path, target in workspace.links.items() if path in paths}
    return Manifest(files, links=links)


def _recorded_paths(workspace: Manifest) -> set[str]:
    """The paths that a job has changed on its commit."""
    return {*workspace.files, *workspace.links, *workspace.removed}


FilePatch = tuple[PatchFile, bytes]
"""A changed file, and its patch in git's format."""


async def _compare(blobs: Blobs, old: Manifest, new: Manifest) -> list[FilePatch] | None:
    """The files and links that differ; None if there are more than `MAX_FILES`. Large files are not
    read, and of all versions together the first `MAX_BYTES`."""
    before: dict[str, Entry] = {**old.files, **old.links}
    after: dict[str, Entry] = {**new.files, **new.links}
    differing = [p for p in sorted({*before, *after}) if before.get(p) != after.get(p)]
    if len(differing) > MAX_FILES:
        return None
    compared: list[FilePatch] = []
    bytes_left, lines_left = MAX_BYTES, MAX_LINES
    for path in differing:
        versions = [before.get(path), after.get(path)]
        sizes = [entry.size for entry in versions if isinstance(entry, FileEntry)]
        if max(sizes, default=0) > MAX_COMPARED_BYTES:
            compared.append(_unread(path, versions, f"it has {size(max(sizes))}"))
        elif sum(sizes) > bytes_left:
            compared.append(_unread(path, versions, "the changed files have too many bytes"))
        else:
            file, patch = await _compare_file(blobs, path, versions)
            bytes_left, lines_left = bytes_left - sum(sizes), lines_left - file.lines
            compared.append((file if lines_left >= 0 else without_rows(file), patch))
    return compared


def _unread(path: str, versions: Sequence[Entry | None], reason: str) -> FilePatch:
    """A file that is not compared. Its patch only says that it differs, as that of a binary file,
    so `git apply` refuses it."""
    before, after = (
        None if entry is None else FileVersion(f"\0{number}".encode())
        for number, entry in enumerate(versions)
    )
    file, patch = _compare_versions(path, before, after)
    notes = tuple(note for note in file.notes if note != "binary")
    return replace(file, notes=notes, unread=reason), patch


async def _compare_file(blobs: Blobs, path: str, versions: Sequence[Entry | None]) -> FilePatch:
    try:
        before, after = [await _load_version(blobs, entry) for entry in versions]
    except BlobMissing:
        return _unread(path, versions, "its bytes are missing from the artifact store")
    return await asyncio.to_thread(_compare_versions, path, before, after)


async def _load_version(blobs: Blobs, entry: Entry | None) -> FileVersion | None:
    if entry is None:
        return None
    if isinstance(entry, str):
        return FileVersion(entry.encode(), LINK)
    content = await blobs.get(entry.digest)
    is_program = content.startswith(b"#!") if entry.executable is None else entry.executable
    return FileVersion(content, PROGRAM if is_program else FILE)


def _compare_versions(
    path: str, before: FileVersion | None, after: FileVersion | None
) -> FilePatch:
    patch = format_file_patch(path, before, after, compare_lines)
    (file,) = parse_patch(patch)
    return file, patch


async def _code_change(
    blobs: Blobs, before: Sequence[Event], events: Sequence[Event]
) -> PatchFile | None:
    """The change of the last program that ran; None if the run's event shows all of its code."""
    old, new = _last_program(before), _last_program(events)
    if new is None or (old is None and not new["code"].get("digest")):
        return None
    codes = [await load_text(blobs, run["code"]) if run else None for run in (old, new)]
    if codes[0] == codes[1]:
        return None
    versions = [FileVersion(code.encode()) if code is not None else None for code in codes]
    path = f"code of run {new['number']}.py"
    return (await asyncio.to_thread(_compare_versions, path, *versions))[0]


def _last_program(events: Sequence[Event]) -> Mapping[str, Any] | None:
    runs = (event.data for event in reversed(events) if event.kind == "run_finished")
    return next((run for run in runs if run.get("tool", "python") == "python"), None)


async def load_text(blobs: Blobs, text: Mapping[str, Any]) -> str:
    """The complete text. An event may have only its head and tail, and its digest."""
    digest = text.get("digest")
    return (await blobs.get(digest)).decode(errors="replace") if digest else str(text["text"])
