"""TokenBudget: the tokens a job may spend in all, over every attempt."""

from __future__ import annotations

from agents.errors import BudgetExhausted
from worker.ledger import Ledger


class TokenBudget:
    """Implements the port Budget over what the ledger has charged."""

    def __init__(self, ledger: Ledger, most: int) -> None:
        self._ledger = ledger
        self._most = most

    async def check(self) -> None:
        """See agents.ports.Budget."""
        if self._ledger.tokens >= self._most:
            raise BudgetExhausted(
                f"the job has spent {self._ledger.tokens:,} of {self._most:,} tokens; "
                "an operator can raise FETTLE_MAX_JOB_TOKENS"
            )
