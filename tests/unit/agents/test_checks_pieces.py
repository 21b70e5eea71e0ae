from __future__ import annotations

import json
import shlex
import sys
import types

import pytest

from agents.checks.checks import Checks, Plan, plan
from agents.checks.judge import REPORT_BYTES, _read
from agents.checks.laying import copied
from agents.checks.program import program
from agents.checks.room.exits import is_success
from agents.checks.room.expected import collected, expected
from agents.checks.room.guard import Guard
from agents.checks.room.sentry import hook, without
from agents.checks.room.supervisor import _bounded
from agents.checks.telling import in_words
from agents.checks.unittests import aims
from sandbox.outcome import died
from sandbox.protocol import End, RunResult, SandboxUnavailable, Stream


def names(source: str) -> list[tuple[str, int | None, bool]]:
    return [(each.name, each.cases, each.may_skip) for each in expected("t.py", source)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def test_a(): pass\ndef helper(): pass", [("t.py::test_a", 1, False)]),
        ("async def test_a(): pass", [("t.py::test_a", 1, False)]),
        ("import pytest\n@pytest.fixture\ndef test_data(): pass", []),
        ("@fixture(scope='module')\ndef test_data(): pass", []),
        ("@p.mark.usefixtures('db')\ndef test_a(): pass", [("t.py::test_a", 1, False)]),
        (
            "@p.mark.parametrize('p', ['fixtures/a.txt'])\ndef test_a(p): pass",
            [("t.py::test_a", 1, False)],
        ),
        ("class TestA:\n  def test_b(self): pass", [("t.py::TestA::test_b", 1, False)]),
        ("class TestA:\n  def __init__(self): pass\n  def test_b(self): pass", []),
        (
            "import unittest as u\nclass Sums(u.TestCase):\n  def test_b(self): pass",
            [("t.py::Sums::test_b", 1, False)],
        ),
        (
            "class Base:\n  def test_b(self): pass\nclass TestA(Base):\n  def test_c(self): pass",
            [("t.py::TestA::test_c", 1, False), ("t.py::TestA::test_b", 1, False)],
        ),
        ("@p.mark.parametrize('a', [1, 2])\ndef test_a(a): pass", [("t.py::test_a", 2, False)]),
        (
            (
                "@p.mark.parametrize('a', (1, 2))\n@p.mark.parametrize('b', [1, 2, 3])\n"
                "def test_a(a, b): pass"
            ),
            [("t.py::test_a", 6, False)],
        ),
        ("@p.mark.parametrize('a', CASES)\ndef test_a(a): pass", [("t.py::test_a", None, False)]),
        ("@p.mark.parametrize('a', [*X])\ndef test_a(a): pass", [("t.py::test_a", None, False)]),
        (
            "@p.mark.parametrize('a', [1])\nclass TestA:\n  def test_b(self): pass",
            [("t.py::TestA::test_b", None, False)],
        ),
        ("@p.mark.skipif(True)\ndef test_a(): pass", [("t.py::test_a", 1, True)]),
        (
            "class A(TestCase):\n  @unittest.expectedFailure\n  def test_b(self): pass",
            [("t.py::A::test_b", 1, True)],
        ),
        ("pytestmark = p.mark.xfail\ndef test_a(): pass", [("t.py::test_a", 1, True)]),
        ("def test_a(): pass\ndef test_a(): pass", [("t.py::test_a", 1, False)]),
        (
            "class TestA:\n  pytestmark = [p.mark.skip]\n  def test_b(self): pass",
            [("t.py::TestA::test_b", 1, True)],
        ),
        (
            (
                "class TestBase:\n  __test__ = False\n  def test_b(self): pass\n"
                "class TestA(TestBase):\n  __test__ = True"
            ),
            [("t.py::TestA::test_b", 1, False)],
        ),
    ],
)
def test_the_source_tells_which_tests_there_must_be(
    source: str, found: list[tuple[str, int | None, bool]]
) -> None:
    assert names(source) == found


