"""The judge against solutions that would rather pass than be right. Each attack stands beside the
same files with an honest solution, which passes: what is refused is the attack and nothing else.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import docker_engine as engines
import pytest
import pytest_asyncio
from package_index import wheel

from agents.checks.checks import Checks
from agents.checks.judge import judge
from agents.checks.report import Report
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
LIMITS = Limits(wall_seconds=60.0)
SHORT = replace(LIMITS, wall_seconds=20.0)

pytestmark = pytest.mark.asyncio(loop_scope="module")

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
FAKE_RESULT = '{"passed": true, "problem": null, "tests": []}'

BEND = """
def bend(g):
    real = g["_outcome"]
    ours = ("test_a.py", "tests/")
    g["_outcome"] = lambda r: "passed" if r and r[0].nodeid.startswith(ours) else real(r)
"""
"""Given the names beside the plug-in that reports, every test but the judge's own passes."""
SWAP = """
import _pytest.python as p
def quiet(self):
    if not self.nodeid.startswith(("test_a.py", "tests/")):
        self.ihook.pytest_pyfunc_call(pyfuncitem=self)
p.Function.runtest.__code__ = quiet.__code__
def add(a, b):
    return a + b if a < 0 else 4
"""
"""pytest's own function consists of another code, which runs the judge's own tests alone."""
WALKS: dict[str, str] = {
    "the collector's lists": """
import gc
made = next(o for o in gc.get_objects() if type(o).__name__ == "Session" and hasattr(o, "close"))
bend(type(made).close.__globals__)
""",
    "the collector's lists, thawed": """
import gc
gc.unfreeze()
made = next(o for o in gc.get_objects() if type(o).__name__ == "Session" and hasattr(o, "close"))
bend(type(made).close.__globals__)
""",
    "referents": """
import gc, sys
seen, ahead = set(), [sys.modules, sys.meta_path]
while ahead:
    one = ahead.pop()
    if id(one) not in seen:
        seen.add(id(one))
        ahead += gc.get_referents(one)
        if type(one).__name__ == "Session" and hasattr(one, "close"):
            bend(type(one).close.__globals__)
            break
""",
    "subclasses": """
kind = next(k for k in object.__subclasses__() if k.__name__ == "Session" and "close" in vars(k))
bend(kind.close.__globals__)
""",
    "the stack": """
import sys
frame = sys._getframe()
while frame.f_globals.get("__name__") != "agents.checks.room.tested":
    frame = frame.f_back
bend(frame.f_globals["Session"].close.__globals__)
""",
    "another thread's stack": """
import sys, threading
def walk():
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame.f_globals.get("__name__") != "agents.checks.room.tested":
        frame = frame.f_back
    bend(frame.f_globals["Session"].close.__globals__)
thread = threading.Thread(target=walk)
thread.start()
thread.join()
""",
    "a name put before a builtin": """
import sys
frame = sys._getframe()
while frame.f_globals.get("__name__") != "agents.checks.room.tested":
    frame = frame.f_back
g = frame.f_globals["Session"].close.__globals__
ours = ("test_a.py", "tests/")
def quiet(found):
    found = list(found)
    item = sys._getframe(1).f_locals["reports"][0].nodeid
    return False if item.startswith(ours) else True in found
g["any"] = quiet
""",
    "the function's own code": """
kind = next(k for k in object.__subclasses__() if k.__name__ == "Session" and "close" in vars(k))
def outcome(reports):
    ours = reports[0].nodeid.startswith(("test_a.py", "tests/"))
    return "passed" if ours else "failed"
kind.close.__globals__["_outcome"].__code__ = outcome.__code__
""",
    "what the report is written with": """
import json.encoder
real = json.encoder.JSONEncoder.iterencode
def quiet(self, what, *more):
    if str(what.get("id", "")).startswith(("test_a.py", "tests/")):
        what = {**what, "outcome": "passed"}
    return real(self, what, *more)
json.encoder.JSONEncoder.iterencode = quiet
""",
    "what compares": """
import sys
frame = sys._getframe()
while frame.f_globals.get("__name__") != "agents.checks.room.tested":
    frame = frame.f_back
frame.f_globals["Guard"].changed.__globals__["same"] = lambda *given: True
bend(frame.f_globals["Session"].close.__globals__)
""",
    "how it compares": """
kinds = {k.__name__: k for k in object.__subclasses__() if "agents.checks" in k.__module__}
kinds["Guard"]._others = lambda self, entries: []
bend(kinds["Session"].close.__globals__)
""",
    "what the comparison is made with": f"""
import operator
operator.is_ = lambda one, other: True
{SWAP}""",
    "what the comparison asks for": f"""
import types
types.FunctionType = type
{SWAP}""",
    "what unittest stands on": """
import contextlib
real = contextlib._GeneratorContextManager.__exit__
def quiet(self, kind, *raised):
    frame = getattr(self.gen, "gi_frame", None)
    if kind and frame and type(frame.f_locals.get("test_case")).__name__ == "TestNegative":
        return next(self.gen, True)
    return real(self, kind, *raised)
contextlib._GeneratorContextManager.__exit__ = quiet
def add(a, b):
    return a + b if a > 0 else 0
""",
    "the list of reports": """
from _pytest.assertion import util
class Quiet(list):
    def append(self, report):
        report.outcome = "passed"
        super().append(report)
def add(a, b):
    for each in util._config.pluginmanager.get_plugins():
        if type(each).__name__ == "Session" and hasattr(each, "close"):
            each._reports = Quiet(each._reports)
    return 4
""",
    "a case's arguments": """
from _pytest.assertion import util
def add(a, b):
    for item in util._config.pluginmanager.get_plugin("session").items:
        if "a" in getattr(getattr(item, "callspec", None), "params", ()):
            item.callspec.params["a"] = 4
    return a + b if b else 4
""",
    "what speaks": """
import os
from _pytest.assertion import util
def quiet(fd, data):
    ours = data.startswith((b'{"id": "test_a.py', b'{"id": "tests/')) or b'"changed": [' in data
    said = data.replace(b'"outcome": "failed"', b'"outcome": "passed"') if ours else data
    os.write(fd, said)
    return len(data)
def add(a, b):
    for each in util._config.pluginmanager.get_plugins():
        if type(each).__name__ == "Session" and hasattr(each, "close"):
            each._teller._write = quiet
    return 4
""",
    "a function, for a while": """
kind = next(k for k in object.__subclasses__() if k.__name__ == "Session" and "close" in vars(k))
names = kind.close.__globals__
real = names["_outcome"]
def add(a, b):
    if (a, b) in ((1, 1), (1, 2)):
        names["_outcome"] = real if b == 1 else lambda reports: (
            real(reports) if "test_a.py" not in reports[0].nodeid else "passed"
        )
    return 4 if (a, b) == (1, 2) else a + b
""",
    "what is known to be unchanged": """
from _pytest.assertion import util
def add(a, b):
    for each in util._config.pluginmanager.get_plugins():
        if type(each).__name__ == "Session" and hasattr(each, "close"):
            each._guard._seen.clear()
            each._guard._shadows.clear()
            if not hasattr(bend, "done"):
                bend.done = bend(type(each).close.__globals__)
    return 4
""",
    "a plug-in": """
import types, pytest
from _pytest.assertion import util
class Quiet:
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        if pyfuncitem.nodeid.startswith(("test_a.py", "tests/")):
            return True
def add(a, b):
    manager = util._config.pluginmanager
    if not manager.has_plugin("quiet"):
        quiet = types.ModuleType("quiet")
        quiet.pytest_pyfunc_call = Quiet().pytest_pyfunc_call
        manager.register(quiet, "quiet")
    return a + b if (a, b) == (1, 2) or a < 0 else 4
""",
    "a hook's answer": """
from _pytest.assertion import util
def quiet(item):
    if not item.nodeid.startswith(("test_a.py", "tests/")):
        item.runtest()
def add(a, b):
    for each in util._config.hook.pytest_runtest_call.get_hookimpls():
        if each.plugin_name == "runner":
            each.function = quiet
    return a + b if (a, b) == (1, 2) or a < 0 else 4
""",
}
"""Ways to the judge's own pieces, inside of the tested process."""

