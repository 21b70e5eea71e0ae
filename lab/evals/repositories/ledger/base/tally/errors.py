class TallyError(Exception):
    """The root."""


class BadLine(TallyError):
    """A line of a journal that cannot be read."""

    def __init__(self, number, why):
        super().__init__(f"line {number}: {why}")
        self.number = number


class Unbalanced(TallyError):
    """The postings of a transaction do not add up to zero."""
