"""The change of a job's work, as the files of a patch: for pages, the JSON API and the terminal.

A job on a repository has a patch by git. For other jobs, the change is compared here: the files of
the workspace with those that the job started from. So is the change since the last pause, for all
jobs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api import problems
from api.pages.format.code import compare_lines
from api.problems import RefusedRequest
from api.quantities import size
from api.services import Services
from api.submission.inputs import start_files
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, Manifest
from jobs.errors import BlobMissing
from jobs.model.events import Event, events_since_restart
from jobs.model.record import JobRecord, PatchRef
from jobs.view import patch as patches
from jobs.view.attention import FileAttention, attention_of
from jobs.view.file_patch import FILE, LINK, PROGRAM, FileVersion, format_file_patch
from jobs.view.patch import MAX_BYTES, MAX_LINES, PatchFile, Since, parse_patch, without_rows
from jobs.view.work import list_artifacts

MAX_COMPARED_BYTES = 256 * 1024
"""The size of the largest file that is compared here."""


Entry = FileEntry | str
"""A file, or the target of a link."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The change of a job's work."""

    since: Since
    files: Sequence[PatchFile] | None
    """None: the patch is too large to be read."""
    attention: Sequence[FileAttention]
    """The files that a reviewer should look at first."""
    patch: PatchRef | None
    """The stored patch, if it is this change."""
    code: PatchFile | None = None
    """The change of the last run's code since the last pause; at the first pause all of the code,
    if the run's event has only a part. None if it was not compared."""
    has_pause: bool = False
    """Whether the work paused before, so that `Since.PAUSE` is another change."""

    @property
    def insertions(self) -> int:
        """The added lines of the files."""
        return sum(file.insertions for file in self.files or ())

    @property
    def deletions(self) -> int:
        """The removed lines of the files."""
        return sum(file.deletions for file in self.files or ())


async def load_changes(
    services: Services, record: JobRecord, since: Since = Since.START, *, with_code: bool = False
) -> Changes:
    """The change of a job's work. `with_code`: compare the code of the last run, too, which may
    take seconds.

    Raises RefusedRequest, a 404, if a job on a repository has no patch; BlobMissing.
    """
    events = events_since_restart(await services.store.events(record.id))
    before = _events_before_last_pause(events, is_paused=record.review is not None)
    if since is Since.PAUSE and before is None:
        raise RefusedRequest(problems.NOT_FOUND, "the job has not paused before")
    patch = patches.current_patch(record)
    if record.spec.repo is not None and patch is None and since is Since.START:
        raise RefusedRequest(problems.NOT_FOUND, patches.explain_missing(record, "patch"))
    files: Sequence[PatchFile] | None
    if since is Since.PAUSE and before is not None:
        files = await _changed_since(services, record, before, patch)
    elif patch is not None:
        files = await _parsed(services.blobs, patch)
    else:
        work = await manifest.load(services.blobs, record.workspace)
        files = await _compare(services.blobs, await start_files(services, record), work)
    attention = await asyncio.to_thread(attention_of, files or (), record.spec)
    return Changes(
        since,
        files,
        attention,
        patch if since is Since.START else None,
        await _code_change(services.blobs, before or (), events) if with_code else None,
        has_pause=before is not None,
    )


def _events_before_last_pause(
    events: Sequence[Event], *, is_paused: bool
) -> Sequence[Event] | None:
    """The events before the last pause that is over; None if no pause is over. `is_paused`: the
    newest pause goes on."""
    pauses = [index for index, event in enumerate(events) if event.kind == "review_opened"]
    past = pauses[:-1] if is_paused else pauses
    return events[: past[-1]] if past else None


async def _parsed(blobs: Blobs, patch: PatchRef) -> Sequence[PatchFile] | None:
    if patch.size > MAX_BYTES:
        return None
    return await asyncio.to_thread(parse_patch, await blobs.get(patch.digest))


async def _changed_since(
    services: Services, record: JobRecord, before: Sequence[Event], patch: PatchRef | None
) -> Sequence[PatchFile]:
    """The files that changed after the events `before`, without links. The older version of a
    repository's file that changed for the first time is in its commit only: the patch has it."""
    work = await manifest.load(services.blobs, record.workspace)
    start = await start_files(services, record)
    old = dict(start.files)
    for path, artifact in list_artifacts(before).items():
        mode = work.files[path].executable if path in work.files else None
        old[path] = FileEntry(artifact["digest"], artifact["size"], mode)
    present = {
        path: entry for path, entry in work.files.items() if path in old or record.spec.repo is None
    }
    files = await _compare(services.blobs, Manifest(old), Manifest(present))
    in_patch = await _parsed(services.blobs, patch) if patch else ()
    return [*files, *(file for file in in_patch or () if file.path not in old)]


async def _compare(blobs: Blobs, old: Manifest, new: Manifest) -> list[PatchFile]:
    """The files and links that differ. Large files are not read, and of all versions together the
    first `MAX_BYTES`."""
    before: dict[str, Entry] = {**old.files, **old.links}
    after: dict[str, Entry] = {**new.files, **new.links}
    files: list[PatchFile] = []
    bytes_left, lines_left = MAX_BYTES, MAX_LINES
    for path in sorted(before.keys() | after.keys()):
        versions = [before.get(path), after.get(path)]
        if versions[0] == versions[1]:
            continue
        sizes = [entry.size for entry in versions if isinstance(entry, FileEntry)]
        if max(sizes, default=0) > MAX_COMPARED_BYTES:
            files.append(_unread(path, versions, f"it has {size(max(sizes))}"))
        elif sum(sizes) > bytes_left:
            files.append(_unread(path, versions, "the changed files have too many bytes"))
        else:
            file = await _compare_file(blobs, path, versions)
            bytes_left, lines_left = bytes_left - sum(sizes), lines_left - file.lines
            files.append(file if lines_left >= 0 else without_rows(file))
    return files


def _unread(path: str, versions: Sequence[Entry | None], reason: str) -> PatchFile:
    kinds = {(True, False): ("deleted",), (False, True): ("new",)}
    before, after = (version is not None for version in versions)
    return PatchFile(path, kinds.get((before, after), ()), 0, 0, 0, 0, (), reason)


async def _compare_file(blobs: Blobs, path: str, versions: Sequence[Entry | None]) -> PatchFile:
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
) -> PatchFile:
    (file,) = parse_patch(format_file_patch(path, before, after, compare_lines))
    return file


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
    return await asyncio.to_thread(_compare_versions, f"code of run {new['number']}.py", *versions)


def _last_program(events: Sequence[Event]) -> Mapping[str, Any] | None:
    runs = (event.data for event in reversed(events) if event.kind == "run_finished")
    return next((run for run in runs if run.get("tool", "python") == "python"), None)


async def load_text(blobs: Blobs, text: Mapping[str, Any]) -> str:
    """The complete text. An event may have only its head and tail, and its digest."""
    digest = text.get("digest")
    return (await blobs.get(digest)).decode(errors="replace") if digest else str(text["text"])
