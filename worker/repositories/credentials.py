"""The operator's file of credentials: tokens of hosts and indexes, and files of keys of ssh."""

from __future__ import annotations

import base64
import re
import stat
from pathlib import Path
from typing import Final

from worker.repositories.errors import RepositoriesUnfit

SSH: Final = "ssh://"
_FILE = re.compile(r"/[\w./@+:,=-]*")
"""No sign that has a meaning in ssh's configuration."""
_UNFIT = "the file's path has to be a whole one, of letters, digits and . _ / @ + : , = -"
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


def basic(credential: str) -> str:
    """A `USER:TOKEN` as the value of the header `Authorization`."""
    return f"Basic {base64.b64encode(credential.encode()).decode()}"


def credentials(file: Path, setting: str) -> dict[str, str]:
    """By host, `USER:TOKEN` of lines `HOST USER:TOKEN`; by `ssh://HOST`, the key's file of lines
    `ssh://HOST FILE`; other lines are empty, or begin with `#`. Raises RepositoriesUnfit, which
    names the setting."""
    found: dict[str, str] = {}
    for number, line in enumerate(_secret(file, setting).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        host, _, credential = line.strip().partition(" ")
        at, credential = f"{setting}, {file}, line {number}", credential.strip()
        if host.lower().startswith(SSH):
            _check_key(credential, at)
        elif ":" not in credential:
            raise RepositoriesUnfit(f"{at}: it has to be HOST USER:TOKEN, or ssh://HOST FILE")
        found[host.lower()] = credential
    return found


def known_hosts(file: Path, setting: str) -> Path:
    """A list of known hosts, as ssh takes it. Raises RepositoriesUnfit."""
    file = file.absolute()
    _text(file, setting)
    if not _FILE.fullmatch(str(file)):
        raise RepositoriesUnfit(f"{setting}: {_UNFIT}")
    return file


def _check_key(file: str, at: str) -> None:
    if not _FILE.fullmatch(file):
        raise RepositoriesUnfit(f"{at}: {_UNFIT}")
    if not _KEY.match(_secret(Path(file), at)):
        raise RepositoriesUnfit(f"{at}: {file} has no private key")


def _secret(file: Path, setting: str) -> str:
    """The text of a file that other users of the machine cannot read."""
    text = _text(file, setting)
    if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise RepositoriesUnfit(
            f"{setting}, {file}, can be read by other users of this machine: chmod 600 {file}"
        )
    return text


def _text(file: Path, setting: str) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoriesUnfit(f"{setting} cannot be read: {error}") from None
