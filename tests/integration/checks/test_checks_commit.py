"""Checks of a job on a repository, in real sandboxes: the commit's files configure them, and no
file of the job does."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from support.directory_trees import make_tree
from support.graph.fixed_base import FixedBase
from support.servers import docker_engine as engines

from agents.checks.commit import commit_of
from agents.checks.judge import NO_SITE, judge
from agents.checks.reports import Report
from agents.checks.tester_tests import select_useful, unwritten_modules
from agents.ports.checks import Case, Checks
from agents.sandbox_programs import pth_line
from jobs.blobs.directory import DirectoryBlobs
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Limits, Sandbox
from worker.adapters.workspace import ManifestWorkspace

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
LIMITS = Limits(wall_seconds=60.0)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.matrix(every=3)]

SETTINGS = """[project]
name = "shop"
version = "1"

[tool.pytest.ini_options]
pythonpath = ["lib"]
addopts = "-p shop_marks -x"
testpaths = ["tests"]
"""
COMMIT: Mapping[str, bytes | str] = {
    "pyproject.toml": SETTINGS.encode(),
    "src/shop/__init__.py": b"",
    "src/shop/price.py": b"def total(prices):\n    return 0\n",
    "lib/shop_marks.py": b"def pytest_configure(config):\n"
    b"    config.addinivalue_line('markers', 'shop: of the shop')\n    config.is_shop = True\n",
    "common/fixtures.py": b"import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
    "conftest.py": "common/fixtures.py",
    "tests/conftest.py": b"import pytest\nfrom shop.price import total\n\n\n@pytest.fixture\n"
    b"def prices(two):\n    return [1, two]\n",
    "tests/data/one.txt": b"1\n",
    "tests/test_more/__init__.py": b"raise ImportError('not the check')\n",
    "spec": "tests",
}
RIGHT = {"src/shop/price.py": "def total(prices):\n    return sum(prices)\n"}
WRONG = {"src/shop/price.py": "def total(prices):\n    return 7\n"}
HIDDEN = """from pathlib import Path

import pytest
import shop_marks
from shop.price import total


def test_total(prices, request):
    assert total(prices) == 3
    assert request.config.is_shop
    assert Path(__file__).with_name("data").joinpath("one.txt").read_text() == "1\\n"
"""
CHECKS = Checks({"tests/test_hidden.py": HIDDEN})
QUIET = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True
"""
NO_TEST = "def test_total():\n    pass\n"
PLUGIN_IN_USE = SETTINGS.replace("-p shop_marks", "-p shop_marks -p quiet")


@dataclass(frozen=True)
class Change:
    files: Mapping[str, str]
    removed: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict)


