"""The system page: workers, queue, sandbox, models and Redis, as in `fettle doctor`."""

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
PARTS = ("storage", "default_model")
"""The parts of a worker, except the sandbox, without which it takes no job."""
WORKS = {"works": True}


@router.get("/system")
async def system(services: ServicesDep, visitor: Overseer) -> Response:
    """The page; it polls every few seconds."""
    state = (await asked_over_http.read(services, visitor.credential)).model_dump(warnings=False)
    lately = services.settings.worker_seen_seconds
    workers = [_worker(worker, lately) for worker in state["workers"] or ()]
    return page(
        "system.html",
        visitor,
        state=state,
        workers=workers,
        sandboxes=sandboxes(workers),
        offers=await offers.models(services),
        flower=services.settings.flower_url or "" if visitor.credential.operates else "",
    )


def sandboxes(workers: Iterable[Mapping[str, Any]]) -> list[tuple[list[str], list[Any]]]:
    """Each distinct list of sandbox layers, with the workers that have it."""
    found: list[tuple[list[str], list[Any]]] = []
    for worker in workers:
        same = next((ids for ids, layers in found if layers == worker["layers"]), None)
        if same is not None:
            same.append(worker["id"])
        elif worker["layers"]:
            found.append(([worker["id"]], worker["layers"]))
    return found


def _worker(state: dict[str, Any], lately: float) -> dict[str, Any]:
    """A worker's announcement; an older release announces less."""
    models, sandbox = state.get("models", {}), state.get("sandbox", {})
    return {
        "id": state["id"],
        "host": state.get("host", ""),
        "release": state["release"] or state["version"],
        "seen_at": state["seen_at"],
        "late": state["seen_seconds"] > lately,
        "busy": state.get("busy"),
        "slots": state.get("slots"),
        "keys": models.get("keys", []),
        "default": models.get("default"),
        "recordings": models.get("recordings", []),
        "backend": sandbox.get("backend", ""),
        "works": sandbox.get("works", False),
        "why": sandbox.get("why", ""),
        "layers": sandbox.get("layers", []),
        "faults": [state[part]["why"] for part in PARTS if not state.get(part, WORKS)["works"]],
        "ignored": state.get("fleet", {}).get("ignored", {}),
    }
