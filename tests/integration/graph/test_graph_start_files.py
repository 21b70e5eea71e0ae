"""The files that a job starts with, and its checks, in the prompts of planner and executor."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.graph.graphs import PlannedSandbox

from agents.attempt import Ports
from agents.graph.build import build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace, ports_over
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from agents.ports.checks import Checks
from agents.ports.repository import RepositoryFacts
from agents.runs.start_files import StartFiles, start_files
from agents.state import JobFields
from lab.provider import ProviderServer, Reply, Request, ToolCall
from sandbox.local import LocalSandbox
from sandbox.protocol import Sandbox

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
SMALL = b"def parse_amount(text):\n    return float(text)\n"
FEES = b'"""Fees of a garage."""\n\nclass Fees:\n' + b"".join(
    b"    def fee_%d(self, hours: int) -> float:\n        return %d * hours  # %s\n"
    % (n, n, b"x" * 200)
    for n in range(100)
)
TASK = "Make parse_amount accept commas."

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    backend = LocalSandbox(PYTHON)
    try:
        yield backend
    finally:
        await backend.close()


def _answer(request: Request) -> Reply:
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Only one."]}),))
    if request.forced_tool == "Verdict":
        return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "revise", "feedback": "No."}),))
    return Reply("Done.")


def _ports(sandbox: Sandbox, files: Mapping[str, bytes], **more: Any) -> Ports:
    record = MemoryRecord()
    pool = ModelPool(ModelOptions({"groq": "none"}, context_tokens=more.pop("context", None)))
    models = RoleModels.alone(pool, "groq:m")
    workspace = MemoryWorkspace(record, files)
    return replace(ports_over(record, sandbox, models), workspace=workspace, **more)


async def _read_start_files(
    sandbox: Sandbox, files: Mapping[str, bytes], **more: Any
) -> StartFiles:
    ports = _ports(sandbox, files, **more)
    try:
        return await start_files(ports)
    finally:
        await ports.models.pool.aclose()


async def _prompts(ports: Ports, job: JobFields) -> dict[str | None, str]:
    """The first request of each role: the text of all messages, by the tool that is forced."""
    with ProviderServer(_answer) as server:
        pool = ModelPool(ModelOptions({"groq": "none"}, {"groq": server.groq_url}))
        ports = replace(ports, models=RoleModels.alone(pool, "groq:m"))
        try:
            await build(None).ainvoke(initial_state(job), context=ports)
        finally:
            await pool.aclose()
    prompts: dict[str | None, str] = {}
    for request in server.requests:
        text = "\n".join(message.text for message in request.messages)
        prompts.setdefault(request.forced_tool, text)
    return prompts


async def test_planner_and_executor_see_small_files_in_full_and_large_ones_by_outline(
    sandbox: LocalSandbox,
) -> None:
    files = {"amount.py": SMALL, "fees.py": FEES}
    start_files = await _read_start_files(sandbox, files)
    job = job_fields(
        TASK, files=tuple(files), inputs=start_files.listing, contents=start_files.texts
    )
    prompts = await _prompts(_ports(sandbox, files), {**job, "max_revisions": 1})
    for role in ("Plan", None):
        assert f"- amount.py, complete:\n```\n{SMALL.decode()}```" in prompts[role]
        assert f'- fees.py, {len(FEES):,} bytes; its first lines:\n  """Fees of' in prompts[role]
        assert "\n  3: class Fees:\n" in prompts[role]
        assert prompts[role].count("def parse_amount") == 1


async def test_an_outline_has_lines_of_definitions_in_the_order_of_the_file(
    sandbox: LocalSandbox,
) -> None:
    text = (
        b"class A:\n    def first(self, x=1): ...\n\n\nasync def second(): ...\n" + b"# x\n" * 5_000
    )
    (line,) = (await _read_start_files(sandbox, {"a.py": text})).listing
    outline = "1: class A:\n  2:     def first(self, x=1): ...\n  5: async def second(): ..."
    assert line.endswith(f"its definitions, by line:\n  {outline}")


async def test_a_long_outline_leaves_out_methods_first(sandbox: LocalSandbox) -> None:
    (line,) = (
        await _read_start_files(sandbox, {"fees.py": FEES + FEES.replace(b"Fees", b"More")})
    ).listing
    assert line.endswith("3: class Fees:\n  206: class More:\n  and 200 more")


async def test_the_smallest_files_are_shown_in_full_within_the_bound(sandbox: LocalSandbox) -> None:
    files = {f"{n}.txt": b"%d" % n * 1_000 * n for n in range(1, 9)}
    start_files = await _read_start_files(sandbox, files)
    assert list(start_files.texts) == ["1.txt", "2.txt", "3.txt", "4.txt"]
    assert [line.partition(",")[0] for line in start_files.listing] == [
        f"{n}.txt" for n in range(5, 9)
    ]
    none = await _read_start_files(sandbox, files, bounds=Bounds(files=0))
    assert (len(none.texts), len(none.listing)) == (0, 8)


async def test_a_small_context_leaves_room_for_the_work(sandbox: LocalSandbox) -> None:
    files = {"a.txt": b"a" * 2_000, "b.txt": b"b" * 5_000}
    start_files = await _read_start_files(sandbox, files, context=8_000)
    assert list(start_files.texts) == ["a.txt"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"PK\x03\x04\xff\xfe", "data, 6 bytes, binary"),
        (b"SQLite format 3\0", "data, 16 bytes, binary"),
        (b"", "data, 0 bytes"),
        (b"a,b\n" + b"1,2\n" * 9_000, "data, 36,004 bytes; its first lines:\n  a,b\n  1,2\n  1,2"),
    ],
)
async def test_other_files_are_shown_by_size_and_beginning(
    sandbox: LocalSandbox, content: bytes, line: str
) -> None:
    start_files = await _read_start_files(sandbox, {"data": content})
    assert (start_files.listing, start_files.texts) == ((line,), {})


