"""Describes what code finds in the sandbox, as JSON: {python, packages, programs, runners,
digest}. The digest is of the interpreter and of all packages.

A package that exactly one other needs is not named: it comes with that one, and is rarely used for
itself.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import sys
from collections import Counter
from importlib.metadata import Distribution, distributions

PROGRAMS = (
    *("awk", "cc", "curl", "diff", "file", "find", "g++", "gcc", "git", "go", "grep", "gzip"),
    *("java", "jq", "make", "node", "patch", "perl", "ps", "rg", "ruby", "rustc", "sed", "sqlite3"),
    *("tar", "unzip", "zip"),
)
"""Programs that a model should know of; most others are of coreutils."""
RUNNERS = ("cargo", "npm")
"""Programs that run projects' tests, beside those above."""
INSTALLERS = {"pip", "setuptools", "wheel", "uv"}
PARSERS = "tree-sitter"
"""How the packages begin that a repository's map is made with (`symbols.py`)."""


def needs(package: Distribution) -> set[str]:
    """The names of the packages that it needs without extras."""
    wanted = (each.partition(";") for each in package.requires or ())
    names = (re.match(r"[\w.-]+", name) for name, _, when in wanted if "extra" not in when)
    return {normalized(name[0]) for name in names if name}


def normalized(name: str) -> str:
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    found = {normalized(each.metadata["Name"] or ""): each for each in distributions()}
    needed = Counter(name for each in found.values() for name in needs(each))
    packages = [
        f"{name} {each.version}"
        for name, each in sorted(found.items())
        if name and name not in INSTALLERS and not name.startswith(PARSERS) and needed[name] != 1
    ]
    programs = [name for name in PROGRAMS if shutil.which(name)]
    described = {"python": platform.python_version(), "packages": packages, "programs": programs}
    whole = [programs, sys.version, sys.base_prefix, platform.machine(), platform.libc_ver()]
    versions = sorted((name, each.version) for name, each in found.items())
    described["digest"] = hashlib.sha256(repr((whole, versions)).encode()).hexdigest()
    described["runners"] = [name for name in RUNNERS if shutil.which(name)]
    sys.stdout.write(json.dumps(described))
