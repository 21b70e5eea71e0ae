"""Kinds of changes, the weightiest first."""

KINDS = {"break": "Breaking changes", "feature": "Features", "fix": "Fixes", "docs": "Documentation"}


def weightiest(kinds):
    """Raises ValueError where there is none."""
    return min(kinds, key=list(KINDS).index)
