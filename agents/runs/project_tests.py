"""Which command runs a project's tests, by its own configuration. Pure.

Nothing of it is executed here, and a wrong guess costs a run: the executor can declare another
verification, which comes first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from agents.evidence.sources import is_for_pytest

CONFIGURATIONS: Final = (
    *("pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"),
    *("package.json", "Cargo.toml", "go.mod", "Makefile"),
)
"""The files that say so, in the project's directory."""
_PYTEST = {
    "pytest.ini": re.compile(""),
    ".pytest.ini": re.compile(""),
    "pyproject.toml": re.compile(r"^\[tool\.pytest", re.MULTILINE),
    "setup.cfg": re.compile(r"^\[tool:pytest\]", re.MULTILINE),
    "tox.ini": re.compile(r"^\[pytest\]|\bpytest\b", re.MULTILINE),
}
_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_UNWRITTEN = "no test specified"
"""What `npm init` writes in place of a test script."""


def project_tests(
    paths: Collection[str], texts: Mapping[str, str], programs: Collection[str]
) -> tuple[str, ...]:
    """The argv; empty where nothing says which. `paths` are all files of the project, `texts` those
    of `CONFIGURATIONS` that it has, `programs` what the sandbox has beside Python."""
    if any(rule.search(texts[name]) for name, rule in _PYTEST.items() if name in texts):
        return ("pytest",)
    if any(is_for_pytest(path) and _usual(path) for path in paths):
        return ("pytest",)
    if "npm" in programs and _npm_test(texts.get("package.json", "")):
        return ("npm", "test")
    if "cargo" in programs and "Cargo.toml" in texts:
        return ("cargo", "test")
    if "go" in programs and "go.mod" in texts:
        return ("go", "test", "./...")
    if "make" in programs and _TARGET.search(texts.get("Makefile", "")):
        return ("make", "test")
    return ()


def _usual(path: str) -> bool:
    """Whether tests are usually there: beside the project's files, or in a folder for tests."""
    return "/" not in path or path.partition("/")[0] in {"test", "tests"}


def _npm_test(text: str) -> bool:
    try:
        found: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    scripts = found.get("scripts") if isinstance(found, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(script, str) and bool(script.strip()) and _UNWRITTEN not in script
