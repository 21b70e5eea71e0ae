"""A query as a tree; each node holds for a row, or not."""

from dataclasses import dataclass

from rowquery.compare import compared


@dataclass(frozen=True)
class Comparison:
    column: str
    sign: str
    value: object

    def holds(self, row):
        return compared(row[self.column], self.sign, self.value)

    def columns(self):
        return {self.column}


@dataclass(frozen=True)
class Not:
    inner: object

    def holds(self, row):
        return not self.inner.holds(row)

    def columns(self):
        return self.inner.columns()


@dataclass(frozen=True)
class Both:
    left: object
    right: object

    def holds(self, row):
        return self.left.holds(row) and self.right.holds(row)

    def columns(self):
        return self.left.columns() | self.right.columns()


@dataclass(frozen=True)
class Either(Both):
    def holds(self, row):
        return self.left.holds(row) or self.right.holds(row)
