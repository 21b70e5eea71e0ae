"""The benchmark of repair: every program has its expected class, and every path its
expected end.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from agents.failures.failure import FailureClass
from lab.benchmarks.repair.path import decides
from lab.benchmarks.repair.paths import PATHS
from lab.benchmarks.repair.programs import load, run_all
from lab.benchmarks.repair.walk import walk_all
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=2)
    yield local
    await local.close()


async def test_every_program_is_classified_correctly(sandbox: LocalSandbox) -> None:
    programs = load()
    assert {program.kind for program in programs} == set(FailureClass)
    classified = await run_all(sandbox, programs)
    assert [(run.program, run.failure) for run in classified if not run.right] == []


async def test_every_path_has_the_expected_end(sandbox: LocalSandbox) -> None:
    assert len({path.name for path in PATHS}) == len(PATHS)
    wrong = [
        (walked.path.name, walked.end, walked.repairs)
        for walked in await walk_all(sandbox, PATHS)
        if not walked.right
    ]
    assert wrong == []


async def test_unused_replies_and_decisions_are_counted(sandbox: LocalSandbox) -> None:
    path = PATHS[0]
    more = (*path.turns, path.turns[-1])
    paths = [
        replace(path, name="one too many", turns=more),
        replace(path, name="no review", decisions=(decides("approve"),) * 2),
        replace(path, name="one too few", decisions=(decides("revise", feedback="More."),)),
    ]
    assert [(walked.unused, walked.right) for walked in await walk_all(sandbox, paths)] == [
        (1, False), (2, False), (-1, False),
    ]  # fmt: skip
