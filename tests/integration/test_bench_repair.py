"""The benchmark of repair, in slices: one program of each class, and the paths that are quick."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agents.repair.failure import FailureClass
from bench.repair.path import Path
from bench.repair.paths import PATHS, TROUBLE
from bench.repair.programs import Program, load, run_all
from bench.repair.walk import Walked, walk
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=2)
    yield local
    await local.close()


async def test_there_are_programs_and_paths_enough() -> None:
    programs = load()
    assert len(programs) >= 75
    assert {program.kind for program in programs} == set(FailureClass)
    assert len({(program.kind, program.name) for program in programs}) == len(programs)
    assert len({path.name for path in PATHS}) == len(PATHS) >= 20


async def test_one_program_of_each_class_is_told_right(sandbox: LocalSandbox) -> None:
    first: dict[str, Program] = {}
    for program in load():
        first.setdefault(program.kind, program)
    told = await run_all(sandbox, list(first.values()))
    assert [(each.program.kind, each.failure.kind.value) for each in told] == [
        (kind, kind) for kind in first
    ]


@pytest.mark.parametrize("path", TROUBLE, ids=lambda path: path.name)
async def test_trouble_is_never_blamed_on_the_code(path: Path, sandbox: LocalSandbox) -> None:
    walked = await walk(path, sandbox)
    assert (walked.end, walked.repairs) == (path.end, path.repairs)


async def test_a_path_that_ends_elsewhere_is_not_right() -> None:
    path = PATHS[0]
    assert Walked(path, path.end, path.repairs).right
    assert not Walked(path, "approved by rules", path.repairs).right
    assert not Walked(path, path.end, ("0 failed",)).right
