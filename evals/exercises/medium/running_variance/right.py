class Running:
    """Welford's way, counted from the first number: so what is large does not blur the small."""

    def __init__(self):
        self.count = 0
        self._origin = 0.0
        self._shift = 0.0  # the mean, less the origin
        self._squares = 0.0

    @property
    def mean(self):
        return self._origin + self._shift

    @property
    def variance(self):
        return self._squares / (self.count - 1) if self.count > 1 else 0.0

    def add(self, x):
        if not self.count:
            self._origin = x
        self.count += 1
        x -= self._origin
        away = x - self._shift
        self._shift += away / self.count
        self._squares += away * (x - self._shift)

    def merge(self, other):
        both = Running()
        both.count = self.count + other.count
        first = self if self.count else other
        both._origin, both._shift = first._origin, first._shift
        if self.count and other.count:
            away = (other._origin - self._origin) + (other._shift - self._shift)
            both._shift += away * other.count / both.count
            between = away * away * self.count * other.count / both.count
            both._squares = self._squares + other._squares + between
        else:
            both._squares = first._squares
        return both
