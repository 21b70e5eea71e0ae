from strata import paths
from strata.errors import Unfit
from strata.merging import merged


class Strata:
    def __init__(self, *layers):
        self._layers = layers

    def _table(self):
        return merged(self._layers)

    def __getitem__(self, name):
        return paths.get(self._table(), name)

    def get(self, name, kind):
        """A setting of a kind. Raises Missing or Unfit."""
        value = self[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Unfit(f"{name} is {value!r}, and not {kind.__name__}")
        return value

    def over(self, *layers):
        """These settings with more layers over them."""
        return Strata(*self._layers, *layers)

    def __iter__(self):
        return (name for name, _ in paths.flat(self._table()))

    def items(self):
        return list(paths.flat(self._table()))
