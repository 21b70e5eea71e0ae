"""The program that finds changed functions and mutations of Python code, and its edits of files."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import Any

import pytest

from agents.evidence.changed_code import (
    CALLS,
    LOADED,
    ChangedCode,
    calls_in,
    raising,
    recording,
)
from agents.sandbox_programs import source


def parsed(after: str, before: str | None = None, path: str = "a.py", **more: Any) -> ChangedCode:
    """The program's result for one file, as the sandbox returns it."""
    order = {"seed": "digest", "mutations": 500, "functions": 100, **more}
    order["files"] = [{"path": path, "before": before, "after": after}]
    argv = [sys.executable, "-I", "-S", "-c", source("changed_code")]
    done = subprocess.run(argv, input=json.dumps(order).encode(), capture_output=True, check=True)
    return ChangedCode.model_validate_json(done.stdout)


def mutated(body: str, *, define: bool = True) -> set[str]:
    """The mutated lines of a function's body, or of a module."""
    lines = body.split("\n")
    text = "def f(a, b, c):\n" + "".join(f"    {line}\n" for line in lines) if define else body
    return {item.after for item in parsed(text).mutations}


@pytest.mark.parametrize(
    ("line", "mutations"),
    [
        ("return a < b", {"return a <= b", "return None"}),
        ("return a  not in  b", {"return a  in  b", "return None"}),
        ("return a is not b", {"return a is b", "return None"}),
        ("return (a) >= (b)", {"return (a) > (b)", "return None"}),
        ("return a + b * c", {"return a - b * c", "return a + b / c", "return None"}),
        ("return a and b", {"return a or b", "return None"}),
        ("return not a", {"return (a)", "return None"}),
        ("return 3", {"return 4", "return None"}),
        ("return True", {"return False", "return None"}),
        ("return 'yes'", {"return ''", "return None"}),
        ("a += b", {"a -= b", "pass"}),
        ("a.update(b)", {"pass"}),
        ("a[b] = c", {"pass"}),
        ("raise ValueError('no ' + a)", {"pass"}),
        ("if a: b()", {"if (not (a)): b()", "if a: pass"}),
        ("return [c for c in a if c]", {"return [c for c in a if (not (c))]", "return None"}),
        ("return b if a else c", {"return b if (not (a)) else c", "return None"}),
    ],
)
def test_each_kind_of_mutation(line: str, mutations: set[str]) -> None:
    assert mutated(line) == mutations


@pytest.mark.parametrize(
    "line",
    [
        '"""The text of a function."""',
        "print(a, 'x')",
        "logging.info('%s', a)",
        "self._log.warning(a)",
        "x: int",
        "import os",
        "return None",
        "assert a == 3",
        "return",
    ],
)
def test_code_that_tests_need_not_notice_has_no_mutation(line: str) -> None:
    assert mutated(line) == set()


def test_a_module_has_mutations_outside_its_types_and_its_start() -> None:
    text = (
        "__all__ = ['f']\nLIMIT = 3\n"
        "if TYPE_CHECKING:\n    X = 1\nif __name__ == '__main__':\n    LIMIT = 4\n"
    )
    assert mutated(text, define=False) == {"LIMIT = 4"}


OLD = "def f():\n    return 1\n\n\nclass A:\n    def g(self):\n        return 2\n"


def test_only_changed_functions_count_and_changed_lines_come_first() -> None:
    new = OLD.replace("return 2", "x = 5\n        return 2")
    code = parsed(new, OLD)
    assert [item.full_name for item in code.functions] == ["a.py::A.g"]
    assert {item.line for item in code.mutations} == {7, 8}
    assert code.mutations[0].line == 7


def test_a_function_that_lost_lines_is_changed() -> None:
    assert [
        item.name for item in parsed(OLD.replace("    def g", "    def g"), OLD).functions
    ] == []
    shorter = "def f():\n    a = 1\n    return a\n"
    (function,) = parsed("def f():\n    return a\n", shorter).functions
    assert function.name == "f"


@pytest.mark.parametrize(
    "body",
    ["pass", "...", '"""Text."""', "raise NotImplementedError", "raise NotImplementedError('f')"],
)
def test_functions_without_effect_are_left_out(body: str) -> None:
    assert parsed(f"def f():\n    {body}\n").functions == []


def test_a_function_that_raises_another_error_is_not_left_out() -> None:
    assert parsed("def f():\n    raise ValueError('not a NotImplementedError')\n").functions


@pytest.mark.parametrize(
    ("text", "with_code"),
    [
        ("import os\nfrom a import b\n__all__ = ['b']\n", False),
        ("LIMIT = 3\n", True),
        ("class A:\n    size = 3\n", True),
        ("class A:\n    def f(self):\n        return 3\n", False),
    ],
)
def test_code_outside_functions(text: str, with_code: bool) -> None:
    assert bool(parsed(text).with_code) is with_code


