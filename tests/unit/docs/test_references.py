"""Docstrings, comments and pages refer to modules, classes and files that exist.

A reference is a path (`jobs/redis/keys.py`) or a dotted name (`jobs.redis.keys`, `Ports.events`) in
backticks, an error after "Raises", or a class after "See" or "Implements" at the beginning of a
docstring. A renamed class leaves such texts behind, and no other check reads them.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import subprocess
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest
from support.cases.markdown_pages import REPOSITORY

PACKAGES = ("agents", "api", "cli", "jobs", "lab", "sandbox", "settings", "worker")
DATA = ("lab/evals/exercises/", "lab/evals/repositories/")
"""The files of jobs, not code of Fettle."""
EXAMPLES = {"agents/tools/word_count.py", "requirements/test.txt"}
"""Files that a page asks its reader to write, or that a job may have."""

QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?")
RAISED = re.compile(r"\bRaises? `?([A-Za-z_][\w.]*\w)`?")
IMPLEMENTED = re.compile(
    r"(?:See|Implements) (?:the ports? )?`?((?:\w+\.)*[A-Z]\w*[a-z])`?(?: and ([A-Z]\w*[a-z]))?"
)
"""The docstring of an implementation: `Implements Forge.` of a class, `See Forge.` of a method."""


def listed(pattern: str) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern]
    paths = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [path for path in paths if not path.startswith(DATA) and (REPOSITORY / path).exists()]


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of all packages, by the module's dotted name."""
    return {
        module_name(path): ast.parse((REPOSITORY / path).read_text())
        for path in listed("*.py")
        if path.split("/")[0] in PACKAGES
    }


def bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """The names that the statements of a module or a class bind, and the attributes of `self`."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield node.attr


@cache
def classes() -> dict[str, list[ast.ClassDef]]:
    """The classes of all packages by name."""
    by_name: dict[str, list[ast.ClassDef]] = defaultdict(list)
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                by_name[node.name].append(node)
    return by_name


def base_names(nodes: list[ast.ClassDef]) -> Iterator[str]:
    for node in nodes:
        yield from (ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases)


@cache
def attributes() -> dict[str, set[str]]:
    """The names that each class of the packages binds, by the class's name. Classes with the same
    name are one entry; a class has the names of its bases, too."""
    names = {
        name: {bound for node in nodes for bound in bound_names(node.body)}
        for name, nodes in classes().items()
    }
    bases = {name: set(base_names(nodes)) for name, nodes in classes().items()}
    for name in list(names):
        ancestors = list(bases[name])
        while ancestors:
            ancestor = ancestors.pop()
            if ancestor in names and not names[ancestor] <= names[name]:
                names[name] |= names[ancestor]
                ancestors += bases[ancestor]
    return names


@cache
def is_foreign(name: str) -> bool:
    """Whether a class inherits from a library's class, so that not all of its names are known."""
    return any(base not in classes() for base in base_names(classes().get(name, [])))


@cache
def names_of(module: str) -> set[str]:
    names = set(bound_names(modules()[module].body))
    prefix = f"{module}."
    return names | {
        name.removeprefix(prefix).split(".")[0] for name in modules() if name.startswith(prefix)
    }


@cache
def local_names(module: str) -> set[str]:
    """The names of all variables and parameters of a module."""
    nodes = list(ast.walk(modules()[module])) if module in modules() else []
    variables = {node.id for node in nodes if isinstance(node, ast.Name)}
    return variables | {node.arg for node in nodes if isinstance(node, ast.arg)}


def is_known(dotted: str, module: str | None) -> bool:
    """Whether a dotted name exists, or its first part is not a name of the packages."""
    parts = dotted.removesuffix("()").split(".")
    if parts[0] in PACKAGES:
        return resolves(parts)
    if module is not None and module.startswith("tests."):
        return True
    if parts[0] in attributes():
        return is_foreign(parts[0]) or parts[1] in attributes()[parts[0]]
    if module is None or parts[0] in local_names(module):
        return True
    siblings = [module.rpartition(".")[0], module]
    for package in siblings:
        if f"{package}.{parts[0]}" in modules():
            return resolves([*package.split("."), *parts])
    return True


def resolves(parts: list[str]) -> bool:
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if module not in modules():
            continue
        attribute_path = parts[length:]
        if not attribute_path:
            return True
        if attribute_path[0] not in names_of(module):
            return False
        return (
            len(attribute_path) == 1
            or attribute_path[0] not in attributes()
            or is_foreign(attribute_path[0])
            or attribute_path[1] in attributes()[attribute_path[0]]
        )
    return False


