"""Settings as lines, and where each comes from."""

from strata import paths
from strata.errors import Missing
from strata.values import show

SECRET = ("password", "token", "key")


def lines(settings):
    for name, value in sorted(settings.items()):
        yield f"{name} = {'***' if name.endswith(SECRET) else show(value)}"


def origin(layers, name):
    """The name of the last layer that has a setting; `layers` are (name, table). Raises Missing."""
    for title, table in reversed(layers):
        try:
            paths.get(table, name)
        except Missing:
            continue
        return title
    raise Missing(name)
