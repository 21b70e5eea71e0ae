"""Why a repository cannot be worked on. The texts go to the person who sent the job."""

from __future__ import annotations


class RepositoryRefused(Exception):
    """The repository, its ref or its address will not do. The text says what to change."""


class RepositoryUnavailable(RepositoryRefused):
    """The host, the network or this machine's disk fails: the same may work later."""