FAKE = """import json

test = {"id": "tests/test_hidden.py::test_total", "outcome": "passed"}
with open("/work/.fettle-tests.json", "w") as file:
    json.dump({"tests": [test]}, file)
"""
ATTACKS: dict[str, Change] = {
    "a module in place of pytest": Change({"pytest.py": FAKE, "src/pytest/__init__.py": FAKE}),
    "a module in place of the report": Change(
        {"fettle_report.py": f"{FAKE}import os\nos._exit(0)\n"}
    ),
    "a link in place of pytest": Change({"fake.py": FAKE}, links={"pytest.py": "fake.py"}),
    "a changed conftest": Change({"tests/conftest.py": QUIET}),
    "the target of a link of the commit": Change({"common/fixtures.py": QUIET}),
    "a link in place of the conftest": Change(
        {"quiet.py": QUIET}, links={"tests/conftest.py": "../quiet.py"}
    ),
    "a link in place of the link": Change({"quiet.py": QUIET}, links={"conftest.py": "quiet.py"}),
    "a directory in place of the conftest": Change(
        {"tests/conftest.py/__init__.py": QUIET}, frozenset({"tests/conftest.py"})
    ),
    "a link in place of the tests": Change(
        {"evil/conftest.py": QUIET, "evil/test_hidden.py": NO_TEST},
        frozenset({"tests/conftest.py", "tests/test_more/__init__.py"}),
        {"tests": "evil"},
    ),
    "a renamed conftest": Change(
        {"tests/conftest.cpython-311.so": "", "tests/conftest/__init__.py": QUIET},
        frozenset({"tests/conftest.py"}),
    ),
    "changed settings": Change({"pyproject.toml": PLUGIN_IN_USE, "quiet.py": QUIET}),
    "settings that cannot be parsed twice": Change(
        {"pyproject.toml": f"{PLUGIN_IN_USE}\n{'a.' * 60}b = 1\n", "quiet.py": QUIET}
    ),
    "removed settings": Change(
        {"tox.ini": "[pytest]\naddopts = -p quiet\npythonpath = lib\n", "quiet.py": QUIET},
        frozenset({"pyproject.toml"}),
    ),
    "a link in place of the settings": Change(
        {"other.toml": PLUGIN_IN_USE, "quiet.py": QUIET}, links={"pyproject.toml": "other.toml"}
    ),
    "new settings": Change(
        {"pytest.ini": "[pytest]\naddopts = -p quiet\npythonpath = lib\n", "quiet.py": QUIET}
    ),
    "settings beside the tests": Change(
        {
            "tests/setup.cfg": "\ufeff[tool:pytest] # x\naddopts = -p quiet\n",
            "tests/tox.ini": "[pytest]\naddopts = -p quiet\npythonpath = ../lib\n",
            "quiet.py": QUIET,
        }
    ),
    "an entry point": Change(
        {
            "pyproject.toml": f'{SETTINGS}\n[project.entry-points.pytest11]\nq = "quiet"\n',
            "src/quiet.py": QUIET,
        }
    ),
    "start-up modules": Change(
        {
            "sitecustomize.py": "import os\nos._exit(0)\n",
            "lib/usercustomize.py": "import os\nos._exit(0)\n",
            "quiet-1.dist-info/entry_points.txt": "[pytest11]\nquiet = quiet\n",
            "quiet.py": QUIET,
        }
    ),
    "the name of the check": Change(
        {"tests/test_hidden.py": NO_TEST, "tests/test_hidden/__init__.py": NO_TEST}
    ),
}
"""Changes with which a wrong solution would pass if they configured the checks."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalSandbox]:
    trees = tmp_path_factory.mktemp("trees")
    trees.chmod(0o755)
    make_tree(trees, "repo-fixed", COMMIT)
    backend = LocalSandbox(PYTHON, trees_directory=trees)
    try:
        yield backend
    finally:
        await backend.close()


async def run_checks(
    sandbox: Sandbox,
    folder: Path,
    solution: Mapping[str, str],
    checks: Checks,
    change: Change,
    site: Mapping[str, bytes] = NO_SITE,
) -> Report:
    texts = {path: content for path, content in COMMIT.items() if isinstance(content, bytes)}
    links = {path: target for path, target in COMMIT.items() if isinstance(target, str)}
    base = FixedBase(texts, links)
    workspace = await ManifestWorkspace.on_commit(DirectoryBlobs(folder), None, base)
    files = {path: text.encode() for path, text in {**change.files, **solution}.items()}
    await workspace.apply(files, change.removed, links=change.links)
    commit = await commit_of(workspace)
    return await judge(sandbox, await workspace.tree(), checks, LIMITS, commit, site)


async def test_checks_run_with_the_settings_of_the_commit(
    sandbox: LocalSandbox, tmp_path: Path
) -> None:
    none = Change({})
    right = await run_checks(sandbox, tmp_path, RIGHT, CHECKS, none)
    assert right.passed, right
    assert [test.id for test in right.tests] == ["tests/test_hidden.py::test_total"]
    assert not (await run_checks(sandbox, tmp_path, WRONG, CHECKS, none)).passed
    assert not (await run_checks(sandbox, tmp_path, {}, CHECKS, none)).passed


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_job_does_not_configure_the_checks_on_its_repository(
    sandbox: LocalSandbox, tmp_path: Path, attack: str
) -> None:
    right = await run_checks(sandbox, tmp_path, RIGHT, CHECKS, ATTACKS[attack])
    assert right.passed, right
    wrong = await run_checks(sandbox, tmp_path, WRONG, CHECKS, ATTACKS[attack])
    assert [test.outcome for test in wrong.tests] == ["failed"], wrong


async def test_a_job_may_change_other_parts_of_a_settings_file(
    sandbox: LocalSandbox, tmp_path: Path
) -> None:
    test = """import tomllib
from importlib.metadata import version
from pathlib import Path


def test_version(request):
    assert request.config.is_shop
    settings = tomllib.loads(Path("pyproject.toml").read_text())
    assert settings["project"]["version"] == version("shop") == "2"
"""
    checks = Checks({"tests/test_version.py": test})
    change = Change({"pyproject.toml": SETTINGS.replace('version = "1"', 'version = "2"')})
    report = await run_checks(sandbox, tmp_path, {}, checks, change)
    assert report.passed, report


async def test_checks_may_bring_settings_and_lie_behind_a_link(
    sandbox: LocalSandbox, tmp_path: Path
) -> None:
    test = """def test_own(request, two):
    assert two == 2
    assert not hasattr(request.config, "is_shop")
