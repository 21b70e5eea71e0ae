"""Amounts of money in whole cents."""

import re
from dataclasses import dataclass
from functools import total_ordering

from tally.errors import TallyError

_AMOUNT = re.compile(r"(-?)([0-9][0-9,]*)(?:\.([0-9]{1,2}))?")


@total_ordering
@dataclass(frozen=True)
class Money:
    """An amount; negative ones are money that leaves an account."""

    cents: int = 0

    @classmethod
    def read(cls, text):
        """`1,234.50` or `-3`. Raises TallyError."""
        found = _AMOUNT.fullmatch(text.strip())
        if found is None:
            raise TallyError(f"not an amount: {text!r}")
        sign, whole, part = found.groups()
        cents = int(whole.replace(",", "")) * 100 + int((part or "0").ljust(2, "0"))
        return cls(-cents if sign else cents)

    def __add__(self, other):
        return Money(self.cents + other.cents)

    def __sub__(self, other):
        return Money(self.cents - other.cents)

    def __neg__(self):
        return Money(-self.cents)

    def __lt__(self, other):
        return self.cents < other.cents

    def __bool__(self):
        return self.cents != 0

    def __str__(self):
        whole, part = divmod(abs(self.cents), 100)
        return f"{'-' if self.cents < 0 else ''}{whole:,}.{part:02}"

    def split(self, parts):
        """The amount in `parts` shares that differ by a cent at most."""
        if parts < 1:
            raise TallyError("an amount has at least one part")
        return [Money(self.cents // parts) for _ in range(parts)]
