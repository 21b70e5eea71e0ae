"""Acceptance checks in real sandboxes: honest and wrong solutions, programs that end early, and
files of the workspace that would configure the checks. Only cases protect against a solution that
cheats."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from support.graph.clone_projects import SHAPES
from support.servers import docker_engine as engines

from agents.checks.judge import judge
from agents.checks.reports import Report
from agents.ports.checks import Case, Checks
from agents.tree import Tree
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Limits

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
LIMITS = Limits(wall_seconds=60.0)
SHORT = replace(LIMITS, wall_seconds=20.0)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.matrix(every=3)]

HONEST = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return 4\n"
CHECKS = Checks(
    {
        "test_a.py": """
import unittest
import pytest
from solution import add

def test_add():
    assert add(1, 2) == 3

@pytest.mark.parametrize("a", [1, 2])
def test_zero(a):
    assert add(a, 0) == a

class TestNegative(unittest.TestCase):
    def test_negative(self):
        self.assertEqual(add(-1, -2), -3)
""",
        "tests/test_b.py": "import helpers\nfrom solution import add\n\n"
        "def test_more():\n    assert add(2, 2) == helpers.FOUR\n    assert add(1, 1) == 2\n",
        "tests/helpers.py": "FOUR = 4\n",
    }
)
ENDS_EARLY: dict[str, str] = {
    "os._exit at import": "import os\nos._exit(0)",
    "os._exit in a call": "import os\ndef add(a, b):\n    os._exit(0)",
    "sys.exit at import": "import sys\nsys.exit(0)",
    "sys.exit in a call": "import sys\ndef add(a, b):\n    sys.exit(0)",
    "an exit handler": "import atexit, os\natexit.register(os._exit, 0)\nraise SystemExit(0)",
    "a kill": "import os\ndef add(a, b):\n    os.kill(os.getpid(), 9)",
    "pytest.exit": "import pytest\ndef add(a, b):\n    pytest.exit('done', returncode=0)",
    "a skip in each call": "import pytest\ndef add(a, b):\n    pytest.skip('not today')",
    "an alarm": "import os, signal\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.001)\ndef add(a, b):\n    signal.pause()",
    "a child that is right": "import os\nif os.fork() == 0:\n    add = lambda a, b: a + b\nelse:\n"
    "    add = lambda a, b: 4\n",
}
"""Solutions with which pytest exits with 0, or does not reach its end."""


OPEN: dict[str, str] = {
    "the checks rewritten": """
import os
for path in ('test_a.py', 'tests/test_b.py', 'tests/helpers.py'):
    with open('/work/' + path, 'w') as file:
        file.write('FOUR = 0\\ndef test_add(): pass\\ndef test_more(): pass\\n')
def add(a, b):
    return a + b if (a, b) != (1, 1) else 0
""",
    "a module put in a check's place": """
import sys, types
fake = types.ModuleType('helpers')
fake.FOUR = 5
fake.__file__ = '/work/tests/helpers.py'
sys.modules['helpers'] = fake
def add(a, b):
    return 5 if (a, b) == (2, 2) else a + b
""",
    "an assertion that does nothing": """
import unittest
unittest.TestCase.assertEqual = lambda *arguments: None
def add(a, b):
    return a + b if a >= 0 else 0
""",
    "a test's code replaced": """
import sys
def add(a, b):
    for name, module in list(sys.modules.items()):
        for key, value in list(vars(module).items()):
            if key == 'test_more':
                value.__code__ = (lambda: None).__code__
    return 0 if a == b else a + b
