"""HEAD requests: each route that answers GET answers HEAD, with the same status and headers.

The application serves a HEAD request as GET, and the server leaves the body out. A stream has no
end, so its route answers with the head alone.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Scope

_ONLY_HEAD = "fettle.only_head"


def serve_as_get(scope: Scope) -> None:
    """Let the routes see GET. `restore` is called when the response starts."""
    if scope["method"] == "HEAD":
        scope["method"], scope[_ONLY_HEAD] = "GET", True


def restore(scope: Scope, message: Message) -> Message:
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
