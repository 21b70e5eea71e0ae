"""Doing things again."""

from patience.breaker import Breaker
from patience.policy import Policy
from patience.retrying import retry

__all__ = ["Breaker", "Policy", "retry"]
