import csv
import io
from decimal import Decimal


def totals(text):
    sums = {}
    for line in csv.DictReader(io.StringIO(text, newline="")):
        category = line["category"].strip()
        if category:
            amount = Decimal(line["amount"].replace(",", "").strip())
            sums[category] = sums.get(category, Decimal(0)) + amount
    return sums
