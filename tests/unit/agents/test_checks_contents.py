"""What is in the checks' tables: what is held of it, and what a test or a solution may change."""

from __future__ import annotations

import ast
import sys
import types

import pytest

from agents.checks.room.bindings import Bindings, pieces

TABLE = "import copy, pytest\nTABLE = [[1], [2]]\n"


def changed(source: str, after: str, name: str = "test_x") -> list[str]:
    """What is told of a module in which `after` is done when it is loaded."""
    module = types.ModuleType(name)
    vars(module).update(solve=lambda *_, **__: None, other=[])
    bindings = Bindings([source])
    bindings.run(pieces(ast.parse(source), "x.py"), module)
    assert bindings.replaced() == []
    exec(after, vars(module))
    return bindings.replaced()


WHOLE = [
    "def test(): assert solve() == TABLE",
    "def test(): assert solve() in TABLE and len(TABLE), f'{TABLE}'",
    "def test(self): self.assertEqual(solve(), TABLE)",
    "def test(): assert solve() == TABLE[1][0]",
    "def test(): assert solve(copy.deepcopy(TABLE)) == TABLE[-1] != TABLE[1:]",
    "def test():\n  for want in TABLE: assert solve() == want",
    "def test():\n  for i, want in enumerate(TABLE): assert solve(i) == want",
    "def test():\n  for given, want in zip(other, TABLE): assert solve(given) == want",
    "def test():\n  wanted = TABLE\n  assert solve() == wanted",
    "def test(): assert solve() == pytest.approx(TABLE)",
    "def test(): assert all(each == 1 for each in reversed(TABLE))",
    "@pytest.mark.parametrize('want', TABLE)\ndef test(want): assert solve() == want",
    "@pytest.mark.parametrize('a, b', [(1, 2)])\ndef test(a, b): assert solve(a) == TABLE[b]",
    "def test(self):\n  for want in TABLE:\n    with self.subTest(want=want): assert want == 1",
    "def test(): return 'not TABLE, of which this says nothing'",
    "def test():\n  'Compares with TABLE.\\n\\n  (TABLE is above.) See e.g. solution.solve'",
    (
        "@pytest.mark.parametrize('text', ['TABLE.append(1)', ('import TABLE', '>>> TABLE')])\n"
        "def test(text): assert solve(text) == 1"
    ),
]
"""Sources that do nothing but to look at a table and its rows."""
ROWS = [
    "def test(): assert solve(TABLE[0]) == 1",
    "def test(): assert solve(*TABLE) == 1",
    "def test(): TABLE[0][0] += 1",
    "def test():\n  for given in TABLE: assert solve(given) == 1",
    "def test():\n  given = TABLE[1]\n  given.append(4)",
    "def test(): assert solve(list(TABLE)) == sorted(TABLE, key=solve)",
    "def test(): assert solve(copy.copy(TABLE)) or max(TABLE) or TABLE.copy().pop()",
    "@pytest.mark.parametrize('given', TABLE)\ndef test(given): assert solve(given)",
    "@pytest.mark.parametrize('given', TABLE, ids=str)\ndef test(given): assert solve(given)",
    "@pytest.fixture(params=TABLE)\ndef given(request): return request.param",
    "def test(): assert [each for each in TABLE] == 1",
    "def key(i): return TABLE[i]",
    "def test():\n  for i, given in enumerate(TABLE): assert solve(given) == i",
    "def test():\n  first, *rest = TABLE\n  rest[0].append(3)",
    "def test():\n  first, second = TABLE\n  assert first == second\n  first.pop(); second.pop()",
]
"""Sources that hand out rows of a table, but never the table."""
FREE = [
    "def test(): TABLE.append([solve()])",
    "def test(): TABLE[0] = solve()",
    "def test():\n  global TABLE\n  TABLE += [[3]]",
    "def test(): del TABLE[0]",
    "def test(): push = TABLE.append",
    "def test(): solve(TABLE)",
    "def test(): solve(table=TABLE)",
    "def test(table=TABLE): table.append(1)",
    "def test(): assert TABLE in solve()",
    "def test(): assert solve() + TABLE",
    "def test():\n  mine = TABLE\n  mine.clear()",
    "def test():\n  mine = yours = TABLE\n  solve(mine)",
    "def test(self): self.table = TABLE",
    "def test(): return TABLE",
    "def test(): yield TABLE",
    "def test(): (mine := TABLE).pop()",
    "def test():\n  for each in (TABLE, other): each.clear()",
    "def test():\n  with solve() as TABLE[0]: pass",
    "def test():\n  match TABLE:\n    case mine: mine.clear()",
    "def test(): assert sorted(TABLE)\nfrom solution import sorted",
    "def test(): assert sorted(TABLE)\ndef sorted(table): table.sort()",
    "def test(sorted): assert sorted(TABLE)",
    "def test(): assert sorted(TABLE)\nfrom solution import *",
    "def test(): assert copy.deepcopy(TABLE)\nimport solution as copy",
    "def test(self): self.assertEqual(TABLE, 1)\ndef assertEqual(self, a, b): a.clear()",
    "def test(): globals()['TAB' + 'LE'].clear()",
    "def test(): getattr(solve, 'TAB' + 'LE').clear()",
    "def test(): getattr(solve, 'TABLE').clear()",
    "def test(mocker): mocker.patch.dict('test_x.TABLE', a=1)",
    "def test(monkeypatch): monkeypatch.setitem(TABLE, 0, [])",
    "def test(item): item.callspec.params.clear()",
    "def test(item): item.get_closest_marker('parametrize').args[1].clear()",
    "def test(): solve(test_x)\nimport test_x",
    "def test(): WANTED.clear()\nfrom test_x import TABLE as WANTED",
    "def test(request): request.module.TABLE.clear()",
    "def test(): timeit('TABLE.append(1)', 'from __main__ import TABLE')",
    "def test(): timeit('push(TABLE)', 'from test_x import other, TABLE')",
    "def test(): timeit('t.pop()', 'from test_x import (\\n  other,\\n  TABLE as t,\\n)')",
    "def test(): timeit('x = 1; TABLE[0].append(x)', **solve())",
    "def test(): timeit(f'TABLE.append({1})', **solve())",
    "def test(): timeit('m.x.TABLE += m.y', **solve())",
    'def test():\n  """Adds.\n\n  >>> push(TABLE)\n  1\n  """',
    'def test():\n  """\n  >>> for each in solve():\n  ...     push(each, TABLE)\n  """',
    "@pytest.mark.parametrize('want', TABLE, indirect=True)\ndef test(want): assert 1 == want",
    "@pytest.mark.parametrize('want', TABLE, ids=solve)\ndef test(want): assert solve() == want",
]
"""Sources that change the table themselves, or hand it to who may."""


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, names in {"solution": {"sorted": sorted}, "test_x": {"TABLE": []}}.items():
        module = types.ModuleType(name)
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize("source", WHOLE)
def test_what_is_only_looked_at_is_held(source: str) -> None:
    for after in ("TABLE.append(0)", "TABLE[0][0] = 3", "TABLE.reverse()", "TABLE[0].clear()"):
        assert changed(TABLE + source, after) == ["test_x.TABLE"]


