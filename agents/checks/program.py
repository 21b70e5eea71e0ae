"""The program that judges test files in a sandbox: `agents/checks/supervised` as one text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SUPERVISED = Path(__file__).with_name("supervised")
PACKAGE = "agents.checks.supervised"

_START = """
import importlib.util, sys

SOURCES = {sources!r}

class Ours:
    judges = True
    def find_spec(self, name, path=None, target=None):
        if name in SOURCES:
            return importlib.util.spec_from_loader(name, self, is_package=not SOURCES[name])
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        name = module.__name__
        exec(compile(SOURCES[name], "<judge>/" + name, "exec"), module.__dict__)

sys.meta_path.insert(0, Ours())
from {package}.supervisor import main
main()
"""


@cache
def program() -> str:
    """Its text, which needs only the standard library and pytest."""
    parents = PACKAGE.split(".")
    sources = {".".join(parents[:depth]): "" for depth in range(1, len(parents) + 1)}
    for path in sorted(SUPERVISED.glob("*.py")):
        if path.stem != "__init__":
            sources[f"{PACKAGE}.{path.stem}"] = path.read_text()
    return _START.format(sources=sources, package=PACKAGE)