def is_path(text: str) -> bool:
    """Whether the text is a path below one of the repository's folders. A path with a part in
    capitals (`lab/evals/NAME`) is a pattern, and `tests/test_...` is a file of a job."""
    parts = text.split("/")
    return (
        PATH.fullmatch(text) is not None
        and not any(part.isupper() for part in parts)
        and not text.startswith("tests/test_")
        and (REPOSITORY / parts[0]).is_dir()
    )


def texts(path: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a Python file with their lines."""
    source = (REPOSITORY / path).read_text()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def stale(text: str, module: str | None) -> Iterator[str]:
    for quoted in QUOTED.findall(text):
        if is_path(quoted):
            if not (REPOSITORY / quoted).exists():
                yield quoted
        elif (
            DOTTED.fullmatch(quoted)
            and not quoted.endswith((".py", ".md", ".lua", ".toml", ".yaml", ".yml"))
            and not is_known(quoted, module)
        ):
            yield quoted


def is_known_error(name: str, known_errors: set[str]) -> bool:
    """Whether the error is known, or defined in a library: `httpx.HTTPError`."""
    package, _, error = name.rpartition(".")
    is_library = package != "" and package.split(".")[0] not in PACKAGES
    return not error[0].isupper() or error in known_errors or is_library


@cache
def errors(package: str) -> set[str]:
    """The names of classes and imports of a package, and of Python's own errors."""
    names = set(dir(builtins))
    for module, tree in modules().items():
        if module.split(".")[0] != package:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names |= {alias.asname or alias.name for alias in node.names}
    return names


@cache
def methods() -> dict[str, set[str]]:
    """The public methods that the classes of the packages define, by the class's name."""
    defined: dict[str, set[str]] = defaultdict(set)
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                defined[node.name] |= {
                    item.name
                    for item in node.body
                    if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
                    and not item.name.startswith("_")
                }
    return defined


def implemented(node: ast.ClassDef) -> Iterator[tuple[int, str, set[str]]]:
    """The references in the docstrings of a class: (line, class, the methods of both classes)."""
    for name in implemented_classes(node):
        yield node.lineno, name, methods().get(name.rpartition(".")[2], set())
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in implemented_classes(item):
                yield item.lineno, name, {item.name}


def implemented_classes(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    match = IMPLEMENTED.match(ast.get_docstring(node) or "")
    return [name for name in match.groups() if name] if match else []


def is_implementation(node: ast.ClassDef, package: str, name: str, common: set[str]) -> bool:
    """Whether `package` knows the class `name`, and both classes have methods in common."""
    qualifier, _, class_name = name.rpartition(".")
    if qualifier.split(".")[0] in PACKAGES and not resolves(name.split(".")):
        return False
    if class_name not in attributes():
        return is_known_error(name, errors(package))  # a class of a library
    return bool(common) and all(
        common <= attributes()[owner] or is_foreign(owner) for owner in (class_name, node.name)
    )


PYTHON = [path for path in listed("*.py") if path.split("/")[0] in {*PACKAGES, "tests"}]


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_docstrings_and_comments_name_things_that_exist(package: str) -> None:
    stale_texts = [
        f"{path}:{line}: {reference}"
        for path in PYTHON
        if path.split("/")[0] == package
        for line, text in texts(path)
        for reference in stale(text, module_name(path))
    ]
    assert not stale_texts, "\n".join(stale_texts)


@pytest.mark.parametrize("package", PACKAGES)
def test_raised_errors_exist(package: str) -> None:
    known_errors = errors(package)
    missing = [
        f"{path}:{line}: {name}"
        for path in PYTHON
        if path.split("/")[0] == package
        for line, text in texts(path)
        for name in RAISED.findall(text)
        if not is_known_error(name, known_errors)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("package", PACKAGES)
def test_classes_implement_what_their_docstrings_name(package: str) -> None:
    missing = [
        f"{module}:{line}: {name}"
        for module, tree in modules().items()
        if module.split(".")[0] == package
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for line, name, common in implemented(node)
        if not is_implementation(node, package, name, common)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize(
    "page", [path for path in listed("*.md") if "decisions/" not in path and path != "CHANGELOG.md"]
)
def test_pages_name_files_that_exist(page: str) -> None:
    missing = [
        quoted
        for quoted in QUOTED.findall((REPOSITORY / page).read_text())
        if (is_path(quoted) and quoted not in EXAMPLES and not (REPOSITORY / quoted).exists())
        or (
            DOTTED.fullmatch(quoted)
            and quoted.split(".")[0] in PACKAGES
            and not quoted.endswith((".py", ".md", ".toml", ".com"))
            and not is_known(quoted, None)
        )
    ]
    assert not missing
