"""Names of settings: keys with dots."""

from strata.errors import Missing


def parts(name):
    return name.split(".")


def get(table, name):
    """Raises Missing."""
    for part in parts(name):
        if not isinstance(table, dict) or part not in table:
            raise Missing(name)
        table = table[part]
    return table


def put(table, name, value):
    """Sets a value, and makes the tables above it."""
    *above, last = parts(name)
    for part in above:
        if not isinstance(table.get(part), dict):
            table[part] = {}
        table = table[part]
    table[last] = value


def flat(table, above=""):
    """(name, value) of all that is no table."""
    for key, value in table.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            yield from flat(value, f"{name}.")
        else:
            yield name, value
