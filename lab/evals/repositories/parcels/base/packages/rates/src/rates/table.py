"""The table of prices."""

from decimal import Decimal

HOME = "DE"
_ROWS = [
    (Decimal("1"), Decimal("4.20"), Decimal("8.90")),
    (Decimal("2"), Decimal("5.10"), Decimal("11.30")),
    (Decimal("5"), Decimal("6.80"), Decimal("17.50")),
    (Decimal("10"), Decimal("9.40"), Decimal("29.00")),
]


class TooHeavy(ValueError):
    """A parcel that is not taken."""


def price(kg, country):
    """The price of a parcel of this weight (Decimal, kg) to a country."""
    for limit, home, abroad in _ROWS:
        if kg < limit:
            return home if country == HOME else abroad
    raise TooHeavy(f"{kg} kg is more than 10 kg")