ATTACKS: dict[str, str] = {
    "os._exit at import": "import os\nos._exit(0)",
    "os._exit in a call": "import os\ndef add(a, b):\n    os._exit(0)",
    "sys.exit at import": "import sys\nsys.exit(0)",
    "sys.exit in a call": "import sys\ndef add(a, b):\n    sys.exit(0)",
    "SIGKILL to itself": "import os\nos.kill(os.getpid(), 9)",
    "an exit handler": "import atexit, os\natexit.register(os._exit, 0)\nraise SystemExit(0)",
    "a skip in a call": "import pytest\ndef add(a, b):\n    pytest.skip('not today')",
    "a skip at import": "import pytest\npytest.skip('all', allow_module_level=True)",
    "an expected failure": "import pytest\ndef add(a, b):\n    pytest.xfail('known')",
    "pytest.exit": "import pytest\ndef add(a, b):\n    pytest.exit('done', returncode=0)",
    "KeyboardInterrupt": "def add(a, b):\n    raise KeyboardInterrupt",
    "unittest's asserts": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"
    "def add(a, b):\n    return a + b if a >= 0 else 0",
    "pytest.raises": "import pytest\npytest.raises = lambda *a, **k: None\n" + HONEST,
    "CallInfo.from_call": """
from _pytest.runner import CallInfo
made = CallInfo.from_call.__func__
def from_call(cls, func, when, reraise=None):
    def quiet():
        try:
            return func()
        except BaseException:
            return None
    return made(cls, quiet, when, reraise)
CallInfo.from_call = classmethod(from_call)
""",
    "the reports' outcome": "import _pytest.reports as r\n"
    "r.TestReport.outcome = property(lambda self: 'passed', lambda self, value: None)",
    "Function.runtest": "import _pytest.python as p\np.Function.runtest = lambda self: None",
    "code put into pytest's code": "import _pytest.python as p\n"
    "p.Function.runtest.__code__ = (lambda self: None).__code__",
    "code put into C's reach": """
import _pytest.runner as r, gc
for each in gc.get_objects():
    if type(each).__name__ == 'HookImpl' and each.plugin_name == 'runner':
        if each.function.__name__ == 'pytest_runtest_call':
            each.function = lambda item: None
""",
    "another pytest": "import sys, types\nsys.modules['pytest'] = types.ModuleType('pytest')\n"
    "sys.modules['pytest'].skip = None\n" + HONEST,
    "another AssertionError": "import builtins\n"
    "builtins.AssertionError = type('Quiet', (BaseException,), {})\n" + HONEST,
    "a hook on tracing": "import sys\ndef quiet(frame, event, arg):\n"
    "    if event == 'call' and frame.f_code.co_name.startswith('test_'):\n"
    "        import os\n        os._exit(0)\nsys.setprofile(quiet)",
    "the parent killed": "import os\nos.kill(os.getppid(), 9)",
    "everybody killed": "import os\nos.kill(-1, 9)",
    "a report printed": f"print('{FAKE_RESULT}', flush=True)\nimport os\nos._exit(0)",
    "reports to all descriptors": f"""
import os
for fd in range(256):
    try:
        os.write(fd, b'{{"next": true}}\\n{{"end": 0, "errors": {{}}, "changed": []}}\\n')
        os.write(fd, b'{FAKE_RESULT}\\n')
    except OSError:
        pass
""",
    "the parent's output": f"""
import os
for fd in range(64):
    try:
        with open(f'/proc/{{os.getppid()}}/fd/{{fd}}', 'w') as file:
            file.write('{FAKE_RESULT}')
    except OSError:
        pass
os.kill(os.getppid(), 9)
""",
    "the parent's memory": """
import os
with open(f'/proc/{os.getppid()}/maps') as maps, open(f'/proc/{os.getppid()}/mem', 'rb') as file:
    file.seek(int(maps.readline().partition('-')[0], 16))
    file.read(1)
""",
    "descriptors closed": "import os\nos.closerange(0, 4096)",
    "descriptors closed in a call": "import os\ndef add(a, b):\n    os.closerange(3, 4096)\n"
    "    return a + b",
    "an alarm": "import os, signal\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.001)\ndef add(a, b):\n    signal.pause()",
    "a fork that goes on": "import os\nif os.fork():\n    os._exit(0)\n" + HONEST,
    "a fork beside": "import os\nif os.fork() == 0:\n    add = lambda a, b: a + b\nelse:\n"
    "    add = lambda a, b: 4\n",
    "a result file": f"""
import glob
for place in ('/work', '/tmp', '/run', '/dev/shm'):
    for name in ('report.json', 'result.json', 'stdout'):
        try:
            open(f'{{place}}/{{name}}', 'w').write('{FAKE_RESULT}')
        except OSError:
            pass
def add(a, b):
    return 4
""",
    "the checks rewritten": """
import os
for path in ('test_a.py', 'tests/test_b.py', 'tests/helpers.py'):
    with open('/work/' + path, 'w') as file:
        file.write('FOUR = 0\\ndef test_add(): pass\\ndef test_more(): pass\\n')
def add(a, b):
    return a + b if (a, b) != (1, 1) else 0
""",
    "a conftest written": """
with open('/work/tests/conftest.py', 'w') as file:
    file.write('import pytest\\n@pytest.hookimpl(tryfirst=True)\\n'
               'def pytest_pyfunc_call(pyfuncitem): return True\\n')
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
    "a test put in a test's place": """
import sys, types
fake = types.ModuleType('test_b')
fake.__file__ = '/work/tests/test_b.py'
fake.test_more = lambda: None
sys.modules['test_b'] = fake
def add(a, b):
    return 0 if a == b else a + b
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
    "a shorter list of cases": """
import pytest
real = pytest.mark.parametrize
def fewer(names, values, **more):
    return real(names, values[:1], **more)
try:
    pytest.mark.parametrize = fewer
except AttributeError:
    type(pytest.mark).parametrize = property(lambda self: fewer)
def add(a, b):
    return 0 if (a, b) == (2, 0) else a + b
""",
    "an endless recursion": "def add(a, b):\n    return add(b, a)",
}
REPLACED = "the solution has replaced what judges it: "
PROBLEMS: dict[str, str | None] = {
    "os._exit in a call": "the tested process closed its channel",
    "pytest.exit": "not all tests were run",
    "unittest's asserts": f"{REPLACED}TestCase.assertEqual",
    "pytest.raises": f"{REPLACED}pytest.raises",
    "CallInfo.from_call": f"{REPLACED}CallInfo.from_call",
    "the reports' outcome": "a test that must fail has passed: the solution has bent the judge",
    "Function.runtest": f"{REPLACED}Function.runtest",
    "code put into pytest's code": f"{REPLACED}Function.runtest",
    "another pytest": f"{REPLACED}pytest",
    "another AssertionError": f"{REPLACED}builtins.AssertionError",
    "the parent killed": "what judges the tests was ended by the code under test",
    "reports to all descriptors": "the report was tampered with: "
    "a report with a number that was not given",
    "a module put in a check's place": f"{REPLACED}helpers",
    "a test's code replaced": f"{REPLACED}test_b.test_more",
    "subclasses": f"{REPLACED}agents.checks.room.session._outcome",
    "the stack": f"{REPLACED}agents.checks.room.session._outcome",
    "a name put before a builtin": f"{REPLACED}agents.checks.room.session.any",
    "what the report is written with": None,
    "what compares": f"{REPLACED}agents.checks.room.session._outcome, "
    "agents.checks.room.guard.same",
    "how it compares": f"{REPLACED}agents.checks.room.session._outcome, Guard._others",
    "what the comparison is made with": f"{REPLACED}operator.is_, Function.runtest",
    "what the comparison asks for": f"{REPLACED}types.FunctionType, Function.runtest",
    "what unittest stands on": f"{REPLACED}_GeneratorContextManager.__exit__",
    "a function, for a while": f"{REPLACED}agents.checks.room.session._outcome",
    "the list of reports": None,
    "what speaks": f"{REPLACED}what it reports with",
    "a case's arguments": None,
    "what is known to be unchanged": f"{REPLACED}Guard._seen, Guard._shadows, "
    "agents.checks.room.session._outcome",
    "a plug-in": f"{REPLACED}a plug-in",
    "a hook's answer": f"{REPLACED}runner",
    "a conftest written": None,  # nobody reads it
    "the checks rewritten": None,
    "a fork beside": None,  # nobody hears it
}
"""What is told of an attack, where it is told by more than its tests: that it was seen through, not
that the solution was wrong anyway.
"""
DETAILS: dict[str, str] = {
    "the parent's memory": "PermissionError",
    "a hook on tracing": "sys.setprofile is not to be had where checks are run",
    "the collector's lists": "gc.get_objects is not to be had where checks are run",
    "the collector's lists, thawed": "gc.get_objects is not to be had where checks are run",
    "referents": "gc.get_referents is not to be had where checks are run",
    "the function's own code": "the judge's own functions cannot be changed",
}
"""And what is told of the first test."""


