"""create_app: the application with given settings. It connects to nothing before start-up."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import version

from fastapi import Depends, FastAPI

from api import openapi, refusals
from api.http.field_errors import check_query
from api.middleware import ApiCors, RequestMiddleware
from api.pages import router as pages
from api.routes import (
    audit,
    batches,
    compare,
    conversations,
    docs,
    downloads,
    events,
    files,
    fleet,
    jobs,
    keyless,
    keys,
    mcp,
    messages,
    models,
    review_rules,
    reviews,
    stats,
    system,
    tenants,
    verifications,
    webhooks,
)
from api.services import open_services
from api.startup import check_fitness
from settings.api import ApiSettings
from settings.starting.release import release

ROUTES = (
    jobs,
    batches,
    messages,
    conversations,
    compare,
    verifications,
    events,
    reviews,
    audit,
    files,
    downloads,
    stats,
    keys,
    mcp,
    tenants,
    webhooks,
    system,
    fleet,
    review_rules,
    models,
    keyless,
    docs,
    pages,
)
DEPENDENCIES = {
    keyless: [Depends(check_query)],  # a route with a key checks its query by `require_scope`
    downloads: [Depends(downloads.with_key)],
}


def create_app(settings: ApiSettings) -> FastAPI:
    """The application. Its start-up raises `api.startup.Unfit` where production must not run."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services(settings) as services:
            await check_fitness(services)
            app.state.services = services
            yield

    release()  # of the files that this process was started from
    app = FastAPI(
        title="Fettle",
        version=version("fettle"),
        description=openapi.ABOUT,
        openapi_tags=openapi.TAGS,
        openapi_url=None,  # see `api.routes.docs`
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # the redirect would use the caller's own Host header
        lifespan=lifespan,
    )
    for noun in ROUTES:
        app.include_router(noun.router, dependencies=DEPENDENCIES.get(noun, ()))
    refusals.install(app, [route for noun in ROUTES for route in noun.router.routes])
    openapi.install(app)
    app.add_middleware(RequestMiddleware)
    if settings.cors_origins:  # the last middleware sees each answer, also that of a failure
        app.add_middleware(
            ApiCors,
            allow_origins=settings.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=list(openapi.HEADERS),
        )
    return app
