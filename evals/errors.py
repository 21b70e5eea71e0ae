"""What the harness cannot do, in words."""

from __future__ import annotations

from cli.errors import CliError


class BadSet(CliError):
    """A set of exercises that cannot be read, or is not there."""


class BadResults(CliError):
    """A file of results that is none, or does not fit what is asked."""