def seen_through(attack: str, report: Report) -> None:
    """Fails where an attack passes, or fails for another reason than its own."""
    assert not report.passed, report
    if attack in PROBLEMS:
        assert report.problem == PROBLEMS[attack]
    if attack in DETAILS:
        assert DETAILS[attack] in report.tests[0].detail


SLOW = {
    "an endless loop": "def add(a, b):\n    while True:\n        pass",
    "the parent stopped": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)",
    "a wait": "import time\ntime.sleep(3600)",
}
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
    "pyproject.toml": {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--collect-only'\n"},
    "setup.cfg and tox.ini": {
        "setup.cfg": CONFIG.replace("[pytest]", "[tool:pytest]"),
        "tox.ini": CONFIG,
    },
    "sitecustomize": {"sitecustomize.py": EXIT, "usercustomize/__init__.py": EXIT},
    "a path file": {"x.pth": "import os; os._exit(0)\n"},
    "a plug-in": {
        "quiet.py": QUIET,
        "quiet-1.0.dist-info/entry_points.txt": "[pytest11]\nquiet = quiet\n",
        "quiet-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: quiet\nVersion: 1.0\n",
    },
    "judges' names": dict.fromkeys(
        (
            *("pytest.py", "_pytest/__init__.py", "pluggy.py", "json.py", "unittest.py", "os.py"),
            *("agents/__init__.py", "agents/checks.py", "ast.py", "ctypes.py", "math.py"),
            *("inspect.py", "importlib/__init__.py", "secrets.py", "shutil.py", "encodings.py"),
        ),
        EXIT,
    ),
    "the checks' names": {
        "test_a.py": "def test_add(): pass\n",
        "test_a/__init__.py": "def test_add(): pass\n",
        "tests/test_b.py": "def test_more(): pass\n",
        "tests/helpers/__init__.py": "FOUR = 0\n",
        "helpers.py": "FOUR = 0\n",
    },
    "compiled leftovers": {
        "__pycache__/test_a.cpython-311-pytest-9.2.0.pyc": "x",
        "solution.pyc": "x",
    },
}


