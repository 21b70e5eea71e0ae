"""No code of the product reads bytes with a function that may run code named in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from support.processes.preloaded import REPOSITORY

PACKAGES = ("agents", "api", "cli", "jobs", "sandbox", "settings", "worker")
MODULES = {"pickle", "shelve", "dill", "cloudpickle", "jsonpickle", "joblib", "dbm"}
CALLS = {
    ("yaml", "unsafe_load"),
    ("yaml", "full_load"),
    ("yaml", "load_all"),
    ("marshal", "load"),
    ("marshal", "loads"),
    ("numpy", "load"),
}
NAMES = {"JsonPlusSerializer", "UnsafeLoader", "FullLoader", "PickleSerializer"}
WITHIN_A_SANDBOX = {
    "sandbox/zygote/interpreter.py": "an order of the sandbox's own program",
}


def violations(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module=module, names=names):
                if (module or "").split(".")[0] in MODULES:
                    yield str(module)
                yield from (alias.name for alias in names if alias.name in NAMES)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                if (owner, name) in CALLS or name in NAMES:
                    yield f"{owner}.{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_bytes_are_read_as_data(package: str) -> None:
    violations_by_path = {
        path_name: sorted(set(violations(ast.parse(path.read_text()))))
        for path in sorted((REPOSITORY / package).rglob("*.py"))
        if (path_name := str(path.relative_to(REPOSITORY))) not in WITHIN_A_SANDBOX
    }
    assert {path_name: names for path_name, names in violations_by_path.items() if names} == {}


def test_a_reader_that_runs_code_is_reported() -> None:
    text = "import pickle\nimport yaml\nyaml.load(x, Loader=yaml.UnsafeLoader)\nyaml.full_load(x)"
    assert set(violations(ast.parse(text))) == {"pickle", "yaml.UnsafeLoader", "yaml.full_load"}
