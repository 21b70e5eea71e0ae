"""Models and bytes as responses, and HEAD requests.

Each route that answers GET answers HEAD, with the same status and headers. The application serves a
HEAD request as GET, and the server leaves the body out. A stream has no end, so its route answers
with the head alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from fastapi import Request, Response
from pydantic import BaseModel
from starlette.responses import StreamingResponse
from starlette.types import Message, Scope

INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})
"""Types that a browser may show from this origin. HTML and SVG can run scripts: they may not."""
_ONLY_HEAD = "fettle.only_head"
_CAGE = "sandbox; default-src 'none'"


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


def untrusted_headers(name: str, media_type: str, digest: str) -> dict[str, str]:
    """Headers for bytes from model-written code: typed, but never active content."""
    essence = media_type.partition(";")[0].strip().lower()
    safe = essence if _is_media_type(essence) else "application/octet-stream"
    shown = "inline" if safe in INLINE else "attachment"
    file_name = quote(name.rpartition("/")[2], safe="")
    return {
        "Content-Type": f"{safe}; charset=utf-8" if safe.startswith("text/") else safe,
        "Content-Disposition": f"{shown}; filename*=UTF-8''{file_name}",
        "Content-Security-Policy": _CAGE,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "ETag": f'"{digest}"',
        "Cache-Control": "private, no-cache",
    }


def unchanged(request: Request, digest: str) -> bool:
    """Whether the caller has these bytes already (If-None-Match)."""
    known = request.headers.get("if-none-match", "")
    tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
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
        scope["method"], scope[_ONLY_HEAD] = "GET", True


def restore_head(scope: Scope, message: Message) -> Message:
    """A message of the response, without a body if only the head is wanted."""
    if _ONLY_HEAD not in scope:
        return message
    scope["method"] = "HEAD"
    return {**message, "body": b""} if message["type"] == "http.response.body" else message


def without_stream(request: Request, response: StreamingResponse) -> Response:
    """The response itself; of a HEAD request its status and headers, and no stream is opened."""
    if _ONLY_HEAD not in request.scope:
        return response
    head = Response(status_code=response.status_code)
    head.raw_headers = response.raw_headers  # which state no length
    return head
