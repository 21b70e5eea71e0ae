"""The costs of models per day, as columns."""

from __future__ import annotations

from decimal import Decimal

from api.pages.views.deployment import MAX_MODELS, OTHERS, by_model


def spent(day, model, cost, calls=1):
    return {"day": day, "model": model, "cost_usd": cost, "calls": calls}


def test_a_column_for_each_model_the_most_expensive_first_and_a_row_for_each_day():
    costs = by_model(
        [
            spent("d1", "a", "0.1"),
            spent("d2", "a", "0.2"),
            spent("d2", "b", "9"),
            spent("d2", "c", "0"),
        ],
        ["d1", "d2", "d3"],
    )
    assert costs.models == ["b", "a", "c"]
    assert costs.days == {
        "d1": [0, Decimal("0.1"), 0],
        "d2": [9, Decimal("0.2"), 0],
        "d3": [0, 0, 0],
    }


def test_the_cheapest_of_many_models_are_added_up_without_loss():
    rows = [spent("d", f"m{n}", str(n + 1)) for n in range(MAX_MODELS + 3)]
    costs = by_model(rows, ["d"])
    assert costs.models == [f"m{n}" for n in range(MAX_MODELS + 2, 2, -1)] + [OTHERS]
    assert costs.days["d"][-1] == 1 + 2 + 3
    assert sum(costs.days["d"]) == sum(range(1, MAX_MODELS + 4))
