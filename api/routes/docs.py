"""The documentation page, from files that come with the installation: no outside network."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.openapi.docs import get_swagger_ui_html

from api import problems
from api.problems import Refused

router = APIRouter(include_in_schema=False)

_TYPES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon.png": "image/png",
}
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; frame-ancestors 'none'"
)


@router.get("/docs")
async def docs() -> Response:
    """Swagger UI over /openapi.json."""
    page = get_swagger_ui_html(
        openapi_url="openapi.json",
        title="Fettle",
        swagger_js_url="docs/swagger-ui-bundle.js",
        swagger_css_url="docs/swagger-ui.css",
        swagger_favicon_url="docs/favicon.png",
        swagger_ui_parameters={
            "persistAuthorization": True,
            "tryItOutEnabled": True,
            "validatorUrl": None,  # a validator on the internet, otherwise
            "defaultModelsExpandDepth": 0,
        },
    )
    page.headers["Content-Security-Policy"] = _POLICY
    return page


@router.get("/docs/{name}")
def asset(name: str) -> Response:
    """One of the page's files."""
    if name not in _TYPES:
        raise Refused(problems.NOT_FOUND, "there is no such page")
    content = (Path(str(files("fastapi_offline"))) / "static" / name).read_bytes()
    headers = {"Cache-Control": "public, max-age=86400"}
    return Response(content, headers=headers, media_type=_TYPES[name])
