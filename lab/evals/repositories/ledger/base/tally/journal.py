"""Transactions, and a journal of them."""

from dataclasses import dataclass, field
from datetime import date

from tally.errors import Unbalanced
from tally.money import Money


@dataclass(frozen=True)
class Posting:
    account: str
    amount: Money


@dataclass(frozen=True)
class Transaction:
    day: date
    text: str
    postings: tuple

    def __post_init__(self):
        total = sum((each.amount for each in self.postings), Money())
        if total:
            raise Unbalanced(f"{self.day} {self.text}: {total} is left over")


@dataclass
class Journal:
    transactions: list = field(default_factory=list)

    def postings(self, since=None, until=None):
        """(day, posting) in order of days, from `since` to `until`, both included."""
        for each in sorted(self.transactions, key=lambda each: each.day):
            if (since is None or each.day >= since) and (until is None or each.day <= until):
                for posting in each.postings:
                    yield each.day, posting
