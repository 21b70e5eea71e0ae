"""Reads a journal's text; docs/format.md has the format."""

import re
from datetime import date

from tally.errors import BadLine, TallyError
from tally.journal import Journal, Posting, Transaction
from tally.money import Money

_HEAD = re.compile(r"(\d{4})-(\d{2})-(\d{2})\s+(.+)")


def parse(text):
    """The journal in `text`. Raises TallyError."""
    journal, head, postings = Journal(), None, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = line.partition(";")[0].rstrip()
        if line[:1].isspace():
            if head is None:
                raise BadLine(number, "a posting without a transaction")
            postings.append(_posting(number, line.strip()))
            continue
        if head is not None:
            journal.transactions.append(_transaction(head, postings))
            head, postings = None, []
        if line:
            head = _head(number, line)
    return journal


def _head(number, line):
    found = _HEAD.fullmatch(line)
    if found is None:
        raise BadLine(number, "a transaction begins with a date and a text")
    year, month, day, text = found.groups()
    try:
        return date(int(year), int(month), int(day)), text.strip()
    except ValueError as error:
        raise BadLine(number, str(error)) from None


def _posting(number, line):
    account, _, amount = line.partition("  ")
    try:
        return account.strip(), Money.read(amount) if amount.strip() else None
    except TallyError as error:
        raise BadLine(number, str(error)) from None


def _transaction(head, postings):
    """A posting without an amount gets what is missing."""
    known = sum((amount for _, amount in postings if amount is not None), Money())
    whole = [Posting(name, -known if amount is None else amount) for name, amount in postings]
    return Transaction(*head, tuple(whole))
