"""Sums of a journal."""

from collections import defaultdict
from datetime import date

from tally.accounts import parents, within
from tally.money import Money


def balance(journal, until=None):
    """Each account's sum, with those below it."""
    sums = defaultdict(Money)
    for _, posting in journal.postings(until=until):
        for name in parents(posting.account):
            sums[name] += posting.amount
    return dict(sorted(sums.items()))


def monthly(journal, account):
    """{(year, month): sum} of an account and those below it, in order."""
    sums = defaultdict(Money)
    for day, posting in journal.postings():
        if within(posting.account, account):
            sums[day.year, day.month] += posting.amount
    return dict(sums)


def month(year, number):
    """The first and the last day of a month."""
    following = date(year + number // 12, number % 12 + 1, 1)
    return date(year, number, 1), date.fromordinal(following.toordinal() - 1)
