"""Layers put together; docs/layers.md has the rules."""


def merged(layers):
    """One table; later layers win."""
    result = {}
    for layer in layers:
        _merge(result, layer)
    return result


def _merge(into, layer):
    for key, value in layer.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value