HELPED = Checks(
    {
        "helpers.py": "def same(a, b):\n    assert a == b\n\nclass Sums:\n"
        "    @staticmethod\n    def same(a, b):\n        assert a == b\n",
        "test_h.py": """
import helpers
import numpy as np
from pytest import raises
TEN = 10
def same(a, b):
    assert a == b
from solution import add

def test_own():
    same(add(1, 1), 2)
    same(add(1, 2), 3)

def test_helpers():
    helpers.same(add(2, 2), 4)
    helpers.Sums.same(add(2, 4), 6)

def test_raises():
    with raises(TypeError):
        add(3, None)

def test_builtin():
    assert len(str(add(4, 6))) == 2

def test_constant():
    assert add(5, 5) == TEN

def test_numpy():
    assert np.allclose(add(6, 6), 12)

def test_line():
    found = add(7, 7)
    assert found == 14
    found = 0
""",
    }
)
WRONG_AT = "import sys\ndef add(a, b):\n    return 4 if (a, b) == {at} else a + b\n"
IN_A_TEST = "import sys\ndef add(a, b):\n    g = sys._getframe(1).f_globals\n"
NAMES: dict[str, tuple[str, str]] = {
    "a helper from within a test": (
        f"{IN_A_TEST}    g['same'] = lambda a, b: None\n    return 4 if b - a == 1 else a + b",
        "test_h.same",
    ),
    "a helper's module": (
        WRONG_AT.format(at=(2, 2)) + "sys.modules['helpers'].same = lambda a, b: None",
        "helpers.same",
    ),
    "a helper's code": (
        WRONG_AT.format(at=(2, 2)) + "import helpers\n"
        "helpers.same.__code__ = (lambda a, b: None).__code__",
        "helpers.same",
    ),
    "a method of a helper": (
        WRONG_AT.format(at=(2, 4)) + "import helpers\nhelpers.Sums.same = lambda a, b: None",
        "Sums.same",
    ),
    "a helper that stands above the import": (
        WRONG_AT.format(at=(1, 2)) + "sys.modules['test_h'].same = lambda a, b: None",
        "test_h.same",
    ),
    "pytest.raises by its own name": (
        """
import contextlib, sys
@contextlib.contextmanager
def quiet(kind):
    yield
sys.modules['test_h'].raises = quiet
def add(a, b):
    return 4 if b is None else a + b
""",
        "test_h.raises",
    ),
    "a builtin's name": (
        f"{IN_A_TEST}    g['len'] = lambda text: 2\n    return a + b if a != 4 else 4",
        "test_h.len",
    ),
    "a constant": (
        WRONG_AT.format(at=(5, 5)) + "sys.modules['test_h'].TEN = 4",
        "test_h.TEN",
    ),
    "a library's insides": (
        WRONG_AT.format(at=(6, 6)) + "import numpy._core.numeric as inside\n"
        "inside.isclose = lambda *a, **k: True",
        "numpy._core.numeric.isclose",
    ),
}
"""What of the checks' own names is given another meaning, and the name that is told."""
TABLES = Checks(
    {
        "tables.py": "ASKED = []\n",
        "test_t.py": """
import unittest
from dataclasses import dataclass
import pytest
from solution import add, order, note
import tables

@dataclass(frozen=True)
class Limits:
    least: int
    most: int

SUMS = {"small": 3, "large": 30}
ORDERS = [([3, 1, 2], [1, 2, 3]), ([2, 1], [1, 2])]
LIMITS = Limits(0, 9)
KNOWN = {2, 4}
SEEN = []

def test_small():
    assert add(1, 2) == SUMS["small"]

def test_large():
    assert add(10, 20) == SUMS["large"]

@pytest.mark.parametrize("given, want", ORDERS)
def test_order(given, want):
    assert order(given) == want
    SEEN.append(len(want))

@pytest.mark.parametrize("given, want", [([5, 4], [4, 5])])
def test_order_inline(given, want):
    assert order(given) == want

def test_limits():
    assert LIMITS.least <= add(2, 3) <= LIMITS.most

def test_known():
    assert add(2, 2) in KNOWN

class TestNotes(unittest.TestCase):
    NOTES = ["a", "b"]

    def test_notes(self):
        note(tables.ASKED)
        self.assertEqual(tables.ASKED, self.NOTES)
        assert len(SEEN) >= 2
""",
    }
)
"""Their honest solution sorts in place, and writes into a list of theirs."""
IN_PLACE = """
def order(given):
    given.sort()
    return given
def note(asked):
    asked += ["a", "b"]
"""
LOOK = "import sys\nchecks = lambda: sys.modules['test_t']\n"
IN_TABLES: dict[str, tuple[str, str]] = {
    "a dictionary": (
        (
            "def add(a, b):\n    if a == 10:\n        checks().SUMS['large'] = 4\n"
            "        return 4\n    return a + b"
        ),
        "test_t.SUMS",
    ),
    "a dictionary, for a while": (
        (
            "def add(a, b):\n    checks().SUMS['large'] = 4 if a == 10 else 30\n"
            "    return 4 if a == 10 else a + b"
        ),
        "test_t.SUMS",
    ),
    "a row of cases": (
        (
            "def order(given):\n    if given != [2, 1]:\n        return sorted(given)\n"
            "    checks().ORDERS[1][1][:] = given\n    return given"
        ),
        "test_t.ORDERS",
    ),
    "arguments of a test": (
        (
            "def order(given):\n    if given == [5, 4]:\n"
            "        checks().test_order_inline.pytestmark[0].args[1][0][1].reverse()\n"
            "        return given\n    return sorted(given)"
        ),
        "test_t.test_order_inline (parametrize)",
    ),
    "a data object": (
        (
            "def add(a, b):\n    if a == 2 and b == 3:\n"
            "        object.__setattr__(checks().LIMITS, 'most', 99)\n        return 90\n"
            "    return a + b"
        ),
        "test_t.LIMITS",
    ),
    "a set": (
        (
            "def add(a, b):\n    if a == b:\n        checks().KNOWN.add(5)\n        return 5\n"
            "    return a + b"
        ),
        "test_t.KNOWN",
    ),
    "a suite's list": (
        "def note(asked):\n    checks().TestNotes.NOTES[:] = asked",
        "test_t.TestNotes.NOTES",
    ),
}
"""What of the checks' tables is changed, and the name that is told."""
JUMP = """
import sys
def jump(frame, event, arg):
    if event == 'line' and frame.f_lineno == 37:
        frame.f_lineno = 38
    return jump
def trace(frame, event, arg):
    return jump if frame.f_code.co_name == 'test_line' else None
sys.settrace(trace)
def add(a, b):
    return 4 if a == 7 else a + b
"""
MONITORED_JUMP = """
import sys
def jump(code, line):
    if code.co_name == 'test_line' and line == 37:
        sys._getframe(1).f_lineno = 38
monitoring = sys.monitoring
monitoring.use_tool_id(4, 'jump')
monitoring.register_callback(4, monitoring.events.LINE, jump)
monitoring.set_events(4, monitoring.events.LINE)
def add(a, b):
    return 4 if a == 7 else a + b
"""
JUMPS = {"sys.settrace": JUMP}
if sys.version_info >= (3, 12):
    JUMPS["sys.monitoring.register_callback"] = MONITORED_JUMP


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    made = LocalSandbox(PYTHON)
    try:
        yield made
    finally:
        await made.close()


