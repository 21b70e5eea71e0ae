class QueryError(Exception):
    """A query or a file that cannot be read; `at` is a place in the query, from 0."""

    def __init__(self, why, at=None):
        super().__init__(why if at is None else f"{why} (at {at + 1})")
        self.at = at
