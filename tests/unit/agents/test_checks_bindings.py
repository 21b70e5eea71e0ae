from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator

import pytest

from agents.checks.room.bindings import Bindings, pieces
from agents.checks.room.guard import same

HONEST = {
    "a module": "from __future__ import annotations\nimport os\nX: int = 1\ndef f(): return X\n",
    "names bound anew": "X = 1\nX = 2\nX += 1\nfor X in (1, 2): pass\ndel X\nX = 3\n",
    "a name for a while": "try:\n    import nonesuch\nexcept ImportError as n:\n    pass\nn = 1\n",
    "a count": "count = 0\ndef up():\n    global count\n    count += 1\nup()\nup()\n",
    "an attribute": "class A:\n    x = print\nA.x = len\n",
    "one more name": "globals()['Y'] = 1\nexec('Z = 2')\n",
    "a builtin's name": "def input(): pass\ninput = 3\nfrom os import *\n",
    "all names of another": "def same(): pass\nfrom helped import *\n",
    "patterns": "match {'a': [1, 2], 'b': 3}:\n    case {'a': [X, *Y], **Z}: pass\nX = Y = Z = 1\n",
    "in a test": "X = 1\nif (Y := X): Y = 2\nassert [Z for Z in (1,)]\n",
}
BENT = {
    "a function": ("def same(): pass\nbend('same', print)", "checks.same"),
    "a constant": ("X = 1\nbend('X', 2)", "checks.X"),
    "a constant behind it": ("X = 1\nY = bend('X', 2) or 3", "checks.X"),
    "a builtin": ("bend('len', print)", "checks.len"),
    "an import": ("from os import sep\nbend('sep', 1)", "checks.sep"),
    "its code": ("def same(): pass\nsetattr(same, '__code__', NEW)", "checks.same"),
    "its defaults": ("def same(a=1): pass\nsetattr(same, '__defaults__', (2,))", "checks.same"),
    "a method": ("class A:\n    def b(self): pass\nsetattr(A, 'b', print)", "A.b"),
    "a static one's code": (
        "class A:\n    @staticmethod\n    def b(n, v): pass\nsetattr(A.b, '__code__', NEW)",
        "A.b",
    ),
}


def replaced(source: str, after: str = "") -> list[str]:
    """What is told of a module that may call `bend(name, value)`."""
    module = types.ModuleType("checks")

    def bend(name: str, value: object) -> None:
        vars(module)[name] = value

    vars(module).update(bend=bend, NEW=(lambda: None).__code__)
    bindings = Bindings([source])
    bindings.run(pieces(ast.parse(source), "checks.py"), module)
    exec(after, vars(module))
    return bindings.replaced()


@pytest.fixture(autouse=True)
def _another_module(monkeypatch: pytest.MonkeyPatch) -> None:
    helped = types.ModuleType("helped")
    vars(helped)["same"] = print
    monkeypatch.setitem(sys.modules, "helped", helped)


@pytest.mark.parametrize("source", HONEST)
def test_what_checks_do_themselves_is_no_change(source: str) -> None:
    assert replaced(HONEST[source]) == []


@pytest.mark.parametrize("bent", BENT)
def test_what_others_do_to_their_names_is_told(bent: str) -> None:
    source, name = BENT[bent]
    assert replaced(source) == [name]


def test_a_name_that_is_put_back_behind_its_statement_is_still_told() -> None:
    assert replaced("X = 1\nbend('X', 2)\nbend('X', 1)") == ["checks.X"]


def test_a_module_may_be_loaded_anew() -> None:
    source = "def same(): pass\nclass A:\n  def b(self): pass\n"
    module, bindings = types.ModuleType("checks"), Bindings([source])
    for _ in range(2):
        bindings.run(pieces(ast.parse(source), "checks.py"), module)
    assert bindings.replaced() == []
    vars(module)["same"] = print
    assert bindings.replaced() == ["checks.same"]


def test_a_builtin_s_name_that_is_the_checks_own_stays_so_in_a_module_loaded_anew() -> None:
    source = "Y = print\nX = 1\ndef input(): pass\n"
    module, bindings = types.ModuleType("checks"), Bindings([source])
    for _ in range(2):
        bindings.run(pieces(ast.parse(source), "checks.py"), module)
    assert bindings.replaced() == []
    vars(module)["len"] = print
    bindings.run(pieces(ast.parse(source), "checks.py"), module)
    assert bindings.replaced() == ["checks.len"]


@pytest.mark.parametrize(
    "bent",
    [
        "@bend\ndef f(): pass",
        "def f(a=bend()): pass",
        "def f(*, b=1, a=bend()): pass",
        "def f(a: bend()): pass",
        "def f() -> bend(): pass",
        "async def f(a=[(bend(),)]): pass",
        "Y = bend()",
        "Y = bend.any",
        "Y = [*bend]",
        "bend.any",
        "class A:\n  bend()",
    ],
)
def test_whatever_can_call_something_is_followed_by_a_comparison(bent: str) -> None:
    class Bend:
        def __call__(self, _: object = None) -> object:
            vars(module)["X"] = 2
            return 3

        @property
        def any(self) -> object:
            return self()

        def __iter__(self) -> Iterator[object]:
            return iter([self()])

    source = f"X = 1\n{bent}\nbend.back()"
    module, bindings = types.ModuleType("checks"), Bindings([source])
    bend = Bend()
    vars(bend)["back"] = lambda: vars(module).update(X=1)
    vars(module)["bend"] = bend
    bindings.run(pieces(ast.parse(source), "checks.py"), module)
    assert bindings.replaced() == ["checks.X"]


def test_many_tests_are_not_compared_with_many(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []

    def counted(now: object, was: object, parts: tuple[object, ...]) -> bool:
        compared.append(now)
        return same(now, was, parts)

    monkeypatch.setattr("agents.checks.room.bindings.same", counted)
    many = "".join(f"X{i} = (1, [2])\ndef test_{i}(a: int = 1) -> None: pass\n" for i in range(100))
    assert replaced(many) == []
    assert len(compared) < 400
    assert replaced(many, "test_50 = print") == ["checks.test_50"]
    assert replaced(f"{many}X7: int = bend('test_50', 1)") == ["checks.test_50"]


def test_a_module_may_be_put_into_the_package_of_its_name() -> None:
    assert replaced("Y = 1", "import os as input") == []
    assert replaced("Y = 1", "input = print") == ["checks.input"]


def test_an_imported_value_is_not_asked_what_it_is() -> None:
    class Lazy:
        @property
        def __class__(self) -> type:  # type: ignore[override]
            raise RuntimeError("not configured")

    vars(sys.modules["helped"])["lazy"] = Lazy()
    source = "from helped import lazy\nclass A:\n  one = lazy\n"
    assert replaced(source) == []
    assert replaced(f"{source}bend('lazy', 1)") == ["checks.lazy"]


def test_future_statements_count_for_all_that_comes_behind() -> None:
    assert (
        replaced("from __future__ import annotations\nX: int = 1\ndef f(a: nonesuch): pass") == []
    )