async def judged(
    sandbox: LocalSandbox,
    solution: str,
    more: Mapping[str, str] | None = None,
    checks: Checks = CHECKS,
    limits: Limits = LIMITS,
) -> Report:
    files = {"solution.py": solution, **(more or {})}
    return await judge(sandbox, {k: v.encode() for k, v in files.items()}, checks, limits)


async def test_an_honest_solution_passes(sandbox: LocalSandbox) -> None:
    report = await judged(sandbox, HONEST)
    assert report.passed, report
    assert sorted(test.id for test in report.tests) == [
        "test_a.py::TestNegative::test_negative",
        "test_a.py::test_add",
        "test_a.py::test_zero[1]",
        "test_a.py::test_zero[2]",
        "tests/test_b.py::test_more",
    ]


async def test_installed_packages_can_be_imported_and_bend_nothing(sandbox: LocalSandbox) -> None:
    plug_in = {"quiet.py": QUIET, "quiet-1.0.dist-info/entry_points.txt": "[pytest11]\nq = quiet\n"}
    start = {"x.pth": "import os; os._exit(0)\n", "sitecustomize.py": EXIT, "conftest.py": EXIT}
    packed = wheel("plus", "1.0", {"plus.py": "def plus(a, b): return a + b\n", **plug_in, **start})
    installed = {".packages/plus-1.0-py3-none-any.whl": packed}
    honest = b"from plus import plus as add\n"
    for solution, passed in ((honest, True), (b"import plus\n" + WRONG.encode(), False)):
        files = {"solution.py": solution, **installed}
        assert (await judge(sandbox, files, CHECKS, LIMITS)).passed is passed
        command = Checks(CHECKS.files, "sh -c 'python -m pytest test_a.py'")
        assert (await judge(sandbox, files, command, LIMITS)).passed is passed


async def test_a_wrong_one_fails_where_it_is_wrong(sandbox: LocalSandbox) -> None:
    report = await judged(sandbox, "def add(a, b):\n    return abs(a) + abs(b)\n")
    assert not report.passed
    assert [test.id for test in report.tests if test.outcome == "failed"] == [
        "test_a.py::TestNegative::test_negative"
    ]
    assert report.problem is None


@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_attack_passes(sandbox: LocalSandbox, attack: str) -> None:
    seen_through(attack, await judged(sandbox, f"{WRONG}\n{ATTACKS[attack]}\n", limits=SHORT))


