"""Scripts, styles and pictures of the pages, from the package itself.

A file's address contains its digest, so that browsers may cache it for ever and see a new release
at once. A bundle is the concatenation of its parts: there is no build step.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

from api import problems
from api.problems import RefusedRequest

FOLDER = Path(__file__).parent / "static"
BUNDLES = {
    "fettle.css": (
        "css/tokens.css",
        "css/page.css",
        "css/parts.css",
        "css/jobs.css",
        "css/job.css",
        "css/review.css",
        "css/new.css",
        "css/stats.css",
        "css/code.css",
    ),
    "fettle.js": (
        "js/ages.js",
        "js/live.js",
        "js/kept.js",
        "js/reading.js",
        "js/keys.js",
        "js/sections.js",
        "js/inbox.js",
        "js/snooze.js",
        "js/palette.js",
        "js/parts.js",
        "js/lost.js",
        "js/comments.js",
        "js/patch.js",
        "js/draft.js",
        "js/new.js",
    ),
    "htmx.js": ("vendor/htmx.min.js", "vendor/htmx-ext-sse.min.js"),
    "chart.js": ("vendor/uPlot.iife.min.js", "js/charts.js"),
    "editor.js": ("vendor/codemirror.min.js", "js/editor.js"),
    "chart.css": ("vendor/uPlot.min.css",),
    "icon.svg": ("icon.svg",),
}
DOCUMENTATION = {
    "swagger.js": ("vendor/swagger-ui-bundle.js",),
    "swagger.css": ("vendor/swagger-ui.css",),
}
"""Loaded only by /docs."""
_PARTS = BUNDLES | DOCUMENTATION
router = APIRouter()


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as sent."""

    content: bytes
    zipped: bytes
    media_type: str
    digest: str


@cache
def asset(name: str) -> Asset:
    """The asset of this name. Raises KeyError."""
    content = b"\n".join((FOLDER / part).read_bytes() for part in _PARTS[name])
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Asset(content, gzip.compress(content, 9, mtime=0), media_type, digest)


def address(name: str) -> str:
    """The path of an asset."""
    return f"/app/static/{asset(name).digest}/{name}"


@router.get("/static/{digest}/{name}")
async def static(digest: str, name: str, request: Request) -> Response:
    """One asset; an old digest gets the present content, uncached."""
    if name not in _PARTS:
        raise RefusedRequest(problems.NOT_FOUND, "this file does not exist")
    present = asset(name)
    current = digest == present.digest
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable" if current else "no-cache",
        "Vary": "Accept-Encoding",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(present.zipped, headers=headers, media_type=present.media_type)
    return Response(present.content, headers=headers, media_type=present.media_type)
