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
from jobs.view.suggestion import Suggestion, apply_suggestions


async def store_edit(
    services: Services, record: JobRecord, request: ReviewRequest
) -> Mapping[str, str | None]:
    """Store the files that the edit changes. Returns the digest of each, by path; None: the file is
    removed.

    Raises RefusedRequest: 422; StoreUnavailable.
    """
    work = await manifest.load(services.blobs, record.workspace)
    files = {**request.files, **await _suggested_files(services.blobs, work, request)}
    check_edited_files(files, services.settings)
    blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, lambda _: None)
    stored: dict[str, str | None] = {}
    entries: dict[str, FileEntry] = {}
    for sent_path, text in files.items():
        path = normalize_path(sent_path)
        present = work.files.get(path)
        if text is None:
            stored[path] = None
            continue
        content = text.encode()
        entries[path] = FileEntry(await blobs.put(content), len(content))
        if present is None or present.digest != entries[path].digest:
            stored[path] = entries[path].digest
    removed = frozenset(path for path, digest in stored.items() if digest is None)
    errors = list(path_errors(work.with_files(entries, removed).files, "files"))
    if record.spec.repo is None:  # of a repository's commit, only the worker knows the files
        present_paths = work.files.keys() | work.links.keys()
        errors += [
            FieldError(field=f"files.{path[:100]}", message="there is no such file to remove")
            for path in removed - present_paths
        ]
    if files and not stored:
        errors.append(FieldError(field="files", message="the edit changes no file"))
    refuse(errors)
    return stored


async def _suggested_files(
    blobs: Blobs, work: Manifest, request: ReviewRequest
) -> dict[str, str | None]:
    """The files with the suggestions of the comments applied, by path."""
    by_path: dict[str, list[Suggestion]] = {}
    errors = []
    for number, comment in enumerate(request.comments):
        if (suggestion := comment.suggestion) is None:
            continue
        by_path.setdefault(comment.path, []).append(suggestion)
        if comment.side is Side.OLD:
            errors.append(_comment_error(number, "a suggestion is on a line after the change"))
    files: dict[str, str | None] = {}
    for path, suggestions in by_path.items():
        number = _first_comment_on(request.comments, path)
        entry = work.files.get(path)
        try:
            content = await blobs.get(entry.digest) if entry else None
            text = None if content is None else content.decode()
        except UnicodeDecodeError:
            text = None
        if path in request.files:
            errors.append(_comment_error(number, f"`files` has {path}, too: send one of them"))
        elif text is None:
            errors.append(_comment_error(number, f"the work has no text file {path}"))
        else:
            try:
                files[path] = apply_suggestions(text, suggestions)
            except NotShown as error:
                errors.append(_comment_error(number, f"{path}: {error}"))
    refuse(errors)
    return files


def _first_comment_on(comments: Sequence[SentComment], path: str) -> int:
    return next(number for number, comment in enumerate(comments) if comment.path == path)


def _comment_error(number: int, message: str) -> FieldError:
    return FieldError(field=f"comments.{number}", message=message[:MAX_MESSAGE_CHARACTERS])
