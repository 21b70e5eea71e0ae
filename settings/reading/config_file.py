"""The files of settings. Fettle never looks for them in the working directory: that directory may
be a stranger's repository, and its file could send an API key or jobs to a stranger's server.

See ADR 63.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from pathlib import Path
from typing import Any

VARIABLE = "FETTLE_CONFIG"
LOCAL_NAME = "fettle.toml"


class ConfigFileError(Exception):
    """A file of settings cannot be read; the message names it, and the remedy."""


def named_file() -> Path | None:
    """The file that FETTLE_CONFIG or `--config` names; None if neither does."""
    name = os.environ.get(VARIABLE)
    return Path(name) if name else None


def name_file(path: Path) -> None:
    """Read settings from `path`, for `--config`, in this process and in the processes it starts."""
    os.environ[VARIABLE] = str(path.absolute())


def user_file() -> Path | None:
    """`config.toml` in the folder `fettle` of the user's configuration directory, if it exists."""
    folder = _user_folder("XDG_CONFIG_HOME", "~/.config")
    path = folder and folder / "config.toml"
    return path if path and path.exists() else None


def state_folder() -> Path | None:
    """`fettle` in the user's directory for state, such as histories; it may not exist yet. None:
    the user has no home directory."""
    return _user_folder("XDG_STATE_HOME", "~/.local/state")


def _user_folder(variable: str, default: str) -> Path | None:
    """Relative directories do not count: they would be inside the working directory."""
    with contextlib.suppress(OSError, RuntimeError):  # another user's home, or no home
        for name in (os.environ.get(variable, ""), default):
            folder = Path(name).expanduser()
            if folder.is_absolute():
                return folder / "fettle"
    return None


def unread_file() -> Path | None:
    """The fettle.toml of the working directory, if no file is named. Release 0.1.0 read it."""
    path = Path(LOCAL_NAME)
    return path.absolute() if VARIABLE not in os.environ and path.is_file() else None


def read_file(path: Path | None) -> dict[str, Any]:
    """The values in a file, by the setting's name in lower case; none without a file.

    Raises ConfigFileError if the file is missing, unreadable or not TOML.
    """
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        fault = f"does not exist: correct {VARIABLE} (or --config), or unset it to use no file"
    except OSError as error:
        fault = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        fault = "is not UTF-8 text"
    except tomllib.TOMLDecodeError as error:
        fault = f"is not valid TOML: {error}"
    raise ConfigFileError(f"the file of settings {path} {fault}")
