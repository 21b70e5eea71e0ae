"""The benchmark of repair: all programs by their record, one of each class for real, all paths."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from agents.failures.failure import Failure, FailureClass
from benchmarks.repair.__main__ import summed
from benchmarks.repair.path import decides
from benchmarks.repair.paths import PATHS
from benchmarks.repair.programs import Program, load, run_all
from benchmarks.repair.results import named, recorded, write_down
from benchmarks.repair.walk import Walked, walk_all
from sandbox.local import LocalSandbox
from sandbox.protocol import End, RunResult, Stream
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


async def test_every_program_is_told_right_by_how_it_has_ended() -> None:
    wrong = [
        (each.program.kind, each.program.name, each.failure.kind.value, each.failure.cause)
        for each in recorded()
        if not each.right
    ]
    assert wrong == []


async def test_a_program_that_was_changed_is_not_told_by_what_it_was(tmp_path: Path) -> None:
    changed = replace(load()[0], code="pass")
    result = RunResult(End.EXITED, 1, None, Stream(), Stream(), 0.0)
    write_down([changed.classified(result)], kept := tmp_path / "results.json")
    with pytest.raises(KeyError):
        recorded(kept)


async def test_one_program_of_each_class_ends_as_on_record(sandbox: LocalSandbox) -> None:
    first: dict[str, Program] = {}
    for program in load():
        first.setdefault(program.kind, program)
    told = await run_all(sandbox, list(first.values()))
    assert [(each.program.kind, each.failure.kind.value) for each in told] == [
        (kind, kind) for kind in first
    ]
    known = {named(each.program): each for each in recorded()}
    assert all(each.result.end == known[named(each.program)].result.end for each in told)


async def test_every_path_ends_where_it_should(sandbox: LocalSandbox) -> None:
    wrong = [
        (each.path.name, each.end, each.repairs)
        for each in await walk_all(sandbox, PATHS)
        if not each.right
    ]
    assert wrong == []


async def test_the_figures_of_the_json_line() -> None:
    path = PATHS[0]
    walked = [Walked(path, path.end, path.repairs), Walked(path, "elsewhere", ())]
    told = [replace(each, failure=Failure(FailureClass.UNKNOWN, "")) for each in recorded()[:1]]
    assert summed([*recorded(), *told], walked, 1.23) == {
        "programs": len(load()) + 1,
        "classified_right": len(load()),
        "paths": 2,
        "paths_right": 1,
        "seconds": 1.2,
    }


async def test_a_path_that_ends_elsewhere_is_not_right() -> None:
    path = PATHS[0]
    assert Walked(path, path.end, path.repairs).right
    assert not Walked(path, "approved by Ada", path.repairs).right
    assert not Walked(path, path.end, (1,)).right
    assert not Walked(path, path.end, path.repairs, unsaid=1).right
    assert not Walked(path, path.end, path.repairs, unsaid=-1).right
    wants = replace(path, files={"a.py": "x"})
    assert not Walked(wants, path.end, path.repairs, {"a.py": ""}).right
    assert Walked(wants, path.end, path.repairs, {"a.py": "x"}).right


async def test_what_nobody_asked_for_on_a_path_is_counted(sandbox: LocalSandbox) -> None:
    path = PATHS[0]
    more = (*path.turns, path.turns[-1])
    paths = [
        replace(path, name="one too many", turns=more),
        replace(path, name="nobody asks her", decisions=(decides("approve"),) * 2),
        replace(path, name="one too few", decisions=(decides("revise", feedback="More."),)),
    ]
    assert [(each.unsaid, each.right) for each in await walk_all(sandbox, paths)] == [
        (1, False), (2, False), (-1, False),
    ]  # fmt: skip
