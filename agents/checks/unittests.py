"""`python -m unittest ...` as what pytest is to run: it runs such tests and tells of each. Pure."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from agents.checks.room.expected import collected, expected

_OPTIONS = frozenset({"-v", "-q", "-f", "-b", "-c"})
_LONG = frozenset({"--verbose", "--quiet", "--failfast", "--buffer", "--catch"})
_OWN = ("skipTest", "SkipTest", "load_tests")
"""What unittest takes in another way than pytest, or the judge, would."""


def aims(words: Sequence[str], files: Mapping[str, str]) -> list[str] | None:
    """What of the checks' `files` the words behind `-m unittest` name, as pytest names it; none
    for all of it, and None where pytest would not run the same.
    """
    tests = collected(files)
    named = [word for word in words if word not in _OPTIONS | _LONG]
    if named[:1] == ["discover"]:
        named = named[2:] if named[1:2] in (["-s"], ["--start-directory"]) else named[1:]
        if any(not _within(word, tests) for word in named) or len(named) > 1:
            return None
        found = [word for word in named if word != "."]
    else:
        found = [aim for word in named if (aim := _aim(word, tests)) is not None]
        if len(found) < len(named):
            return None
    return found if all(_is_unittest(files[path]) for path in tests) else None


def _within(word: str, tests: Sequence[str]) -> bool:
    return word == "." or any(path.startswith(f"{word.rstrip('/')}/") for path in tests)


def _aim(word: str, tests: Sequence[str]) -> str | None:
    """Of `tests.test_a.TestB.test_c` and `tests/test_a.py`."""
    if word in tests:
        return word
    parts = word.split(".")
    for depth in range(len(parts), 0, -1):
        path = f"{'/'.join(parts[:depth])}.py"
        if path in tests:
            return "::".join([path, *parts[depth:]])
    return None


def _is_unittest(source: str) -> bool:
    """Whether all of its tests are methods of suites, and none has a way of its own to be found."""
    try:
        found = expected("", source)
        unseen = not found and _derives(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    own = unseen or any(word in source for word in _OWN)
    return not own and all(test.name.count("::") > 1 for test in found)


def _derives(tree: ast.Module) -> bool:
    """Whether a class may have its tests from a base that is imported: unittest finds those."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    here = {each.name for each in classes}
    return any(ast.unparse(base) not in here for each in classes for base in each.bases)
