"""System: workers, queue, sandbox, models and Redis, as `fettle doctor` tells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter, Response

from api.pages.rendering import page
from api.pages.views import offers
from api.pages.visitor import Overseer
from api.routes import system as asked_over_http
from api.services import ServicesDep

router = APIRouter()


@router.get("/system")
async def system(house: ServicesDep, visitor: Overseer) -> Response:
    """The page; it looks again every few seconds."""
    told = (await asked_over_http.read(house, visitor.credential)).model_dump()
    lately = house.settings.worker_seen_seconds
    workers = [_worker(worker, lately) for worker in told["workers"] or ()]
    return page(
        "system.html",
        visitor,
        told=told,
        workers=workers,
        sandboxes=sandboxes(workers),
        offers=await offers.models(house),
        flower=house.settings.flower_url if visitor.credential.operates else "",
    )


def sandboxes(workers: Iterable[Mapping[str, Any]]) -> list[tuple[list[str], list[Any]]]:
    """The layers of each sandbox that differs from the others, with the workers that have it."""
    found: list[tuple[list[str], list[Any]]] = []
    for worker in workers:
        same = next((ids for ids, layers in found if layers == worker["layers"]), None)
        if same is not None:
            same.append(worker["id"])
        elif worker["layers"]:
            found.append(([worker["id"]], worker["layers"]))
    return found


def _worker(told: dict[str, Any], lately: float) -> dict[str, Any]:
    """A worker, as far as its release says so much of itself."""
    models, sandbox = told.get("models", {}), told.get("sandbox", {})
    return {
        "id": told["id"],
        "host": told.get("host", ""),
        "version": told.get("version", ""),
        "seen_at": told["seen_at"],
        "late": told["seen_seconds"] > lately,
        "busy": told.get("busy"),
        "slots": told.get("slots"),
        "keys": models.get("keys", []),
        "default": models.get("default"),
        "recordings": models.get("recordings", []),
        "backend": sandbox.get("backend", ""),
        "works": sandbox.get("works", False),
        "why": sandbox.get("why", ""),
        "layers": sandbox.get("layers", []),
    }
