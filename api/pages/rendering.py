"""Renders templates to responses, with the headers of every page."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api import quantities
from api.http import foreign_text
from api.pages import static
from api.pages.format import code, file_view, patch, untrusted, words
from api.pages.visitor import Visitor

FOLDER = Path(__file__).parent / "templates"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
POLICY_OF_FILES = POLICY.replace("img-src 'self'", "img-src 'self' data:")
"""For pages that have pictures in the page itself."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_FILTERS = (
    file_view.is_picture,
    foreign_text.visible,
    foreign_text.visible_path,
    foreign_text.signature,
    words.first_line,
    words.json_text,
    quantities.plural,
    quantities.duration,
    quantities.typed_duration,
    words.roughly,
    quantities.size,
    quantities.money,
    quantities.spent,
    words.moment,
    words.ending,
    words.failure,
    words.offset,
)


def render_page(
    template: str,
    visitor: Visitor | None,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    """A page, or a part of one, as a response."""
    html = render_template(template, visitor=visitor, **values)
    all_headers = {**HEADERS, **(headers or {})}
    return Response(html, status_code=status, headers=all_headers, media_type="text/html")


async def render_part(
    request: Request, template: str, visitor: Visitor, job_id: str, **values: Any
) -> Response:
    """A part of a job's page, for htmx; as a page of its own, for a browser without scripts."""
    name = template if "hx-request" in request.headers else "part_page.html"
    return await render_page_in_thread(name, visitor, part=template, job_id=job_id, **values)


def go_to(request: Request, path: str) -> Response:
    """The answer to a form: the browser goes to the page at this path. A page with scripts stays if
    it is that page: its stream shows the change."""
    if "hx-request" not in request.headers:
        return RedirectResponse(path, 303)
    is_there = urlsplit(request.headers.get("hx-current-url", "")).path == path
    return Response(status_code=204, headers={} if is_there else {"HX-Redirect": path})


async def render_page_in_thread(template: str, visitor: Visitor | None, **values: Any) -> Response:
    """A page that may render slowly: in a thread, so that no other request waits for it."""
    return await asyncio.to_thread(render_page, template, visitor, **values)


def render_template(template: str, **values: Any) -> str:
    """A template with its values, which are escaped."""
    return environment().get_template(template).render(**values)


@cache
def list_templates() -> frozenset[str]:
    """The names of all templates."""
    return frozenset(environment().list_templates())


@cache
def environment() -> Environment:
    """The templates; a missing value is an error, not an empty text."""
    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update({filter_.__name__: filter_ for filter_ in _FILTERS})
    templates.filters.update(
        coloured=code.highlight,
        printed=untrusted.printed,
        prose=untrusted.prose,
        inline=untrusted.inline,
        sentence=untrusted.sentence,
        unified=code.unified,
        remark=patch.remark,
        fact=patch.fact_text,
        path=quote,
    )
    templates.globals.update(asset=static.address, STATUS=words.STATUS, VERDICT=words.VERDICT)
    return templates