@pytest.mark.parametrize("source", ROWS)
def test_of_what_is_handed_out_row_by_row_the_rows_may_change(source: str) -> None:
    assert changed(TABLE + source, "TABLE[0].append(0); TABLE[1][0] = 3") == []
    assert changed(TABLE + source, "TABLE[0] = [1]") == ["test_x.TABLE"]


@pytest.mark.parametrize("source", FREE)
def test_what_the_checks_change_or_hand_out_may_change(source: str) -> None:
    assert changed(TABLE + source, "TABLE[0].append(0); TABLE.append(2)") == []


SORTS = "    for given, want in CASES:\n        assert solve(given) == want\n"
ARGUMENTS = """
import pytest
@pytest.mark.parametrize("given, want", [([2, 1], [1, 2]), pytest.param([3], [3], id="one")])
@pytest.mark.parametrize(["seed"], [([0],)])
def test_sorts(given, want, seed):
    assert solve(given) == want
    seed.append(1)
"""
MADE = {
    "a row's place": (
        f"CASES = [([2, 1], [1, 2])]\ndef test_sorts():\n{SORTS}",
        "CASES[0][0].sort()",
        "CASES[0][1].sort(reverse=True)",
        "test_x.CASES",
    ),
    "arguments": (
        ARGUMENTS,
        "m = test_sorts.pytestmark; m[0].args[1][0][0].append(1); m[1].args[1][0][0].append(2)",
        "test_sorts.pytestmark[1].args[1][0][1].reverse()",
        "test_x.test_sorts (parametrize)",
    ),
    "arguments of pytest.param": (
        ARGUMENTS,
        "test_sorts.pytestmark[1].args[1][1].values[0].clear()",
        "test_sorts.pytestmark[1].args[1][1].values[1].clear()",
        "test_x.test_sorts (parametrize)",
    ),
    "a dictionary": (
        (
            "CASES = {'a': [1], 'b': [2]}\ndef test():\n  for name, want in CASES.items():\n"
            "    assert solve(name) == want\n  solve(CASES.get(1))"
        ),
        "CASES['a'].append(3)",
        "CASES['c'] = 1",
        "test_x.CASES",
    ),
    "a set": ("A = {1, 2}\ndef test(): assert solve() in A", "", "A.add(3)", "test_x.A"),
    "what a builtin makes": ("A = dict(a=[1])", "A['a'].pop()", "A['a'] = 2", "test_x.A"),
    "a suite's": (
        (
            "import unittest\nclass A(unittest.TestCase):\n  B = [1]\n  def test(self):\n"
            "    self.assertEqual(solve(), self.B)\nclass C:\n  D = [1]\n"
        ),
        "C.D.append(2)",
        "A.B.append(2)",
        "test_x.A.B",
    ),
    "a data object": (
        (
            "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n  b: int\n"
            "  c: list\nD = A(1, [2])\nE = A(1, [])\n"
            "def test(): assert solve() == D.b\ndef test_e(): solve(E)"
        ),
        "D.c.append(3); object.__setattr__(E, 'b', 5)",
        "object.__setattr__(D, 'b', 4)",
        "test_x.D",
    ),
    "a data object that is set": (
        (
            "from dataclasses import dataclass\n@dataclass\nclass A:\n  b: int\n"
            "D = A(1)\nB = [2]\ndef test(a): a.b = 1"
        ),
        "D.b = 3",
        "B.append(2)",
        "test_x.B",
    ),
}


