"""Sum of squares less square of the sum: what is left of large numbers is noise."""


class Running:
    def __init__(self):
        self.count = 0
        self._sum = 0.0
        self._squares = 0.0

    def add(self, x):
        self.count += 1
        self._sum += x
        self._squares += x * x

    @property
    def mean(self):
        return self._sum / self.count if self.count else 0.0

    @property
    def variance(self):
        if self.count < 2:
            return 0.0
        return max(0.0, self._squares - self._sum**2 / self.count) / (self.count - 1)

    def merge(self, other):
        both = Running()
        both.count = self.count + other.count
        both._sum = self._sum + other._sum
        both._squares = self._squares + other._squares
        return both
