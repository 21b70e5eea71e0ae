"""Splits at line breaks and commas, whether or not they are quoted."""

from decimal import Decimal


def totals(text):
    head, *lines = text.strip().splitlines()
    names = head.split(",")
    sums = {}
    for line in lines:
        fields = dict(zip(names, (f.strip().strip('"') for f in line.split(",")), strict=False))
        category = fields.get("category", "")
        if category:
            sums[category] = sums.get(category, Decimal(0)) + Decimal(fields["amount"])
    return sums