@pytest.mark.parametrize("made", MADE)
def test_each_kind_of_table_is_held_as_far_as_it_stays(made: str) -> None:
    source, honest, bent, name = MADE[made]
    assert changed(source, honest) == []
    assert changed(source, bent) == [name]


RECORDS = {
    "a field without a value": "  b: int\n  c: int = field(init=False)\n",
    "a class variable without one": "  c: ClassVar[str]\n  b: int\n",
    "a property in a field's place": (
        "  b: int\n  c: InitVar[int] = 0\n  @property\n  def c(self): return [self.b]\n"
    ),
    "fields worked out when asked for": (
        "  b: int\n  c: int = field(init=False)\n  def __getattr__(self, name): return [name]\n"
    ),
}
"""Data classes of which not every field is a value that an object has."""


@pytest.mark.parametrize("record", RECORDS)
def test_a_field_that_has_no_value_stays_so(record: str) -> None:
    source = "from dataclasses import InitVar, dataclass, field\nfrom typing import ClassVar\n"
    source += f"@dataclass\nclass A:\n{RECORDS[record]}CASES = [A(1), A(2)]\n"
    source += "def test():\n  for case in CASES: assert solve() == case.b\n"
    assert changed(source, "") == []
    assert "test_x.CASES" in changed(source, "CASES.pop()")
    if "def" not in RECORDS[record]:
        assert changed(source, "CASES[0].b = 9") == ["test_x.CASES"]


def test_other_modules_may_be_of_use_to_a_solution() -> None:
    assert changed("STORE = {}", "STORE[1] = 2", "store") == []
    assert changed("STORE = {}", "STORE[1] = 2", "tests.conftest") == ["tests.conftest.STORE"]


def test_what_is_put_back_behind_a_test_is_still_told() -> None:
    source = "WANTED = [1]"
    module, bindings = types.ModuleType("test_x"), Bindings([source])
    bindings.run(pieces(ast.parse(source), "x.py"), module)
    vars(module)["WANTED"].append(2)
    bindings.look()
    vars(module)["WANTED"].pop()
    assert bindings.replaced() == ["test_x.WANTED"]


def test_no_more_is_held_than_can_be_compared_before_each_test() -> None:
    source = "B = [i for i in range(4999)]\nA = [1, 2]\nC = [3]\nD = [4]"
    assert changed(source, "A.pop(); D.pop()") == []
    assert changed(source, "B.pop(); C.pop()") == ["test_x.B", "test_x.C"]


def test_a_table_that_is_too_large_takes_nothing_from_the_others() -> None:
    source = "A = [i for i in range(5001)]\nB = [[1], [i for i in range(5000)]]\nC = [2]"
    after = "A.pop(); B.pop(); B[0].pop(); C.pop()"
    assert changed(source, after) == ["test_x.B", "test_x.C"]


def test_marks_of_other_kinds_are_no_arguments() -> None:
    source = "import pytest\n@pytest.mark.usefixtures()\nclass TestA:\n"
    source += "  pytestmark = pytest.mark.usefixtures()\n"
    assert changed(source + "  B = [1]", "TestA.B.pop()") == ["test_x.TestA.B"]
