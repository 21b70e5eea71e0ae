"""Totals: what a job has done and spent, added up from its events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from cli.client.events import Event


@dataclass(frozen=True, slots=True)
class Totals:
    """`cost_usd` is that of the calls with a known cost; the others are `unpriced` (their price is
    unknown) or `unreported` (their usage is). `at` are the steps at work, of `steps`."""

    steps: int = 0
    at: frozenset[int] = frozenset()
    revision: int = 1
    calls: int = 0
    runs: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    unreported: int = 0

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
                tokens = data["input_tokens"] + data["output_tokens"]
                is_unknown = data["cost_usd"] is None
                return replace(
                    self,
                    calls=self.calls + 1,
                    tokens=self.tokens + tokens,
                    cost_usd=self.cost_usd + Decimal(data["cost_usd"] or 0),
                    unpriced=self.unpriced + (is_unknown and tokens > 0),
                    unreported=self.unreported + (is_unknown and tokens == 0),
                )
            case "critiqued" if data["verdict"] == "revise":
                return replace(self, revision=self.revision + 1)
            case "decided" if data["action"] in ("revise", "edit"):
                return replace(self, revision=self.revision + 1)
            case "begun_anew":
                return replace(self, steps=0, at=frozenset(), revision=1, runs=0)
            case _:
                return self

    def spend(self) -> dict[str, Any]:
        """The spend, as the API has it."""
        is_known = not (self.unpriced or self.unreported)
        return {
            "cost_usd": str(self.cost_usd) if is_known else None,
            "known_usd": str(self.cost_usd),
            "unpriced_calls": self.unpriced,
            "unreported_calls": self.unreported,
        }
