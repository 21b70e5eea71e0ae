"""Totals: what a job has done and spent, added up from its events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from cli.client.events import Event


@dataclass(frozen=True, slots=True)
class Totals:
    """`cost` is None once a price was not known. `at` are the steps at work, of `steps`."""

    steps: int = 0
    at: frozenset[int] = frozenset()
    revision: int = 1
    calls: int = 0
    runs: int = 0
    tokens: int = 0
    cost: Decimal | None = Decimal(0)

    def after(self, event: Event) -> Totals:
        """The totals with one more event."""
        data = event.data
        match event.kind:
            case "planned":
                return replace(self, steps=len(data["steps"]), at=frozenset())
            case "step_started":
                return replace(self, at=self.at | {data["step"]})
            case "step_finished":
                return replace(self, at=self.at - {data["step"]})
            case "run_finished":
                return replace(self, runs=self.runs + 1)
            case "model_called":
                known = self.cost is not None and data["cost_usd"] is not None
                cost = (self.cost or 0) + Decimal(data["cost_usd"]) if known else None
                tokens = self.tokens + data["input_tokens"] + data["output_tokens"]
                return replace(self, calls=self.calls + 1, tokens=tokens, cost=cost)
            case "critiqued" if data["verdict"] == "revise":
                return replace(self, revision=self.revision + 1)
            case "decided" if data["action"] in ("revise", "edit"):
                return replace(self, revision=self.revision + 1)
            case "begun_anew":
                return Totals(calls=self.calls, tokens=self.tokens, cost=self.cost)
            case _:
                return self