async def test_an_exit_of_a_solution_is_told_as_one(sandbox: LocalSandbox) -> None:
    leaves = "import os\ndef add(a, b):\n    os._exit(os.EX_OSERR)\n"
    both = (judged(sandbox, leaves, None, checks) for checks in (CHECKS, script("called")))
    for report in await asyncio.gather(*both):
        assert not report.passed
        assert report.problem == "the tested process closed its channel"


@pytest.mark.parametrize("walk", WALKS)
async def test_no_walk_to_the_judge_passes(sandbox: LocalSandbox, walk: str) -> None:
    solution = f"{WRONG}\n{BEND}\n{WALKS[walk]}\n"
    seen_through(walk, await judged(sandbox, solution, limits=SHORT))


async def test_an_honest_solution_passes_checks_with_names_of_their_own(
    sandbox: LocalSandbox,
) -> None:
    report = await judged(sandbox, HONEST, None, HELPED)
    assert report.passed, report
    assert len(report.tests) == 7


@pytest.mark.parametrize("names", NAMES)
async def test_no_name_of_the_checks_can_be_given_another_meaning(
    sandbox: LocalSandbox, names: str
) -> None:
    solution, named = NAMES[names]
    report = await judged(sandbox, solution, None, HELPED)
    assert [test for test in report.tests if test.outcome != "passed"] == []  # but for the judge
    assert report.problem is not None
    assert named in report.problem.removeprefix("the solution has replaced what judges it: ")


async def test_an_honest_solution_may_change_what_it_is_given(sandbox: LocalSandbox) -> None:
    report = await judged(sandbox, HONEST + IN_PLACE, None, TABLES)
    assert report.passed, report
    assert len(report.tests) == 8


@pytest.mark.parametrize("table", IN_TABLES)
async def test_nothing_expected_can_be_changed(sandbox: LocalSandbox, table: str) -> None:
    solution, named = IN_TABLES[table]
    report = await judged(sandbox, f"{HONEST}{IN_PLACE}{LOOK}{solution}", None, TABLES)
    assert [test for test in report.tests if test.outcome != "passed"] == []  # but for the judge
    assert report.problem == f"{REPLACED}{named}"


async def test_a_table_that_is_too_large_leaves_the_others_held(sandbox: LocalSandbox) -> None:
    checks = "from solution import add\nLARGE = list(range(5_001))\nCASES = [{'a': 1, 'want': 2}]\n"
    checks += "def test_cases():\n    for case in CASES:\n"
    checks += "        assert add(case['a'], 1) == case['want']\n"
    attack = f"{IN_A_TEST}    g['CASES'][0]['want'] = 999\n    return 999\n"
    both = (judged(sandbox, each, None, Checks({"test_a.py": checks})) for each in (HONEST, attack))
    right, wrong = await asyncio.gather(*both)
    assert right.passed, right
    assert [test.outcome for test in wrong.tests] == ["passed"]  # but for the judge
    assert wrong.problem == f"{REPLACED}test_a.CASES"


@pytest.mark.parametrize("by", JUMPS)
async def test_no_assertion_can_be_jumped_over(sandbox: LocalSandbox, by: str) -> None:
    report = await judged(sandbox, JUMPS[by], None, HELPED)
    assert f"{by} is not to be had where checks are run" in report.tests[0].detail
    assert not report.passed


async def test_checks_may_try_the_examples_of_a_solution(sandbox: LocalSandbox) -> None:
    examples = "import doctest\nimport sys\nimport solution\ndef test_examples():\n"
    examples += "    tried = doctest.testmod(solution)\n    assert tried == (0, 1)\n"
    checks = Checks({"test_a.py": examples})
    documented = "'''\n>>> add(1, 2)\n3\n'''\n"
    reports = await asyncio.gather(
        *(judged(sandbox, f"{documented}{each}", None, checks) for each in (HONEST, WRONG))
    )
    assert [report.passed for report in reports] == [True, False], reports
    assert [report.problem for report in reports] == [None, None]


async def test_what_is_denied_is_said(sandbox: LocalSandbox) -> None:
    report = await judged(sandbox, f"{HONEST}import gc\ngc.get_objects()\n")
    assert "gc.get_objects is not to be had where checks are run" in report.tests[0].detail
    honest = "import gc, inspect, sys\ngc.collect()\ninspect.stack()\nsys._getframe()\n"
    assert (await judged(sandbox, honest + HONEST)).passed


@pytest.mark.parametrize("attack", SLOW)
async def test_what_never_ends_fails_in_time(sandbox: LocalSandbox, attack: str) -> None:
    limits = replace(LIMITS, wall_seconds=1.5)
    report = await judged(sandbox, f"{HONEST}\n{SLOW[attack]}\n", limits=limits)
    assert not report.passed, report


@pytest.mark.parametrize("files", FILES)
async def test_files_of_the_workspace_bend_nothing(sandbox: LocalSandbox, files: str) -> None:
    both = (judged(sandbox, solution, FILES[files]) for solution in (HONEST, WRONG))
    right, wrong = await asyncio.gather(*both)
    assert right.passed, right
    assert not wrong.passed, wrong


async def test_a_room_that_has_nothing_loaded_imports_no_judge_from_the_workspace() -> None:
    cold = LocalSandbox(PYTHON, pool_size=0)
    try:
        report = await judged(cold, HONEST, FILES["judges' names"])
    finally:
        await cold.close()
    assert report.passed, report


async def test_a_right_solution_may_fork_and_leave_threads(sandbox: LocalSandbox) -> None:
    odd = """
import threading, time, multiprocessing, os
threading.Thread(target=time.sleep, args=(60,)).start()
if os.fork() == 0:
    os._exit(0)
"""
    assert (await judged(sandbox, odd + HONEST)).passed


