"""Describes the environment of code in the sandbox, as JSON: {python, packages, programs, runners,
digest}. The digest identifies the interpreter and all packages.

A package that exactly one other package requires is not named: it was installed with the other
package, and code rarely uses it directly.
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
"""Programs that a prompt names; most other programs belong to coreutils."""
RUNNERS = ("cargo", "npm")
"""More programs that run projects' tests."""
INSTALLERS = {"pip", "setuptools", "wheel", "uv"}
PARSER_PREFIX = "tree-sitter"
"""The beginning of the names of the packages that `symbols.py` uses."""


def required_names(package: Distribution) -> set[str]:
    """The names of the packages that a package requires without extras."""
    requirements = (requirement.partition(";") for requirement in package.requires or ())
    names = (
        re.match(r"[\w.-]+", name) for name, _, marker in requirements if "extra" not in marker
    )
    return {normalize(name[0]) for name in names if name}


def normalize(name: str) -> str:
    """The name of a package in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    installed = {
        normalize(package.metadata["Name"] or ""): package.version for package in distributions()
    }
    dependents = Counter(name for package in distributions() for name in required_names(package))
    packages = [
        f"{name} {version}"
        for name, version in sorted(installed.items())
        if name not in {"", *INSTALLERS}
        and not name.startswith(PARSER_PREFIX)
        and dependents[name] != 1
    ]
    programs = [name for name in PROGRAMS if shutil.which(name)]
    description = {"python": platform.python_version(), "packages": packages, "programs": programs}
    system = [programs, sys.version, sys.base_prefix, platform.machine(), platform.libc_ver()]
    identity = repr((system, sorted(installed.items())))
    description["digest"] = hashlib.sha256(identity.encode()).hexdigest()
    description["runners"] = [name for name in RUNNERS if shutil.which(name)]
    sys.stdout.write(json.dumps(description))