async def test_a_long_line_is_cut(sandbox: LocalSandbox) -> None:
    (line,) = (await _read_start_files(sandbox, {"data.csv": b"word " * 5_000})).listing
    assert len(line) < 250
    assert line.endswith("word ...")


async def test_only_the_first_of_many_large_files_are_listed() -> None:
    large_files = {f"{number:03}.txt": b"text\n" * 9_000 for number in range(100)}
    start_files = await _read_start_files(PlannedSandbox({}), large_files)
    assert len(start_files.listing) == 41
    assert start_files.listing[-1] == "and 60 more: list_dir shows them"
    assert sum("first lines" in line for line in start_files.listing) == 8


async def test_a_hostile_file_loses_only_its_own_outline(sandbox: LocalSandbox) -> None:
    files = {
        "deep.py": b"(" * 60_000 + b")" * 60_000,
        "deep.js": b"[" * 60_000,
        "line.py": b"def f(): pass\n#" + b"x" * (10 << 20),
        "good.py": FEES,
    }
    lines = (await _read_start_files(sandbox, files)).listing
    assert len(lines) == 4
    assert any("good.py" in line and "3: class Fees:" in line for line in lines)
    assert max(map(len, lines)) < 3_000


async def test_the_planner_sees_names_and_interface_of_the_checks(sandbox: LocalSandbox) -> None:
    checks = Checks({"tests/test_amount.py": "from amount import parse_amount\n"})
    ports = _ports(sandbox, {"amount.py": SMALL}, checks=checks)
    state = initial_state(job_fields(TASK, checks=True, verify=("make", "all"), max_revisions=1))
    state["interface"] = "amount.py: parse_amount(text: str) -> float"
    with ProviderServer(_answer) as server:
        pool = ModelPool(ModelOptions({"groq": "none"}, {"groq": server.groq_url}))
        models = RoleModels.alone(pool, "groq:m")
        try:
            await build(None).ainvoke(state, context=replace(ports, models=models))
        finally:
            await pool.aclose()
    planner = next(request for request in server.requests if request.forced_tool == "Plan")
    request_text = planner.messages[-1].text
    assert "checks will run on the work: tests/test_amount.py." in request_text
    assert "amount.py: parse_amount(text: str) -> float" in request_text
    assert "`make all`" in request_text


async def test_only_the_smallest_files_are_read() -> None:
    ports = _ports(PlannedSandbox({}), {f"{n:04}.bin": b"\xff" for n in range(3_000)})
    reads = 0
    read = ports.workspace.read

    async def counted(path: str) -> bytes | None:
        nonlocal reads
        reads += 1
        return await read(path)

    ports.workspace.read = counted  # type: ignore[method-assign]
    assert (await start_files(ports)).texts == {}
    await ports.models.pool.aclose()
    assert reads < 150


async def _requests(
    answer: Callable[[Request], Reply], job: JobFields, ports: Ports, state: Any = None
) -> list[Request]:
    with ProviderServer(answer) as server:
        pool = ModelPool(ModelOptions({"groq": "none"}, {"groq": server.groq_url}))
        ports = replace(ports, models=RoleModels.alone(pool, "groq:m"))
        try:
            await build(None).ainvoke(state or initial_state(job), context=ports)
        finally:
            await pool.aclose()
    return server.requests


def _text(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)


async def test_every_role_reads_the_answers_of_people(sandbox: LocalSandbox) -> None:
    parts = [{"does": "A.", "after": []}, {"does": "B.", "after": []}, {"does": "C."}]

    def answer(request: Request) -> Reply:
        tests = {"path": "test_a.py", "content": "import amount\n"}
        written = {"interface": "amount.py", "files": [tests]}
        verdict = {"verdict": "revise", "feedback": "No."}
        replies = {"ParallelPlan": {"steps": parts}, "Tests": written, "Verdict": verdict}
        forced = request.forced_tool
        return Reply(tool_calls=(ToolCall(forced, replies[forced]),)) if forced else Reply("Done.")

    state = initial_state(job_fields(TASK, write_tests=True, parallel=True, max_revisions=2))
    state["clarified"] = [{"question": "Which comma?", "answer": "The German one.", "by": "Ada"}]
    ports = _ports(sandbox, {"amount.py": SMALL})
    requests = await _requests(answer, job_fields(TASK), ports, state)
    roles = [request.forced_tool or "executor" for request in requests]
    assert {"Tests", "ParallelPlan", "executor", "Verdict"} <= set(roles)
    assert roles.count("executor") == 4  # two branches, the joining pass, a revision
    for request in requests:
        assert _text(request).count("Which comma?") == 1, request.forced_tool
        assert _text(request).count("The German one.") == 1, request.forced_tool


async def test_the_map_appears_once_in_each_request(sandbox: LocalSandbox) -> None:
    repository = RepositoryFacts("c" * 40, 1, ("amount.py",))
    ports = _ports(sandbox, {"amount.py": SMALL}, repository=repository)
    line = "amount.py: parse_amount 1"
    job = job_fields(TASK, files=("amount.py",), repository_map=line, max_revisions=3)
    requests = await _requests(_answer, job, ports)
    assert [request.forced_tool for request in requests].count(None) == 2
    for request in requests:
        expected = 0 if request.forced_tool == "Verdict" else 1
        assert _text(request).count(line) == expected, request.forced_tool