def test_cases_are_told_from_tests_of_a_longer_name() -> None:
    (test,) = expected("t.py", "def test_a(): pass")
    assert test.holds("t.py::test_a")
    assert test.holds("t.py::test_a[1-x]")
    assert not test.holds("t.py::test_ab")


@pytest.mark.parametrize(
    ("at", "cases"),
    [
        (["t.py"], 3),
        (["."], None),
        (["t.py::test_a"], 3),
        (["t.py::test_a[1]"], 1),
        (["t.py::test_a[1]", "t.py::test_a[x/y]", "t.py::test_a[1]"], 2),
        (["t.py::test_a[1]", "t.py"], 3),
        (["t.py::test_ab", "u.py"], None),
    ],
)
def test_what_is_named_must_be_reported(at: list[str], cases: int | None) -> None:
    source = "@p.mark.parametrize('a', [1, 2, 'x/y'])\ndef test_a(a): pass"
    (test,) = expected("t.py", source)
    meant = test.aimed(at)
    assert (meant.cases if meant else None) == cases


def test_files_are_collected_by_name_or_else_all() -> None:
    assert collected({"test_a.py": "", "help.py": "", "b/c_test.py": ""}) == [
        "b/c_test.py",
        "test_a.py",
    ]
    assert collected({"check.py": "", "conftest.py": "", "data.json": ""}) == ["check.py"]


FILES = {"test_a.py": "", "tests/test_b.py": "", "run.py": ""}


@pytest.mark.parametrize(
    ("command", "planned"),
    [
        (None, Plan("pytest", (), ("test_a.py", "tests/test_b.py"))),
        ("pytest -q -x", Plan("pytest", (), ("test_a.py", "tests/test_b.py"))),
        (
            "python -m pytest tests -k b",
            Plan("pytest", ("tests", "-k", "b"), ("test_a.py", "tests/test_b.py"), ("tests",)),
        ),
        ("pytest -q .", Plan("pytest", (), ("test_a.py", "tests/test_b.py"))),
        (
            "pytest --rootdir . ./",
            Plan("pytest", ("--rootdir", "."), ("test_a.py", "tests/test_b.py")),
        ),
        ("python run.py 'a b'", Plan("script", ("run.py", "a b"))),
        ("python other.py", Plan("command", ("python", "other.py"))),
        ("make check", Plan("command", ("make", "check"))),
        ("python3.12 -m pytest", Plan("pytest", (), ("test_a.py", "tests/test_b.py"))),
        ("python -u -BI run.py 1", Plan("script", ("run.py", "1"))),
        ("python3 -W error run.py", Plan("command", ("python3", "-W", "error", "run.py"))),
        ("pythonic run.py", Plan("command", ("pythonic", "run.py"))),
        ("python -m unittest", Plan("pytest", (), ("test_a.py", "tests/test_b.py"))),
        (
            "python3.11 -m unittest -v tests.test_b",
            Plan(
                "pytest",
                ("tests/test_b.py",),
                ("test_a.py", "tests/test_b.py"),
                ("tests/test_b.py",),
            ),
        ),
        ("python -m unittest other", Plan("command", ("python", "-m", "unittest", "other"))),
    ],
)
def test_a_command_says_how_checks_are_run(command: str | None, planned: Plan) -> None:
    assert plan(Checks(FILES, command)) == planned


SUITE = "import unittest\nclass TestA(unittest.TestCase):\n  def test_b(self): pass\n"


