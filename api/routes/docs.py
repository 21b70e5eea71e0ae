"""The description of the API, and a page that shows it from files of the installation: it needs no
network."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import JSONResponse

from api.pages.static import address

router = APIRouter(include_in_schema=False)

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; frame-ancestors 'none'"
)


@router.get("/openapi.json")
def openapi(request: Request) -> Response:
    """The description. A thread makes it, because this takes two seconds of processor."""
    return JSONResponse(request.app.openapi())


@router.get("/docs")
async def docs() -> Response:
    """Swagger UI over /openapi.json."""
    page = get_swagger_ui_html(
        openapi_url="openapi.json",
        title="Fettle",
        swagger_js_url=_relative("swagger.js"),
        swagger_css_url=_relative("swagger.css"),
        swagger_favicon_url=_relative("icon.svg"),
        swagger_ui_parameters={
            "persistAuthorization": True,
            "tryItOutEnabled": True,
            "validatorUrl": None,  # the default is a validator on the internet
            "defaultModelsExpandDepth": 0,
        },
    )
    page.headers["Content-Security-Policy"] = _POLICY
    return page


def _relative(name: str) -> str:
    return address(name).removeprefix("/")