"""
    checks = Checks({"spec/test_more.py": test, "pytest.ini": "[pytest]\n"})
    report = await run_checks(sandbox, tmp_path, {}, checks, Change({}))
    assert report.passed, report
    assert [test.id for test in report.tests] == ["tests/test_more.py::test_own"]


async def test_another_command_runs_over_the_same_files(
    sandbox: LocalSandbox, tmp_path: Path
) -> None:
    script = "import sys\nsys.path.append('src')\nfrom shop.price import total\n"
    checks = Checks(
        {"tools/check.py": f"{script}assert total([1, 2]) == 3\n"}, "python tools/check.py"
    )
    outcomes = [
        (await run_checks(sandbox, tmp_path, solution, checks, Change({}))).passed
        for solution in (RIGHT, WRONG)
    ]
    assert outcomes == [True, False]


async def test_cases_see_the_files_of_the_commit(sandbox: LocalSandbox, tmp_path: Path) -> None:
    code = "from shop.price import total; open('out.txt', 'w').write(str(total([1, 2])))"
    shell = "cat spec/data/one.txt spec/data/two.txt; rm spec/data/one.txt"
    cases = (
        Case(
            "case 1",
            ("python", "-c", code),
            expect_files={"out.txt": "3", "spec/data/one.txt": "1\n"},
        ),
        Case("case 2", ("sh", "-c", shell), files={"spec/data/two.txt": "2\n"}, stdout="1\n2\n"),
        Case(
            "case 3", ("sh", "-c", shell), exit_code=1, expect_files={"tests/data/one.txt": "1\n"}
        ),
    )
    removed = Change({}, frozenset({"tests/data/one.txt"}))
    outcomes = [
        [test.outcome for test in (await run_checks(sandbox, tmp_path, *work)).tests]
        for work in (
            (RIGHT, Checks(cases=cases), Change({})),
            (WRONG, Checks(cases=cases), removed),
        )
    ]
    assert outcomes == [["passed", "passed", "failed"], ["failed", "failed", "failed"]]


TESTS = """import pytest
import shop
import shop.price
from shop import price
from shop.invoice import Invoice, InvoiceError
from shop.price import net, total


def test_a_changed_function(prices):
    assert total(prices) == 3


def test_a_new_function():
    assert net(2) == 1 and shop.price.net(2) == 1


def test_a_new_module():
    with pytest.raises(Exception):
        Invoice([1]).send()


def test_the_project_as_it_is():
    assert price.total([]) == 0
    assert issubclass(InvoiceError, Exception)


def test_a_fixture_is_missing(no_such_fixture):
    assert net(2) == 1
"""


async def test_the_testers_tests_are_tried_on_the_commit_without_the_new_names(
    sandbox: LocalSandbox, tmp_path: Path
) -> None:
    files = {"tests/test_new.py": TESTS, "tests/test_gone.py": "import elsewhere\n"}
    paths = [*COMMIT, "tests/test_new.py"]
    modules = unwritten_modules(files, "src/shop/invoice.py: Invoice", paths, replace=False)
    site = {"unwritten.pth": pth_line("unwritten", MODULES=modules).encode()}
    report = await run_checks(sandbox, tmp_path, {}, Checks(files), Change({}), site)
    useful = select_useful(files, report.tests, report.problem)
    assert [name.rpartition("::")[2] for name in useful.tests] == [
        "test_a_changed_function",
        "test_a_new_function",
        "test_a_new_module",
    ]
    assert {name.rpartition("/")[2]: reason for name, reason in useful.dropped} == {
        "test_new.py::test_the_project_as_it_is": "it passes without a solution",
        "test_new.py::test_a_fixture_is_missing": "it cannot be run",
        "test_gone.py": "it cannot be run",
    }


@pytest.mark.parametrize("backend", engines.BACKENDS)
async def test_the_docker_backend_has_the_same_results(
    request: pytest.FixtureRequest, backend: str, tmp_path: Path
) -> None:
    trees = tmp_path / "trees"
    trees.mkdir()
    make_tree(trees, "repo-fixed", COMMIT)
    made = DockerSandbox(
        engines.IMAGE, engine=request.getfixturevalue("docker_engine").host, trees_directory=trees
    )
    attack = ATTACKS["removed settings"]
    try:
        for solution, passes in ((RIGHT, True), (WRONG, False)):
            report = await run_checks(made, tmp_path, solution, CHECKS, attack)
            assert report.passed is passes, report
    finally:
        await made.close()
