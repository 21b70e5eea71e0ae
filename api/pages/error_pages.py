"""A refusal as a page, as a notice on the present page, or as a redirect to the sign-in form."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from api import problems
from api.pages.rendering import render_page
from api.problems import RefusedRequest


def is_page_request(request: Request) -> bool:
    """Whether the request is for a page, not for the API."""
    return request.url.path == "/app" or request.url.path.startswith("/app/")


def answer(request: Request, refused: RefusedRequest) -> Response:
    """The response in place of the page."""
    partial = "hx-request" in request.headers
    if refused.kind is problems.UNAUTHORIZED:
        return _sign_in(request, partial=partial)
    values = {"refused": refused, "request_id": request.scope.get("request_id", "")}
    headers = dict(refused.headers)
    if partial:
        headers |= {"HX-Reswap": "none"}  # lost.js shows the notice
        return render_page(
            "notice.html", None, status=refused.kind.status, headers=headers, **values
        )
    return render_page("error.html", None, status=refused.kind.status, headers=headers, **values)


def _sign_in(request: Request, *, partial: bool) -> Response:
    if partial:
        return Response(status_code=401, headers={"HX-Refresh": "true"})
    if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
        return Response("sign in first", status_code=401, media_type="text/plain")
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/app/sign-in?next={quote(path, safe='')}", 303)