@pytest.mark.parametrize(
    ("words", "more", "named"),
    [
        ("", "", []),
        ("test_a t.test_b", "", ["test_a.py", "t/test_b.py"]),
        ("test_a.TestA.test_b", "", ["test_a.py::TestA::test_b"]),
        ("--verbose t/test_b.py", "", ["t/test_b.py"]),
        ("discover", "", []),
        ("discover -s t", "", ["t"]),
        ("discover .", "", []),
        ("discover -s nonesuch", "", None),
        ("discover -p '*.py'", "", None),
        ("-k one", "", None),
        ("help", "", None),
        ("", "def test_c(): pass", None),
        ("", "def load_tests(*_): pass", None),
        ("", "class TestB(TestA):\n  def test_c(self): self.skipTest('x')", None),
        ("", "def (", None),
    ],
)
def test_what_unittest_runs_pytest_runs_where_it_is_the_same(
    words: str, more: str, named: list[str] | None
) -> None:
    files = {"test_a.py": f"{SUITE}{more}", "t/test_b.py": SUITE, "help.py": ""}
    assert aims(shlex.split(words), files) == named


def test_suites_of_a_base_that_is_imported_are_left_to_unittest() -> None:
    derived = "from help import Base\nclass TestC(Base):\n  one = 1\n"
    assert aims([], {"test_a.py": SUITE, "test_c.py": derived}) is None
    assert aims([], {"test_a.py": SUITE, "test_c.py": "class A: pass\nclass B(A): pass"}) == []


@pytest.mark.parametrize("command", ["", "  ", "pytest 'x"])
def test_a_command_that_is_none_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plan(Checks(FILES, command))


def test_checks_may_bring_settings_of_their_own() -> None:
    assert plan(Checks({**FILES, "pytest.ini": ""})).settings == "/work/pytest.ini"


def test_a_copy_gives_way_to_checks_and_holds_nothing_that_bends_them() -> None:
    files = {
        **dict.fromkeys(("solution.py", "data/x.csv", "pyproject.toml", "tests/old.py"), b""),
        **dict.fromkeys(("test_a.py", "tests/conftest.py", "conftest/__init__.py"), b""),
        **dict.fromkeys(("sub/pytest.ini", "sitecustomize.py", "usercustomize/__init__.py"), b""),
        **dict.fromkeys(("a.pth", "__pycache__/a.pyc", "x.pyc", "sitecustomize.cpython.so"), b""),
        **dict.fromkeys(("q-1.dist-info/entry_points.txt", "deep", "flat/inner.py"), b""),
    }
    kept = copied(files, ["test_a.py", "deep/test_b.py", "flat"])
    assert sorted(kept) == ["data/x.csv", "pyproject.toml", "solution.py", "tests/old.py"]


def test_the_program_is_python() -> None:
    compile(program(), "program", "exec")


def answered(stdout: str, stderr: str = "", code: int = 0) -> RunResult:
    return RunResult(End.EXITED, code, None, Stream(stdout), Stream(stderr), 0.1)


def test_only_a_report_with_the_secret_counts() -> None:
    told = '{"tests": [{"id": "a", "outcome": "passed", "detail": ""}], "problem": null}'
    assert _read(answered(f"s3cret{told}"), "s3cret", "tests").passed
    for forged in (told, f"other{told}", "", f" s3cret{told}"):
        report = _read(answered(forged), "s3cret", "tests")
        assert not report.passed
        assert report.problem is not None
    assert not _read(answered(f"s3cret{told}", code=1), "s3cret", "tests").passed
    assert _read(died(End.MEMORY, 1.0), "s3cret", "tests").problem == (
        "the checks used more memory than they may"
    )


def test_what_an_exit_code_alone_has_decided_is_said() -> None:
    told = '{"tests": [{"id": "make check", "outcome": "%s", "detail": "%s"}], "problem": null}'
    passed = _read(answered("s" + told % ("passed", "")), "s", "exit_code").told({})
    assert passed["judged_by"] == "exit_code"
    assert in_words(passed) == "the checks have passed, by the exit code of `make check` alone"
    failed = _read(answered("s" + told % ("failed", "exit code 2")), "s", "exit_code").told({})
    assert in_words(failed) == (
        "the checks have not passed (exit code 2), by the exit code of `make check` alone"
    )
    assert in_words({**passed, "judged_by": "script"}) == "1 of 1 checks passed"
    assert _read(died(End.MEMORY, 1.0), "s", "exit_code").judged_by == "exit_code"


