class PatienceError(Exception):
    """The root."""


class GaveUp(PatienceError):
    """All tries have failed; the last failure is its cause."""

    def __init__(self, tries):
        super().__init__(f"gave up after {tries} tries")
        self.tries = tries


class Open(PatienceError):
    """The breaker is open: nothing was called."""
