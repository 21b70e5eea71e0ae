"""Rows of a CSV file by a condition."""

from importlib.metadata import version

from rowquery.query import Query

__version__ = version("rowquery")
__all__ = ["Query"]
