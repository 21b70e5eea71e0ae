from __future__ import annotations

from agents.checks.vacuous_tests import drop_vacuous_tests, empty_solution, usable_files

TWO = """
from solution import add

def test_a():
    assert add(1) == 1

@mark
def test_b():
    pass
"""


def test_files_that_cannot_be_tried_are_named() -> None:
    files = {
        "test_good.py": "def test_a(): pass",
        "test_bad.py": "def (",
        "test_none.py": "x = 1",
        "solution.py": "def test_a(): pass",
        "../test_x.py": "def test_a(): pass",
        "test_there.py": "def test_a(): pass",
    }
    fit, unfit = usable_files(files, {"test_there.py": 1})
    assert list(fit) == ["test_good.py"]
    assert {name for name, _ in unfit} == files.keys() - fit.keys()


def test_an_empty_solution_has_what_was_promised_and_is_not_there() -> None:
    source = "import json, there, pkg, other\nfrom pkg.deep import x\nfrom solution import Y\n"
    files = empty_solution({"test_a.py": source}, "solution.py, json, pkg, there", {"there.py": 1})
    assert sorted(files) == ["pkg/deep.py", "solution.py"]
    names: dict[str, object] = {"__name__": "solution"}
    exec(files["solution.py"], names)
    made = names["__getattr__"]
    assert callable(made)
    assert made("add")(1, b=2) is None
    assert made("Stack")().pop() is None
    assert issubclass(made("EmptyError"), Exception)


def test_an_import_within_a_test_counts_like_one_at_the_top() -> None:
    within = "import solution\n    with open(0):\n        from deep.one import x\n"
    source = f"def test_a():\n    {within}"
    files = empty_solution({"test_a.py": source}, "solution.py and deep", {})
    assert sorted(files) == ["deep/one.py", "solution.py"]


def test_what_passes_or_cannot_be_collected_is_taken_out_of_its_file() -> None:
    tried = [["test_x.py::test_a[1]", "passed", ""], ["test_x.py::test_a[2]", "failed", ""]]
    tried += [["test_x.py::test_b", "passed", ""], ["test_y.py::test_c", "missing", ""]]
    kept = drop_vacuous_tests({"test_x.py": TWO, "test_y.py": "def test_c(): pass"}, tried)
    assert list(kept.files) == ["test_x.py"]
    assert "test_b" not in kept.files["test_x.py"]
    assert "@mark" not in kept.files["test_x.py"]
    assert kept.tests == ("test_x.py::test_a",)
    assert dict(kept.dropped) == {
        "test_x.py::test_b": "it passes without a solution",
        "test_y.py::test_c": "it cannot be collected",
    }


def test_of_a_suite_only_what_is_left_counts() -> None:
    suite = "class TestA:\n    def test_a(self): pass\n    def test_b(self): pass\n"
    tried = [["test_x.py::TestA::test_a", "passed", ""], ["test_x.py::TestA::test_b", "failed", ""]]
    kept = drop_vacuous_tests({"test_x.py": suite}, tried)
    assert kept.tests == ("test_x.py::TestA::test_b",)
    assert kept.files["test_x.py"] == "class TestA:\n    def test_b(self): pass\n"