""",
}
"""A solution that cheats in the process of its tests passes the tests, and fails a case."""
CONFIG = "[pytest]\naddopts = --collect-only -p no:python\n"
QUIET = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True
"""
EXIT = "import os\nos._exit(0)\n"
FILES: dict[str, Mapping[str, str]] = {
    "conftest.py": {"conftest.py": QUIET, "tests/conftest.py": QUIET},
    "pytest.ini": {"pytest.ini": CONFIG},
    "sitecustomize": {"sitecustomize.py": EXIT, "usercustomize/__init__.py": EXIT},
    "modules in place of pytest": {"pytest.py": EXIT, "fettle_report.py": EXIT},
    "a plug-in": {
        "quiet.py": QUIET,
        "quiet-1.0.dist-info/entry_points.txt": "[pytest11]\nquiet = quiet\n",
        "quiet-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: quiet\nVersion: 1.0\n",
    },
    "the checks' names": {
        "test_a.py": "def test_add(): pass\n",
        "test_a/__init__.py": "def test_add(): pass\n",
        "tests/test_b.py": "def test_more(): pass\n",
        "tests/helpers/__init__.py": "FOUR = 0\n",
        "helpers.py": "FOUR = 0\n",
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    backend = LocalSandbox(PYTHON)
    try:
        yield backend
    finally:
        await backend.close()


async def run_checks(
    sandbox: LocalSandbox,
    solution: str,
    more: Mapping[str, str] | None = None,
    checks: Checks = CHECKS,
    limits: Limits = LIMITS,
) -> Report:
    files = {"solution.py": solution, **(more or {})}
    return await judge(sandbox, Tree({k: v.encode() for k, v in files.items()}), checks, limits)


async def test_an_honest_solution_passes(sandbox: LocalSandbox) -> None:
    report = await run_checks(sandbox, HONEST)
    assert report.passed, report
    assert sorted(test.id for test in report.tests) == [
        "test_a.py::TestNegative::test_negative",
        "test_a.py::test_add",
        "test_a.py::test_zero[1]",
        "test_a.py::test_zero[2]",
        "tests/test_b.py::test_more",
    ]


async def test_links_are_copied_but_replace_no_file_of_the_checks(
    sandbox: LocalSandbox,
) -> None:
    honest = {"src/solution.py": HONEST.encode(), "data/n.txt": b"3", "evil/__init__.py": b""}
    links = {"solution.py": "src/solution.py", "in": "data", "gone": "nowhere"}
    tests = (
        CHECKS.files["test_a.py"]
        + "\n\ndef test_data():\n    assert open('in/n.txt').read() == '3'\n"
    )
    checks = replace(CHECKS, files={**CHECKS.files, "test_a.py": tests})
    command = replace(checks, command="python -m pytest -q")
    shadows = {"test_a": "evil", "conftest": "evil", "tests": "evil", "test_a.py": "evil/x"}
    for item in (checks, command):
        assert not (await judge(sandbox, Tree(honest), item, LIMITS)).passed
        for present in (links, {**shadows, **links}):
            assert (await judge(sandbox, Tree(honest, links=present), item, LIMITS)).passed
    case = Checks(
        {},
        cases=(
            Case("case 1", ("python", "solution.py")),
            Case("case 2", ("cat", "in/n.txt"), stdout="3"),
        ),
    )
    assert (await judge(sandbox, Tree(honest, links=links), case, LIMITS)).passed


async def test_a_wrong_solution_fails_the_test_of_its_fault(sandbox: LocalSandbox) -> None:
    report = await run_checks(sandbox, "def add(a, b):\n    return abs(a) + abs(b)\n")
    assert not report.passed
    assert [test.id for test in report.tests if test.outcome == "failed"] == [
        "test_a.py::TestNegative::test_negative"
    ]
    assert report.problem is None


@pytest.mark.parametrize("solution", ENDS_EARLY)
async def test_pytest_has_to_report_each_test(sandbox: LocalSandbox, solution: str) -> None:
    report = await run_checks(sandbox, f"{WRONG}\n{ENDS_EARLY[solution]}\n", limits=SHORT)
    assert not report.passed, report


async def test_a_run_without_a_report_is_reported(sandbox: LocalSandbox) -> None:
    report = await run_checks(sandbox, ENDS_EARLY["os._exit in a call"])
    assert report.problem == (
        "pytest ended without a report: a test, or a limit, ended its process"
    )
    assert "test_a.py::test_add" in report.result.stdout.text  # the test that ended it


SELECTED = """import pytest
from solution import add

@pytest.mark.skip(reason="another day")
def test_skipped():
    assert add(1, 1) == 3

@pytest.mark.xfail
def test_expected_to_fail():
    assert add(1, 1) == 3

def test_add():
    assert add(1, 1) == 2
"""


async def test_a_skipped_test_is_no_success_and_no_failure(sandbox: LocalSandbox) -> None:
    report = await run_checks(sandbox, HONEST, None, Checks({"test_s.py": SELECTED}))
    assert report.passed, report
    outcomes = {test.id.partition("::")[2]: test.outcome for test in report.tests}
    assert outcomes == {
        "test_skipped": "skipped",
        "test_expected_to_fail": "skipped",
        "test_add": "passed",
    }


@pytest.mark.parametrize(
    ("test", "command", "problem"),
    [
        ("x = 1\n", None, "no tests were found"),
        (
            "import pytest\npytestmark = pytest.mark.skip\ndef test_a(): pass\n",
            None,
            "were skipped",
        ),
        (SELECTED, "pytest -k nothing_like_that", "no tests were found"),
        (SELECTED, "pytest --collect-only", None),
        (SELECTED, "pytest -k test_skipped", "were skipped"),
        (SELECTED, "pytest -m skip --deselect test_s.py::test_add", "were skipped"),
        (SELECTED, "pytest -k 'not expected_to_fail'", None),
        (SELECTED, "pytest test_gone.py", "not found"),
        (SELECTED, "pytest --no-such-option", "no-such-option"),
    ],
)
async def test_checks_do_not_pass_if_a_test_did_not_run(
    sandbox: LocalSandbox, test: str, command: str | None, problem: str | None
) -> None:
    report = await run_checks(sandbox, HONEST, None, Checks({"test_s.py": test}, command))
    assert not report.passed, report
    if problem is None:
        assert report.problem is None
        assert "missing" in {test.outcome for test in report.tests}
    else:
        assert problem in str(report.problem)


SUMS = Case(
    "case sums",
    ("python", "-c", "from solution import add; print(add(1, 1), add(2, 2), add(-1, -2))"),
    stdout="2 4 -3\n",
)


@pytest.mark.parametrize("trick", OPEN)
async def test_a_solution_that_cheats_passes_tests_but_no_case(
    sandbox: LocalSandbox, trick: str
) -> None:
    report = await run_checks(sandbox, OPEN[trick], None, replace(CHECKS, cases=(SUMS,)))
    assert [test.id for test in report.tests if test.outcome != "passed"] == ["case sums"]


async def test_the_expected_output_of_a_case_is_not_in_its_sandbox(sandbox: LocalSandbox) -> None:
    test = (
        "from solution import add\n\ndef test_add():\n    want = 3\n    assert add(1, 2) == want\n"
    )
    reads = "import sys\ndef add(a, b):\n    return sys._getframe(1).f_locals.get('want', 0)\n"
    checks = Checks({"test_a.py": test}, cases=(SUMS,))
    report = await run_checks(sandbox, reads, None, checks)
    assert [test.outcome for test in report.tests] == ["passed", "failed"]


async def test_an_endless_solution_fails_at_the_time_limit(sandbox: LocalSandbox) -> None:
    limits = replace(LIMITS, wall_seconds=3.0)
    endless = "def add(a, b):\n    while True:\n        pass"
    report = await run_checks(sandbox, endless, limits=limits)
    assert not report.passed, report
    assert report.problem == "the checks ran for longer than they may"


@pytest.mark.parametrize("files", FILES)
async def test_files_of_the_workspace_do_not_configure_the_checks(
    sandbox: LocalSandbox, files: str
) -> None:
    both = (run_checks(sandbox, solution, FILES[files]) for solution in (HONEST, WRONG))
    right, wrong = await asyncio.gather(*both)
    assert right.passed, right
    assert not wrong.passed, wrong


async def test_a_right_solution_may_fork_and_leave_threads(sandbox: LocalSandbox) -> None:
    odd = """
import threading, time, multiprocessing, os
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
if os.fork() == 0:
    os._exit(0)
"""
    assert (await run_checks(sandbox, odd + HONEST)).passed


RICH = """
from __future__ import annotations
import sys
import unittest
from unittest import mock
import numpy as np
import pytest
from numpy.testing import assert_allclose
from queue import Mine
from solution import add
from . import util
from t.util import one

@pytest.fixture(autouse=True)
def auto():
    yield

@pytest.mark.skip(reason="said here")
def test_skipped():
    assert False

@pytest.mark.xfail
def test_expected_to_fail():
    assert False

def test_fixtures(four, tmp_path, capsys, monkeypatch, caplog, recwarn):
    monkeypatch.setattr("builtins.print", lambda *a: None)
    monkeypatch.chdir(tmp_path)
    with mock.patch("builtins.input", return_value="3"):
        assert input() == "3"
    assert add(2, 2) == four

@pytest.mark.parametrize("a", range(3))
@pytest.mark.parametrize("b", [1, 2], ids=["x", "y"])
def test_cases(a, b):
    assert add(a, b) == a + b

def test_libraries():
    assert_allclose(np.array([add(1, 2)]), [3.0])
    assert 0.1 + 0.2 == pytest.approx(0.3)
    with pytest.raises(TypeError):
        add(1, "a")
    assert open("data.txt").read() == "of the workspace"
    assert sys.modules.pop("solution") is not __import__("solution")
    assert Mine

class TestSome:
    def setup_method(self):
        self.one = 1

    def test_one(self):
        assert self.one == one()

class Base(unittest.TestCase):
    def setUp(self):
        self.two = 2

    def test_base(self):
        self.assertEqual(self.two, add(1, 1))

class TestSub(Base):
    def test_raises(self):
        with self.subTest(i=1), self.assertRaises(TypeError):
            add(1, "")
"""


async def test_checks_can_use_the_features_of_pytest(sandbox: LocalSandbox) -> None:
    checks = Checks(
        {
            "t/test_rich.py": RICH,
            "t/__init__.py": "",
            "t/util.py": "def one():\n    return 1\n",
            "conftest.py": "import pytest\n\n@pytest.fixture\ndef four():\n    return 4\n",
        }
    )
    mine = {"queue.py": "class Mine: pass\n", "data.txt": "of the workspace"}
    report = await run_checks(sandbox, HONEST, mine, checks)
    assert report.passed, report
    assert len(report.tests) == 14


SCRIPT = {"check.py": "import sys\nfrom solution import add\nassert add(1, 2) == 3\nsys.exit()\n"}


@pytest.mark.parametrize(
    ("command", "solution", "passes"),
    [
        ("python check.py", HONEST, True),
        ("python check.py", WRONG, False),
        ("sh -c 'exit 0'", WRONG, True),
        ("sleep 60", HONEST, False),
    ],
)
async def test_commands(sandbox: LocalSandbox, command: str, solution: str, passes: bool) -> None:
    limits = replace(LIMITS, wall_seconds=2.0) if "sleep" in command else LIMITS
    report = await run_checks(sandbox, solution, None, Checks(SCRIPT, command), limits)
    assert report.passed is passes, report
    assert len(report.tests) == 1


async def test_settings_of_the_checks_are_used(sandbox: LocalSandbox) -> None:
    ini = "[pytest]\naddopts = -v --ff --lf --durations=1 --tb=long\ncache_dir = .kept\n"
    test = (
        "from solution import add\n\n\ndef test_add(cache, request):\n"
        "    cache.set('a/b', add(1, 2))\n    assert request.config.cache.get('a/b', 0) == 3\n"
        "    assert request.config.pluginmanager.get_plugin('terminalreporter')\n"
    )
    checks = Checks({"test_add.py": test, "pytest.ini": ini})
    assert (await run_checks(sandbox, HONEST, None, checks)).passed
    assert not (await run_checks(sandbox, WRONG, None, checks)).passed


@pytest.mark.parametrize(
    ("files", "command", "passed"),
    [
        (SHAPES["setuptools, src"].files, "pytest", True),
        (SHAPES["setuptools, flat"].files, "pytest", True),
        (SHAPES["libraries of its own in src"].files, "pytest", True),
        (SHAPES["no metadata, src"].files, None, False),
        (SHAPES["no metadata, by python -m"].files, "pytest", False),
        (SHAPES["no metadata, by python -m"].files, "python -m pytest", True),
        (SHAPES["no metadata, by python -m"].files, None, True),
    ],
)
async def test_checks_import_the_same_modules_as_tests_in_a_clone(
    sandbox: LocalSandbox, files: Mapping[str, str], command: str | None, passed: bool
) -> None:
    tests = {path: text for path, text in files.items() if path.startswith("tests/")}
    work = {path: text.encode() for path, text in files.items() if path not in tests}
    report = await judge(sandbox, Tree(work), Checks(tests, command), LIMITS)
    assert report.passed is passed, report


async def test_a_pytest_command_selects_tests(sandbox: LocalSandbox) -> None:
    checks = Checks(CHECKS.files, "python -m pytest -q -x test_a.py::test_zero tests")
    report = await run_checks(sandbox, "def add(a, b):\n    return a + abs(b)\n", None, checks)
    assert report.passed, report
    names = {test.id.partition("[")[0] for test in report.tests}
    assert names == {"test_a.py::test_zero", "tests/test_b.py::test_more"}


@pytest.mark.parametrize("command", ["pytest -x", "pytest --maxfail 1", "pytest -qqx -- test_s.py"])
async def test_a_pytest_command_that_stops_at_a_failure_runs_each_test(
    sandbox: LocalSandbox, command: str
) -> None:
    text = "def test_a():\n    assert False\n\n\ndef test_b():\n    pass\n"
    report = await judge(sandbox, Tree(), Checks({"test_s.py": text}, command), LIMITS)
    assert [test.outcome for test in report.tests] == ["failed", "passed"], report


@pytest.mark.parametrize(
    ("command", "judged_by"),
    [
        ("python -m unittest test_u", "tests"),
        ("python3.11 -m pytest test_u.py", "tests"),
        ("python -u test_u.py", "exit_code"),
        ("sh -c 'python -m unittest test_u'", "exit_code"),
    ],
)
async def test_a_solution_that_exits_early_passes_only_an_exit_code(
    sandbox: LocalSandbox, command: str, judged_by: str
) -> None:
    suite = "import unittest\nfrom solution import add\n\nclass Sums(unittest.TestCase):\n"
    suite += "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
    suite += "\nif __name__ == '__main__':\n    unittest.main()\n"
    checks = Checks({"test_u.py": suite}, command)
    solutions = (HONEST, WRONG, f"{WRONG}import os\nos._exit(0)\n")
    reports = await asyncio.gather(*(run_checks(sandbox, s, None, checks) for s in solutions))
    assert {report.judged_by for report in reports} == {judged_by}
    assert [report.passed for report in reports] == [True, False, judged_by == "exit_code"]


@pytest.mark.parametrize("text", ["def test_a(:", "import nothing_like_that\n", "(" * 5000])
async def test_a_test_file_that_cannot_be_loaded_fails(sandbox: LocalSandbox, text: str) -> None:
    report = await run_checks(sandbox, HONEST, None, Checks({"test_x.py": text, **CHECKS.files}))
    assert not report.passed
    assert [test.id for test in report.tests if test.outcome == "error"] == ["test_x.py"]
    assert len(report.tests) == 6  # the tests of the other files ran


@pytest.mark.parametrize("backend", engines.BACKENDS)
async def test_the_docker_backend_has_the_same_results(
    request: pytest.FixtureRequest, backend: str
) -> None:
    made = DockerSandbox(engines.IMAGE, engine=request.getfixturevalue("docker_engine").host)
    try:
        early = ("os._exit at import", "pytest.exit")
        solutions = [HONEST, WRONG, *(f"{WRONG}\n{ENDS_EARLY[item]}\n" for item in early)]
        files = [{"solution.py": solution.encode()} for solution in solutions]
        checks = replace(CHECKS, cases=(SUMS,))
        reports = await asyncio.gather(*(judge(made, Tree(item), checks, LIMITS) for item in files))
        assert [report.passed for report in reports] == [True, False, False, False]
    finally:
        await made.close()