@pytest.mark.parametrize("text", ["def f(:\n", "(" * 5_000, "\0"])
def test_a_file_that_cannot_be_parsed_has_no_functions_and_no_mutations(text: str) -> None:
    code = parsed(text)
    assert [*code.functions, *code.mutations, *code.with_code] == []


SHAPES = '''"""A module."""
from __future__ import annotations
import functools

def one_line(x): return x + 1

def with_text(x):
    """Text."""
    if x:
        return "ä", x
    return None

def outer(x):
    @functools.cache
    def inner(): return x
    return inner()

async def later(x):
    async with x as y: return y

class A:
    @property
    def value(self):
        return 3
    @staticmethod
    def many(a, *,
             b=1): a = 1; return a

class T:
\tdef tabs(self):
\t\tif self:
\t\t\treturn 3

lines = [one_line(1), with_text(1), outer(2), A().value, A.many(1), T().tabs()]
'''
NAMES = ["one_line", "with_text", "outer", "outer.inner", "later", "A.value", "A.many", "T.tabs"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "start", ["", "\ufeff", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"]
)
def test_edits_fit_every_shape_of_a_function(start: str, ending: str) -> None:
    text = start + SHAPES.replace("\n", ending)
    content = text.encode()
    code = parsed(text)
    assert sorted(item.name for item in code.functions) == sorted(NAMES)
    for mutation in code.mutations:
        assert mutation.apply(content) != content
        ast.parse(mutation.apply(content))
    changed = recording({"a.py": content}, code.functions)["a.py"]
    record = _calls_of(changed)
    calls = calls_in(record, code.functions)
    assert calls is not None
    assert {item.name for item in calls.executed} == {*NAMES} - {"later"}
    ast.parse(raising({"a.py": content}, code.functions)["a.py"])


def test_a_run_that_cannot_write_the_record_proves_nothing() -> None:
    functions = parsed("def f():\n    return 1\n").functions
    assert calls_in(b"", functions) is None
    assert calls_in(f"{LOADED}\n".encode(), functions) == ([], functions)


DOCUMENTED = {
    "a docstring": ("    return a", "    '''It returns a.'''\n    return a"),
    "a comment": ("    return a", "    # as it is\n    return a"),
    "a type": ("(a, b=1)", "(a: int, b: int = 1) -> int"),
}


@pytest.mark.parametrize(("old", "new"), DOCUMENTED.values(), ids=DOCUMENTED)
def test_a_function_with_the_same_code_is_not_changed(old: str, new: str) -> None:
    before = "class A:\n  def f(a, b=1):\n    return a\n"
    assert parsed(before.replace(old, new), before).functions == []
    for replacement in ("return b", "(a, b=2)", "(a, c=1)", "async def f"):
        changed = {"return b": "return a", "async def f": "def f"}.get(replacement, "(a, b=1)")
        after = before.replace(old, new) if replacement == "return b" else before
        assert [item.name for item in parsed(after.replace(changed, replacement), before).functions]


def test_deeply_nested_code_does_not_affect_other_files() -> None:
    deep = "def g(a):\n    a" + ".b()" * 400 + "\n"
    order = {"seed": "", "mutations": 9, "functions": 9}
    order["files"] = [
        {"path": path, "before": None, "after": text}
        for path, text in (("deep.py", deep), ("a.py", "def f():\n    return 1\n"))
    ]
    argv = [sys.executable, "-I", "-S", "-c", source("changed_code")]
    done = subprocess.run(argv, input=json.dumps(order).encode(), capture_output=True, check=True)
    assert "a.py::f" in {
        f.full_name for f in ChangedCode.model_validate_json(done.stdout).functions
    }


def _calls_of(content: bytes) -> bytes:
    """The numbers of the functions that a program writes to the file of calls."""
    program = (
        "import posix, sys\nwritten = []\n"
        "posix.open = lambda path, *_: path\nposix.close = lambda _: None\n"
        "posix.write = lambda path, data: written.append((path, data))\n"
        f"exec(compile({content!r}, 'a.py', 'exec'), {{'__name__': 'a'}})\n"
        f"assert {{path for path, _ in written}} == {{'/work/{CALLS}'}}\n"
        "sys.stdout.buffer.write(b''.join(data for _, data in written))\n"
    )
    argv = [sys.executable, "-I", "-c", program]
    return subprocess.run(argv, capture_output=True, check=True).stdout


def test_a_draw_takes_one_mutation_of_each_line_first() -> None:
    text = "def f(a):\n    b = 1 + 2 + 3 + 4\n    c = 5\n    return a\n"
    code = parsed(text, mutations=3)
    assert {item.line for item in code.mutations} == {2, 3, 4}
    assert code == parsed(text, mutations=3)
