"""Plain-text bookkeeping."""

from tally.journal import Journal, Posting, Transaction
from tally.money import Money
from tally.parser import parse

__all__ = ["Journal", "Money", "Posting", "Transaction", "parse"]
