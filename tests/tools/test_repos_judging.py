"""A task's tests in the sandbox: which ids are found, and which results count as passed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from lab.evals.repos.pytest_run import LIMITS, PytestRun, Tree, run_tests
from lab.evals.repos.task import Base, RepoTask
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python

FILES = {
    "src/shop/__init__.py": b"def total(prices):\n    return sum(prices)\n",
    "tests/test_shop.py": b"""\
import multiprocessing
import os
import subprocess
import sys

import pytest
from shop import total


@pytest.mark.parametrize("text", ["a b", "c::d", "e[0]", "\xc3\xa9"])
def test_cases(text):
    print("1 passed")
    assert text


class TestTotal:
    def test_sum(self):
        assert total([1, 2]) == 3

    @pytest.mark.xfail
    def test_known(self):
        assert total(["a"]) == "a"


def test_wrong():
    assert total([1]) == 2


def test_skipped():
    pytest.skip("not here")


@pytest.fixture
def broken_at_its_end():
    yield
    raise OSError


def test_teardown(broken_at_its_end):
    pass


def test_runs_pytest_itself(tmp_path):
    (tmp_path / "test_wrong.py").write_text("def test_wrong():\\n    pass\\n")
    command = [sys.executable, "-m", "pytest", "-q", str(tmp_path)]
    assert subprocess.run(command, cwd=tmp_path).returncode == 0


def test_a_process_that_is_spawned_runs_no_tests():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(total, [[1, 2]]) == 3


@pytest.mark.parametrize("option", ["-I", "-E", "-u"])
def test_processes_have_the_packages(option):
    command = [sys.executable, option, "-c", "import shop, pytest"]
    assert subprocess.run(command, env={"PYTHONPATH": "/nowhere"}).returncode == 0


def test_packages_of_the_machine_are_not_there():
    folder = f"{sys.base_prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    assert folder in sys.path
    assert f"{folder}/site-packages" not in sys.path


def test_programs_of_the_machine_are_found():
    assert "/usr/bin" in os.environ["PATH"].split(":")
""",
    "tests/test_unloadable.py": b"import nothing_of_this_name\n\n\ndef test_it():\n    pass\n",
}
GOOD = (
    "tests/test_shop.py::test_cases[a b]",
    "tests/test_shop.py::test_cases[c::d]",
    "tests/test_shop.py::test_cases[e[0]]",
    "tests/test_shop.py::test_cases[\\xe9]",
    "tests/test_shop.py::test_cases",
    "tests/test_shop.py::TestTotal::test_sum",
    "tests/test_shop.py::TestTotal::test_known",
    "tests/test_shop.py::TestTotal",
    "tests/test_shop.py::test_runs_pytest_itself",
    "tests/test_shop.py::test_a_process_that_is_spawned_runs_no_tests",
    "tests/test_shop.py::test_processes_have_the_packages",
    "tests/test_shop.py::test_packages_of_the_machine_are_not_there",
    "tests/test_shop.py::test_programs_of_the_machine_are_found",
)
BAD = {
    "tests/test_shop.py::test_wrong": "failed",
    "tests/test_shop.py::test_skipped": "skipped",
    "tests/test_shop.py::test_teardown": "failed",
    "tests/test_unloadable.py::test_it": "missing",
    "tests/test_gone.py::test_it": "missing",
}


@pytest.fixture
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local_sandbox = LocalSandbox(sandbox_python(), pool_size=0, limits=LIMITS)
    yield local_sandbox
    await local_sandbox.close()


async def ran(
    sandbox: LocalSandbox, command: str, *, runs_all: bool = True, **files: str
) -> PytestRun:
    ids = (*GOOD, *BAD)
    task = RepoTask("shop", "It is wrong.", Base(), b"", b"", ids, command=command)
    more = {path: text.encode() for path, text in files.items()}
    tree = Tree(files=FILES | more, paths=("/work/src", "/work"))
    return await run_tests(sandbox, task, tree, runs_all=runs_all)


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest",
        "pytest -q -x tests",
        "PYTHONPATH=src:lib PYTHONHASHSEED=0 python3 -m pytest --maxfail=1",
        "cd tests && py.test -p no:cacheprovider",
        "env FOO=1 pytest tests/test_shop.py tests/test_unloadable.py",
    ],
)
async def test_ids_are_found_for_every_way_to_start_pytest(sandbox, command):
    pytest_run = await ran(sandbox, command)
    assert pytest_run.problem is None
    assert [name for name in GOOD if not pytest_run.passed(name)] == []
    assert {name: pytest_run.tests[name][0] for name in BAD} == BAD
    assert pytest_run.why_not(GOOD) is None
    assert "assert 1 == 2" in pytest_run.why_not(["tests/test_shop.py::test_wrong"])
    assert "nothing_of_this_name" in pytest_run.why_not(["tests/test_unloadable.py::test_it"])


async def test_a_command_may_end_before_every_test(sandbox):
    pytest_run = await ran(sandbox, "pytest -q", runs_all=False)
    assert pytest_run.problem is None
    # A file that cannot be loaded ends the command.
    assert not any(pytest_run.passed(name) for name in GOOD)
    pytest_run = await ran(sandbox, "pytest -x tests/test_shop.py", runs_all=False)
    assert pytest_run.passed("tests/test_shop.py::TestTotal")
    assert not pytest_run.passed("tests/test_shop.py::test_runs_pytest_itself")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('9 passed'); os._exit(0)", "did not report it"),
        ("os.kill(os.getppid(), 9)", ""),
        ("os.write(1, b'{}'); [os.write(fd, b'{}\\n') for fd in range(3, 20)]", "tampered with"),
    ],
    ids=["prints", "kills", "writes into the report"],
)
async def test_code_cannot_forge_pytests_report(sandbox, code, reason):
    guard = f"import contextlib, os\nwith contextlib.suppress(OSError):\n    {code}\n"
    loop = guard.replace("[os.write(fd, b'{}\\n') for fd in range(3, 20)]", "exec(WRITES)")
    writes = (
        'WRITES = \'for fd in range(3, 20):\\n try:\\n  os.write(fd, b"{}\\\\n")\\n'
        " except OSError: pass'\n"
    )
    pytest_run = await ran(sandbox, "python -m pytest", **{"src/shop/__init__.py": writes + loop})
    assert not any(pytest_run.passed(name) for name in GOOD if pytest_run.tests)
    assert reason in pytest_run.why_not(GOOD)


async def test_a_command_that_fails_is_shown_with_its_output(sandbox):
    pytest_run = await ran(sandbox, "pytest --no-such-option")
    assert "unrecognized arguments" in pytest_run.why_not(GOOD)
