"""The rows that do not end as expected yet, by id; a release has none."""

NOT_YET: frozenset[str] = frozenset()
