"""Where layers come from."""

import tomllib
from pathlib import Path

from strata.errors import SettingsError
from strata.paths import put
from strata.values import read


def from_file(path, required=True):
    """A TOML file. Raises SettingsError."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise SettingsError(f"{path} is missing") from None
        return {}
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}") from None


def from_environment(environment, prefix):
    """Variables that begin with a prefix; docs/environment.md has the names."""
    layer = {}
    for name, text in sorted(environment.items()):
        if name.startswith(prefix) and name != prefix:
            put(layer, name[len(prefix) :].lower().replace("__", "."), read(text))
    return layer


def from_words(words):
    """`name=value` of a command line. Raises SettingsError."""
    layer = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not (name and sign):
            raise SettingsError(f"not a setting: {word!r}")
        put(layer, name, read(text))
    return layer
