"""Errors of the evaluation."""

from __future__ import annotations

from cli.errors import CliError


class BadSet(CliError):
    """A set of exercises is missing or invalid."""


class BadResults(CliError):
    """A file of results is invalid, or belongs to another measurement."""
