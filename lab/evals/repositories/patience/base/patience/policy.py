"""How often, and how long to wait in between."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """Waits begin with `first` seconds and grow by `factor`, to `most`."""

    tries: int = 3
    first: float = 0.1
    factor: float = 2.0
    most: float = 10.0

    def __post_init__(self):
        if self.tries < 1 or self.first < 0 or self.factor < 1:
            raise ValueError("at least one try, no negative wait, a factor of 1 or more")

    def waits(self):
        """The seconds before each try but the first."""
        return [min(self.first * self.factor**number, self.most) for number in range(self.tries - 1)]