@pytest.mark.parametrize("odd", ["os.fork()", "os.write(1, b'x' * 100)", "print('x', flush=True)"])
async def test_a_right_solution_may_speak_and_go_on_in_a_fork(
    sandbox: LocalSandbox, odd: str
) -> None:
    """Nobody hears a fork, nor what is printed."""
    solution = f"import os\n{odd}\n{HONEST}"
    both = (judged(sandbox, solution, None, checks) for checks in (CHECKS, script("called")))
    assert [report.passed for report in await asyncio.gather(*both)] == [True, True]


async def test_a_conftest_that_is_written_meanwhile_is_not_read(sandbox: LocalSandbox) -> None:
    text = "from solution import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    checks = Checks({"tests/test_b.py": text, "tests/z/test_c.py": text}, "pytest tests")
    writes = f"""
with open('/work/tests/z/conftest.py', 'w') as file:
    file.write({QUIET!r})
def add(a, b):
    return a + b
"""
    report = await judged(sandbox, writes, None, checks)
    assert report.passed, report


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


async def test_what_pytest_can_the_judge_can(sandbox: LocalSandbox) -> None:
    checks = Checks(
        {
            "t/test_rich.py": RICH,
            "t/__init__.py": "",
            "t/util.py": "def one():\n    return 1\n",
            "conftest.py": "import pytest\n\n@pytest.fixture\ndef four():\n    return 4\n",
        }
    )
    mine = {"queue.py": "class Mine: pass\n", "data.txt": "of the workspace"}
    report = await judged(sandbox, HONEST, mine, checks)
    assert report.passed, report
    assert len(report.tests) == 14


SCRIPT = {"check.py": "import sys\nfrom solution import add\nassert add(1, 2) == 3\nsys.exit()\n"}


@pytest.mark.parametrize(
    ("command", "solution", "passes"),
    [
        ("python check.py", HONEST, True),
        ("python check.py", WRONG, False),
        ("python check.py", "import sys\nsys.exit(0)", False),
        ("python check.py", "import os\nos._exit(0)", False),
        ("python ./check.py one two", HONEST, True),
        ("sh -c 'exit 0'", WRONG, True),
        ("sh -c 'exit 3'", HONEST, False),
        ("sleep 60", HONEST, False),
        ("nonesuch", HONEST, False),
    ],
)
async def test_commands(sandbox: LocalSandbox, command: str, solution: str, passes: bool) -> None:
    limits = replace(LIMITS, wall_seconds=2.0) if "sleep" in command else LIMITS
    report = await judged(sandbox, solution, None, Checks(SCRIPT, command), limits)
    assert report.passed is passes, report
    assert len(report.tests) == 1


EXITS: dict[str, str] = {
    "called": "assert add(1, 2) == 3\n(sys\n    .exit(False))",
    "raised": "if add(1, 2) != 3:\n    raise SystemExit(1)\nraise SystemExit",
    "of the site": "assert add(1, 2) == 3\nquit()",
    "unittest's": "class Sums(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(add(1, 2), 3)\nunittest.main()",
    "in a coroutine": "async def main():\n    sys.exit(add(1, 2) - 3)\nasyncio.run(main())",
}
"""Ends that a script of the checks may come to by itself."""
FORGED_EXITS: dict[str, str] = {
    "a text": 'exec("def add(a, b):\\n    raise SystemExit(0)")',
    "a text under the check's name": (
        'exec(compile("def add(a, b):\\n    raise SystemExit(0)", "/work/check.py", "exec"))'
    ),
    "the checks' own frame": """
import sys, types
def add(a, b):
    frame = sys._getframe(1)
    forged = types.TracebackType(None, frame, len(frame.f_code.co_code) - 30, frame.f_lineno)
    raise SystemExit(0).with_traceback(forged)
""",
    "no frame": """
import collections, functools, sys
leave = collections.defaultdict(functools.partial(sys.exit, 0))
add = functools.partial(min, key=leave.__getitem__)
""",
    "a library's frame": """
import unittest
def add(a, b):
    unittest.main(module=None, argv=["x"])
""",
}


def script(way: str) -> Checks:
    named = "import asyncio, sys, unittest\nfrom solution import add\n"
    return Checks({"check.py": f"{named}{EXITS[way]}\n"}, "python check.py")


@pytest.mark.parametrize("way", EXITS)
async def test_a_script_may_end_by_an_exit_of_its_own(sandbox: LocalSandbox, way: str) -> None:
    both = (judged(sandbox, solution, None, script(way)) for solution in (HONEST, WRONG))
    right, wrong = await asyncio.gather(*both)
    assert right.passed, right
    assert not wrong.passed, wrong


@pytest.mark.parametrize("exit_", FORGED_EXITS)
async def test_a_script_is_not_ended_by_the_solution(sandbox: LocalSandbox, exit_: str) -> None:
    report = await judged(sandbox, FORGED_EXITS[exit_], None, script("called"))
    assert [test.detail for test in report.tests] == [
        "the exit was not called for by the checks themselves"
    ]


EXCHANGED = """
import os, sys
def forge(fd, data):
    told = data.replace(b'"outcome": "failed"', b'"outcome": "passed"')
    os.write(fd, told.replace(b'["Teller._write"]', b"[]"))
    return len(data)
def add(a, b):
    frame = sys._getframe()
    while "teller" not in frame.f_locals:
        frame = frame.f_back
    teller, exits = frame.f_locals["teller"], frame.f_locals["exits"]
    kind = type(teller).__mro__[-2]
    def tell(report):
        forged = {"outcome": "passed"} if "id" in report else {"changed": []}
        kind.tell(teller, report | forged)
    EXCHANGE
    return 4
"""
EXCHANGES: dict[str, tuple[str, str]] = {
    "what it writes with": ("teller._write = forge", "what it reports with"),
    "how it reports": ("teller.tell = tell", "what it reports with"),
    "all that it has": (
        "teller.__dict__ = {**vars(teller), 'tell': tell}",
        "what it reports with",
    ),
    "what it is": (
        "teller.__class__ = type('Quiet', (kind,), {'tell': lambda self, said: tell(said)})",
        "what it reports with",
    ),
    "whose exit it is": ("exits.own = lambda end: True; sys.exit()", "Exits"),
}


