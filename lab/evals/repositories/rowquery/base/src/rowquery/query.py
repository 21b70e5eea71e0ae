from rowquery.errors import QueryError
from rowquery.parser import parse


class Query:
    def __init__(self, text):
        self._tree = parse(text)

    def rows(self, rows, columns):
        """The rows (dictionaries) that it holds for. Raises QueryError for an unknown column."""
        unknown = sorted(self._tree.columns() - set(columns))
        if unknown:
            raise QueryError(f"no such column: {', '.join(unknown)}")
        return (row for row in rows if self._tree.holds(row))
