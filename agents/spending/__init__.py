"""Spending: the budget's port, prices, the most a request can use, the rate limit's port."""