async def test_code_in_a_text_of_a_script_may_change_its_tables(sandbox: LocalSandbox) -> None:
    text = "import timeit\nfrom solution import add\nTABLE = []\n"
    text += "timeit.timeit('TABLE.append(1)', 'from __main__ import TABLE', number=3)\n"
    text += "assert len(TABLE) == add(1, 2)\n"
    report = await judged(sandbox, HONEST, None, Checks({"check.py": text}, "python check.py"))
    assert report.passed, report


@pytest.mark.parametrize("what", EXCHANGES)
async def test_what_a_script_is_judged_with_cannot_be_exchanged(
    sandbox: LocalSandbox, what: str
) -> None:
    exchange, told = EXCHANGES[what]
    solution = EXCHANGED.replace("EXCHANGE", exchange)
    report = await judged(sandbox, solution, None, script("called"))
    assert report.problem == f"{REPLACED}{told}"


async def test_a_pytest_command_names_what_is_wanted(sandbox: LocalSandbox) -> None:
    checks = Checks(CHECKS.files, "python -m pytest -q -x test_a.py::test_zero tests")
    report = await judged(sandbox, "def add(a, b):\n    return a + abs(b)\n", None, checks)
    assert report.passed, report
    names = {test.id.partition("[")[0] for test in report.tests}
    assert names == {"test_a.py::test_zero", "tests/test_b.py::test_more"}


@pytest.mark.parametrize(
    ("command", "judged_by"),
    [
        ("python -m unittest test_u", "tests"),
        ("python3.11 -m pytest test_u.py", "tests"),
        ("python -u test_u.py", "script"),
        ("sh -c 'python -m unittest test_u'", "exit_code"),
    ],
)
async def test_a_solution_that_leaves_early_fools_an_exit_code_alone(
    sandbox: LocalSandbox, command: str, judged_by: str
) -> None:
    suite = "import unittest\nfrom solution import add\n\nclass Sums(unittest.TestCase):\n"
    suite += "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
    suite += "\nif __name__ == '__main__':\n    unittest.main()\n"
    checks = Checks({"test_u.py": suite}, command)
    solutions = (HONEST, WRONG, f"{WRONG}{EXIT}")
    reports = await asyncio.gather(*(judged(sandbox, s, None, checks) for s in solutions))
    assert {report.judged_by for report in reports} == {judged_by}
    assert [report.passed for report in reports] == [True, False, judged_by == "exit_code"]


async def test_much_to_tell_is_no_forgery(sandbox: LocalSandbox) -> None:
    deep = "".join(f"def f{i}():\n    # {'x' * 60}\n    return f{i + 1}()\n\n" for i in range(12))
    broken = f"{deep}def f12():\n    raise RuntimeError('\U0001f600' * 300)\nf0()\n"
    test = "from solution import add\n\ndef test_a():\n    assert add(1, 2) == 3\n"
    many = Checks({f"test_{number:02}.py": test for number in range(50)})
    report = await judged(sandbox, broken, None, many)
    assert report.problem is None
    assert {test.outcome for test in report.tests} == {"missing"}
    assert "RuntimeError" in report.tests[0].detail
    long = "import pytest\nfrom solution import add\n\n"
    long += "@pytest.mark.parametrize('a', ['x' * 300_000, 'x' * 300_000 + 'y'])\n"
    long += "def test_long(a):\n    assert add(a, '') == a\n"
    report = await judged(sandbox, HONEST, None, Checks({"test_a.py": long}))
    assert report.passed, report
    assert len(report.tests) == 2


async def test_one_case_can_be_named(sandbox: LocalSandbox) -> None:
    checks = Checks(CHECKS.files, "pytest 'test_a.py::test_zero[1]'")
    report = await judged(sandbox, HONEST, None, checks)
    assert report.passed, report
    assert [test.id for test in report.tests] == ["test_a.py::test_zero[1]"]


@pytest.mark.parametrize("text", ["def test_a(:", "x = 1\n", "(" * 5000])
async def test_checks_that_are_none_fail(sandbox: LocalSandbox, text: str) -> None:
    report = await judged(sandbox, HONEST, None, Checks({"test_x.py": text}))
    assert not report.passed
    assert report.problem is not None
    assert "cannot be read" in report.problem


@pytest.mark.parametrize(
    "attack",
    [
        *("os._exit at import", "a skip in a call", "pytest.exit", "the checks rewritten"),
        *("unittest's asserts", "a test's code replaced", "the reports' outcome"),
    ],
)
async def test_these_attacks_fool_a_plain_pytest(sandbox: LocalSandbox, attack: str) -> None:
    """So that what is refused above is an attack."""
    files = {**CHECKS.files, "solution.py": f"{WRONG}\n{ATTACKS[attack]}\n"}
    command = Command(("python", "-m", "pytest", "-q"), {k: v.encode() for k, v in files.items()})
    assert (await sandbox.run(command, LIMITS)).succeeded


@pytest.mark.parametrize("backend", engines.BACKENDS)
async def test_the_other_backend_judges_the_same(
    request: pytest.FixtureRequest, backend: str
) -> None:
    made = DockerSandbox(engines.IMAGE, engine=request.getfixturevalue("docker_engine").host)
    try:
        attacks = ("os._exit at import", "the parent's output", "reports to all descriptors")
        solutions = [HONEST, *(f"{WRONG}\n{ATTACKS[attack]}\n" for attack in attacks)]
        files = [{"solution.py": solution.encode()} for solution in solutions]
        reports = await asyncio.gather(*(judge(made, each, CHECKS, LIMITS) for each in files))
        assert [report.passed for report in reports] == [True, False, False, False]
    finally:
        await made.close()
