"""Responses: models as JSON, receipts of changes, untrusted bytes, archives, tables as CSV.

Each route that answers GET answers HEAD, with the same status and headers. The application serves a
HEAD request as GET, and the server leaves the body out. A stream has no end, so its route answers
only with the head.
"""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import tarfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Request, Response
from pydantic import BaseModel
from starlette.responses import StreamingResponse
from starlette.types import Message, Scope

from api.http import links
from api.schemas import patterns
from api.schemas.job import JobReceipt
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import Manifest
from jobs.model.record import JobRecord
from jobs.service import Submission

INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})
"""Types that a browser may show from this origin. HTML and SVG can run scripts."""
_HEAD_ONLY = "fettle.head_only"
_UNTRUSTED_POLICY = "sandbox; default-src 'none'"
CSV = "text/csv; charset=utf-8"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=patterns.IDEMPOTENCY_KEY,
        description="makes a repeated request safe: the same key and body give the same job",
    ),
]


def as_json(
    model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A validated model as JSON."""
    return Response(
        model.model_dump_json(by_alias=True, warnings=False),
        status_code=status,
        headers=dict(headers or {}),
        media_type="application/json",
    )


def submission_receipt(submitted: Submission) -> Response:
    """202 with the new job, or with the job that the request's Idempotency-Key belongs to."""
    headers = {"Location": f"/jobs/{submitted.record.id}"}
    if not submitted.is_new:
        headers["Idempotency-Replayed"] = "true"
    return receipt(submitted.record, 202, headers)


def receipt(
    record: JobRecord, status: int = 202, headers: Mapping[str, str] | None = None
) -> Response:
    """The receipt of a change.

    A receipt has no more than a key without `read` may see, and needs no further answer of Redis:
    the change is durable even if Redis does not answer any more.

    See ADR 32.
    """
    return as_json(receipt_of(record), status, headers)


def receipt_of(record: JobRecord) -> JobReceipt:
    """The receipt as a model."""
    return JobReceipt(
        id=record.id,
        kind=record.spec.kind,
        status=record.status,
        version=record.version,
        links=links.job(record.id),
    )


def untrusted_headers(name: str, media_type: str, digest: str) -> dict[str, str]:
    """Headers for bytes from model-written code: typed, but never active content."""
    essence = media_type.partition(";")[0].strip().lower()
    safe_type = essence if _is_media_type(essence) else "application/octet-stream"
    disposition = "inline" if safe_type in INLINE else "attachment"
    file_name = quote(name.rpartition("/")[2], safe="")
    is_text = safe_type.startswith("text/")
    return {
        "Content-Type": f"{safe_type}; charset=utf-8" if is_text else safe_type,
        "Content-Disposition": f"{disposition}; filename*=UTF-8''{file_name}",
        "Content-Security-Policy": _UNTRUSTED_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "ETag": f'"{digest}"',
        "Cache-Control": "private, no-cache",
    }


def is_unchanged(request: Request, digest: str) -> bool:
    """Whether the caller has these bytes already (If-None-Match)."""
    sent = request.headers.get("if-none-match", "")
    tags = {tag.strip().removeprefix("W/") for tag in sent.split(",")}
    return "*" in tags or f'"{digest}"' in tags


def _is_media_type(essence: str) -> bool:
    kind, _, subtype = essence.partition("/")
    return all(
        part.isascii() and part.replace("-", "").replace(".", "").replace("+", "").isalnum()
        for part in (kind, subtype)
    )


def serve_head_as_get(scope: Scope) -> None:
    """Let the routes see GET. `restore_head` is called when the response starts."""
    if scope["method"] == "HEAD":
        scope["method"], scope[_HEAD_ONLY] = "GET", True


def restore_head(scope: Scope, message: Message) -> Message:
    """A message of the response; for a HEAD request, without the body."""
    if _HEAD_ONLY not in scope:
        return message
    scope["method"] = "HEAD"
    return {**message, "body": b""} if message["type"] == "http.response.body" else message


def without_stream(request: Request, response: StreamingResponse) -> Response:
    """The response; for a HEAD request, its status and headers without opening the stream."""
    if _HEAD_ONLY not in request.scope:
        return response
    head = Response(status_code=response.status_code)
    head.raw_headers = response.raw_headers  # a stream's headers state no length
    return head


async def archive(workspace: Manifest, blobs: Blobs) -> AsyncIterator[bytes]:
    """The chunks of a .tar.gz of a workspace's regular files, sorted, without times and owners.

    The same files give the same bytes. Raises BlobMissing.
    """
    chunks = _Chunks()
    # An mtime or a file name in the header would make two archives differ.
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=chunks, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, entry in sorted(workspace.files.items()):
            content = await blobs.get(entry.digest)
            await asyncio.to_thread(_add_member, tar, path, content)
            yield chunks.take()
    yield chunks.take()


def _add_member(tar: tarfile.TarFile, path: str, content: bytes) -> None:
    member = tarfile.TarInfo(path)
    member.size = len(content)
    member.mode = 0o644
    tar.addfile(member, io.BytesIO(content))


class _Chunks(io.RawIOBase):
    """A writable file. `take` returns the bytes written since its last call."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: object) -> int:
        self._buffer += memoryview(content)  # type: ignore[arg-type]
        return memoryview(content).nbytes  # type: ignore[arg-type]

    def take(self) -> bytes:
        chunk = bytes(self._buffer)
        self._buffer.clear()
        return chunk


def as_csv(
    name: str,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A header line and rows as CSV (RFC 4180), safe to open in a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    disposition = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(text.getvalue(), headers={**disposition, **(headers or {})}, media_type=CSV)


def _cell(value: Any) -> Any:
    """A cell's value. A text that a spreadsheet would read as a formula is marked as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value
