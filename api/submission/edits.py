"""The files of a person's edit: checked, with the suggestions of comments, and stored.

See ADR 93.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api.http.field_errors import MAX_MESSAGE_CHARACTERS, refuse
from api.schemas.problem import FieldError
from api.schemas.review import ReviewRequest, SentComment
from api.services import Services
from api.submission.validation import check_edited_files, path_errors
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, Manifest, normalize_path
from jobs.errors import NotShown
from jobs.model.record import JobRecord
from jobs.model.review import Side
from jobs.store.blob_index import PinnedBlobs
from jobs.view.suggestion import apply_suggestions


async def store_edit(
    services: Services, record: JobRecord, request: ReviewRequest
) -> Mapping[str, str | None]:
    """Store the files that the edit changes. Returns the digest of each, by path; None: the file is
    removed. Raises RefusedRequest: 422; StoreUnavailable."""
    work = await manifest.load(services.blobs, record.workspace)
    files = {**request.files, **await _suggested_files(services.blobs, work, request)}
    check_edited_files(files, services.settings)
    blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, lambda _: None)
    texts = {normalize_path(path): text for path, text in files.items()}
    removed = {path for path, text in texts.items() if text is None}
    contents = {path: text.encode() for path, text in texts.items() if text is not None}
    entries = {
        path: entry
        for path, entry in (await manifest.store_files(blobs, contents)).items()
        if path not in work.files or work.files[path].digest != entry.digest
    }
    errors = list(path_errors(work.with_files(entries, frozenset(removed)).files, "files"))
    missing = removed - work.files.keys() - work.links.keys()
    if missing and record.spec.repo is None:  # only the worker knows the files of a commit
        errors.append(FieldError(field=f"files.{min(missing)[:100]}", message="has no such file"))
    if files and not entries and not removed:
        errors.append(FieldError(field="files", message="the edit changes no file"))
    refuse(errors)
    return {**{path: entry.digest for path, entry in entries.items()}, **dict.fromkeys(removed)}


async def _suggested_files(blobs: Blobs, work: Manifest, request: ReviewRequest) -> dict[str, str]:
    """The files with the suggestions of the comments applied, by path."""
    by_path: dict[str, list[SentComment]] = {}
    for comment in request.comments:
        if comment.suggestions:
            by_path.setdefault(comment.path, []).append(comment)
    message = "a suggestion changes this file, too: send one of them"
    refuse(
        FieldError(field=f"files.{path}", message=message)
        for path in sorted(by_path.keys() & request.files.keys())
    )
    files = {}
    for path, comments in by_path.items():
        try:
            files[path] = await _apply(blobs, work.files.get(path), comments)
        except NotShown as error:
            message = f"{path}: {error}"[:MAX_MESSAGE_CHARACTERS]
            refuse([FieldError(field="comments", message=message)])
    return files


async def _apply(blobs: Blobs, entry: FileEntry | None, comments: Sequence[SentComment]) -> str:
    """The text of the file after the suggestions. Raises NotShown."""
    if any(comment.side is Side.OLD for comment in comments):
        raise NotShown("a suggestion is on a line after the change")
    try:
        text = (await blobs.get(entry.digest)).decode() if entry else None
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise NotShown("the work has no text file of this name")
    return apply_suggestions(text, (each for comment in comments for each in comment.suggestions))
