"""The models that running workers offer, and their prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.services import Services
from api.submission.job_requests import is_allowed


@dataclass(frozen=True, slots=True)
class Offer:
    """A model by its name; `price` as text, empty where it is unknown."""

    name: str
    price: str = ""
    default: bool = False


async def models(services: Services) -> list[Offer]:
    """The models that a job may name here. Raises StoreUnavailable."""
    return offered(await services.store.workers(), services.settings.models)


def offered(workers: Iterable[Mapping[str, Any]], allowed: tuple[str, ...]) -> list[Offer]:
    """The announced models that jobs may name, the default first. Pure."""
    found: dict[str, Offer] = {}
    for worker in workers:
        announced = worker.get("models", {})
        # a chain is its names in order; the first is called first
        default = (announced.get("default") or "").partition(",")[0].strip()
        listed = {str(name): price for name, price in _listed(announced)}
        if default:
            listed.setdefault(default, "")
        for name, price in listed.items():
            if is_allowed(name, allowed) or name == default:
                found[name] = Offer(name, price, default=name == default)
    return sorted(found.values(), key=lambda offer: (not offer.default, offer.name))


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
