"""Delivery: an approved change as a branch of the repository that it was fetched from, and as a
pull request of its forge, exactly once over crashes.

`deliver` has the order, `hosts` where it may go, `forges` the two APIs and `rest` their requests.

Why: docs/decisions/0057-delivery-by-looking-first.md
"""