def test_without_pytest_nothing_is_judged() -> None:
    with pytest.raises(SandboxUnavailable, match="pytest is not installed"):
        _read(answered("", "ModuleNotFoundError: No module named 'pytest'\n", 1), "s", "tests")


def test_no_report_of_nothing_passes() -> None:
    assert not _read(answered('s{"tests": [], "problem": null}'), "s", "tests").passed


def test_details_and_tests_are_bounded_failures_first() -> None:
    many = [
        {"id": f"{i}{'x' * 600}", "outcome": "passed", "detail": "x" * 2000} for i in range(600)
    ]
    many[-1]["outcome"] = "failed"
    told = _bounded(many)
    assert len(told) == 500
    assert told[0]["outcome"] == "failed"
    assert sum(len(test["detail"]) for test in told) == 100_000
    assert len(json.dumps(told)) < REPORT_BYTES / 2


@pytest.fixture
def module() -> types.ModuleType:
    made = types.ModuleType("judge")
    exec(
        "import os\ndef outcome(): pass\nclass A:\n  def b(self): pass\nA.__module__ = 'judge'",
        vars(made),
    )
    return made


@pytest.mark.parametrize(
    ("bent", "name"),
    [
        ("outcome = lambda: 1", "judge.outcome"),
        ("outcome.__code__ = (lambda: 1).__code__", "judge.outcome"),
        ("os = None", "judge.os"),
        ("any = lambda found: False", "judge.any"),
        ("A.b = lambda self: 1", "A.b"),
    ],
)
def test_a_guard_sees_what_is_changed_in_the_judge(
    module: types.ModuleType, bent: str, name: str
) -> None:
    guard = Guard([], [module])
    assert guard.changed() == []
    exec(bent, vars(module))
    assert guard.changed() == [name]


def test_a_sentry_denies_walks_and_new_code_for_the_judge_alone(module: types.ModuleType) -> None:
    hear = hook([module])
    for event in ("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames"):
        with pytest.raises(RuntimeError, match=event):
            hear(event, ())
    code = (lambda: 1).__code__
    with pytest.raises(RuntimeError, match="own functions"):
        hear("object.__setattr__", (vars(module)["outcome"], "__code__", code))
    hear("object.__setattr__", (names, "__code__", code))
    hear("open", ("file", "r", 0))


@pytest.mark.parametrize(
    "event", ["sys.settrace", "sys.setprofile", "sys.monitoring.register_callback"]
)
def test_a_sentry_denies_what_traces_a_test(event: str) -> None:
    with pytest.raises(RuntimeError, match=event):
        hook([])(event, ())


def test_to_want_no_trace_is_not_denied() -> None:
    asked: list[object] = []
    settrace = without(asked.append)
    settrace(None)
    assert asked == []
    settrace(print)
    assert asked == [print]


class Lazy:
    """As the settings of a framework are: whoever asks what it is has it made."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("not configured")


def test_a_guard_asks_no_value_what_it_is(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    vars(module).update(lazy=Lazy())
    vars(module)["A"].lazy = Lazy()
    for name in ("lazily", "pytest_lazily"):
        library = types.ModuleType(name)
        vars(library).update(
            vars(module), __name__=name, called=type("C", (Lazy,), {"__call__": id})()
        )
        monkeypatch.setitem(sys.modules, name, library)
    monkeypatch.setitem(sys.modules, "lazily.none", Lazy())  # type: ignore[arg-type]
    guard = Guard(["lazily"], [module, sys.modules["pytest_lazily"]])
    assert guard.changed() == []
    del vars(module)["lazy"]
    assert guard.changed() == ["judge.lazy"]


def test_what_a_code_says_of_itself_ends_nothing_well() -> None:
    class Zero(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    class Claims:
        __class__ = int  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    assert [is_success(code) for code in (None, 0, False)] == [True] * 3
    assert [is_success(code) for code in (1, True, "", 0.0, Zero(4), Claims())] == [False] * 6
