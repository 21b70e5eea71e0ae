"""The cost of each model by day, as columns of a table. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

MOST = 5
"""Models with their own column; the others share one."""
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Costs:
    """Dollars by day, a sum for each of `models`: the most expensive first, `OTHERS` last."""

    models: Sequence[str]
    days: Mapping[str, Sequence[Decimal]]


def by_model(spent: Sequence[Mapping[str, Any]], days: Sequence[str]) -> Costs:
    """The columns, from rows {day, model, cost_usd, calls}; a day without rows has zeros."""
    total: dict[str, tuple[Decimal, int]] = defaultdict(lambda: (Decimal(0), 0))
    for row in spent:
        cost, calls = total[row["model"]]
        total[row["model"]] = (cost + Decimal(row["cost_usd"]), calls + row["calls"])
    ranked = sorted(total, key=lambda model: (*(-part for part in total[model]), model))
    models = ranked if len(ranked) <= MOST + 1 else [*ranked[:MOST], OTHERS]
    column = {model: min(place, len(models) - 1) for place, model in enumerate(ranked)}
    made = {day: [Decimal(0)] * len(models) for day in days}
    for row in spent:
        made[row["day"]][column[row["model"]]] += Decimal(row["cost_usd"])
    return Costs(models, made)
