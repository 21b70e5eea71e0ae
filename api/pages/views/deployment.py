"""The pages about the deployment: statistics, and the state of workers, models and Redis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.pages.rendering import render_page
from api.pages.visitor import Overseer, Reader
from api.routes import stats as stats_api
from api.routes import system as system_api
from api.routes.stats import Table
from api.services import Services, ServicesDep
from api.submission.validation import is_allowed
from jobs.counting import DAYS_KEPT
from jobs.view import stats as stats_view

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Offer:
    """A model by its name; `price` as text, empty if it is unknown."""

    name: str
    price: str = ""
    default: bool = False


async def offered_models(services: Services) -> list[Offer]:
    """The models that a job may name here. Raises StoreUnavailable."""
    record, workers = await services.store.fleet.read(), await services.store.workers()
    default = record.rules.defaults.get("model", "") if record else ""
    return offered(workers, services.settings.models, default)


def offered(
    workers: Iterable[Mapping[str, Any]], allowed: tuple[str, ...], operators_default: str = ""
) -> list[Offer]:
    """The announced models that jobs may name, the default first. Pure."""
    offers: dict[str, Offer] = {}
    for worker in workers:
        announced = worker.get("models", {})
        # a chain is its names in order; the first is called first
        default = operators_default or (announced.get("default") or "").partition(",")[0].strip()
        listed = {str(name): price for name, price in _listed(announced)}
        if default:
            listed.setdefault(default, "")
        for name, price in listed.items():
            if is_allowed(name, allowed) or name == default:
                offers[name] = Offer(name, price, default=name == default)
    return sorted(offers.values(), key=lambda offer: (not offer.default, offer.name))


def _listed(announced: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name in announced.get("recordings", ()):
        yield f"recording:{name}", "free: a recording is played back"
    for model in announced.get("offered", ()):
        yield model["name"], _price(model)


def _price(model: Mapping[str, Any]) -> str:
    if model.get("missing"):
        return f"not usable: {model['missing']}"
    per_million = (model.get("input_usd"), model.get("output_usd"))
    if None in per_million:
        return ""
    return "${} in, ${} out per million tokens".format(*per_million)


SPANS = (7, 30, 90, 365)
Days = Annotated[int, Query(ge=1, le=DAYS_KEPT)]


@router.get("/stats")
async def stats_page(services: ServicesDep, visitor: Reader, days: Days = 30) -> Response:
    """The page."""
    tenant = visitor.credential.tenant
    counts = await stats_api.read(services, tenant, days)
    stats = await stats_api.totals(services, tenant, counts)
    costs = by_model(stats["cost"], list(counts))
    reasons = stats_view.TABLES["reasons"](counts)
    next_days = {day: str(date.fromisoformat(day) + timedelta(days=1)) for day in counts}
    return render_page(
        "stats.html",
        visitor,
        stats=stats,
        costs=costs,
        reasons=reasons,
        days=days,
        spans=SPANS,
        next_days=next_days,
    )


@router.get("/stats/{table}.csv")
async def table(table: Table, services: ServicesDep, visitor: Reader, days: Days = 30) -> Response:
    """A table as CSV."""
    return await stats_api.stats(services, visitor.credential, days, "csv", table)


PARTS = ("storage", "default_model")
"""The parts of a worker, except the sandbox, without which it takes no job."""
WORKS = {"works": True}


@router.get("/system")
async def system(services: ServicesDep, visitor: Overseer) -> Response:
    """The page; it polls every few seconds."""
    state = (await system_api.read(services, visitor.credential)).model_dump(warnings=False)
    lately = services.settings.worker_seen_seconds
    workers = [_worker(worker, lately) for worker in state["workers"] or ()]
    return render_page(
        "system.html",
        visitor,
        state=state,
        workers=workers,
        sandboxes=sandboxes(workers),
        offers=await offered_models(services),
        flower=services.settings.flower_url or "" if visitor.credential.operates else "",
    )


def sandboxes(workers: Iterable[Mapping[str, Any]]) -> list[tuple[list[str], list[Any]]]:
    """Each distinct list of sandbox layers, with the workers that have it."""
    groups: list[tuple[list[str], list[Any]]] = []
    for worker in workers:
        same = next((ids for ids, layers in groups if layers == worker["layers"]), None)
        if same is not None:
            same.append(worker["id"])
        elif worker["layers"]:
            groups.append(([worker["id"]], worker["layers"]))
    return groups


def _worker(state: dict[str, Any], lately: float) -> dict[str, Any]:
    """The values of a worker's announcement. An older release announces fewer."""
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


MAX_MODELS = 5
"""Models with their own column; the others share one."""
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Costs:
    """Dollars by day, a sum for each of `models`: the most expensive first, `OTHERS` last."""

    models: Sequence[str]
    days: Mapping[str, Sequence[Decimal]]


def by_model(spent: Sequence[Mapping[str, Any]], days: Sequence[str]) -> Costs:
    """The columns, from rows {day, model, cost_usd, calls}; a day without rows has zeros."""
    totals: dict[str, tuple[Decimal, int]] = defaultdict(lambda: (Decimal(0), 0))
    for row in spent:
        cost, calls = totals[row["model"]]
        totals[row["model"]] = (cost + Decimal(row["cost_usd"]), calls + row["calls"])
    ranked = sorted(totals, key=lambda model: (*(-total for total in totals[model]), model))
    models = ranked if len(ranked) <= MAX_MODELS + 1 else [*ranked[:MAX_MODELS], OTHERS]
    column = {model: min(rank, len(models) - 1) for rank, model in enumerate(ranked)}
    costs = {day: [Decimal(0)] * len(models) for day in days}
    for row in spent:
        costs[row["day"]][column[row["model"]]] += Decimal(row["cost_usd"])
    return Costs(models, costs)
