"""Which command verifies the work, and which run supports the answer if there are no source
files.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from agents.attempt import Ports
from agents.evidence.declared import (
    by_program,
    find_declared,
    last_declaration,
    matching_run,
)
from agents.evidence.record import NOT_EXECUTABLE
from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace, ports_over
from agents.ports.repository import RepositoryFacts
from agents.runs.program import VERIFY, Program

Run = dict[str, Any]


def run(number: int, tool: str = "python", text: str = "print(1)", **more: Any) -> Run:
    ok = more.pop("ok", True)
    return {
        "id": f"r{number}", "number": number, "revision": 1, "by": "executor", "tool": tool,
        "code": {"text": text, "dropped_bytes": 0, "digest": None}, "succeeded": ok,
        "end": "exited", "failure": None if ok else {"class": "key", "cause": "KeyError: 'a'"},
        "artifacts": [], **more,
    }  # fmt: skip


def verify(number: int, text: str = "python check.py", **more: Any) -> Run:
    return run(number, VERIFY, text, **more)


def state(
    *runs: Run, artifact_names: Any = (), job: dict[str, Any] | None = None, **more: Any
) -> Any:
    artifacts = {name: {"name": name, "digest": f"of {name}"} for name in artifact_names}
    state = {"job": {"task": "Add.", **(job or {})}, "revision": 1, "artifacts": artifacts}
    return {**state, "runs": list(runs), **more}


def ports(record: MemoryRecord | None = None, **files: bytes) -> Ports:
    memory_record = record or MemoryRecord()
    contents = {name.replace("__", "."): content for name, content in files.items()}
    sandbox: Any = None
    models: Any = None
    return replace(
        ports_over(memory_record, sandbox, models),
        workspace=MemoryWorkspace(memory_record, contents),
    )


JOBS = {"verify": ["python", "-m", "shop", "a b"]}
CHECK, TESTS = verify(1), verify(2, "pytest -q")


@pytest.mark.parametrize(
    ("now", "files", "source", "text"),
    [
        (state(CHECK, job=JOBS), {}, "job", "python -m shop 'a b'"),
        (state(CHECK, TESTS), {}, "model", "pytest -q"),
        (state(TESTS, CHECK, run(3)), {}, "model", "python check.py"),
        (state(verify(1, ok=False)), {}, "model", "python check.py"),
        (state(CHECK), {"test_a.py": b""}, "model", "python check.py"),
        (state(run(1)), {"test_a.py": b""}, "default", "pytest"),
        (state(), {"tests/test_a.py": b""}, "default", "pytest"),
        (state(run(1), run(2, "shell", "make | tee log")), {}, "default", "make | tee log"),
        (
            state(
                run(1, text="import a"),
            ),
            {"a.py": b""},
            "default",
            "import a",
        ),
    ],
)
async def test_the_source_of_the_verifying_command(
    now: Any, files: dict[str, bytes], source: str, text: str
) -> None:
    declared = await find_declared(now, ports(), files)
    assert declared is not None
    assert (declared.source, declared.program.text) == (source, text)
    if source in ("job", "model"):
        assert declared.program == Program.verify(shlex.split(text))


async def test_a_repositorys_own_tests_come_after_what_the_model_declares() -> None:
    facts = RepositoryFacts("c" * 40, 3, verify=("make", "test"))
    inside = replace(ports(), repository=facts)
    default = await find_declared(state(run(1)), inside, {"test_a.py": b""})
    assert default is not None
    assert (default.source, default.program.text) == ("default", "make test")
    declared = await find_declared(state(CHECK), inside, {})
    assert declared is not None
    assert declared.source == "model"


def test_a_run_by_fettle_is_not_a_declaration_of_the_model() -> None:
    by_default = {"run": "r2", "source": "default"}
    assert last_declaration(state(CHECK, TESTS, verifications=[by_default])) == CHECK
    assert last_declaration(state(TESTS, verifications=[by_default])) is None
    again = {"run": "r2", "source": "model"}
    assert last_declaration(state(CHECK, TESTS, verifications=[again])) == TESTS


def test_a_run_verifies_only_the_files_that_it_did_not_change() -> None:
    at = ports(a__py=b"x = 1\n")
    now = at.workspace.digest
    program = Program.verify(["python", "check.py"])
    good = verify(1, on=now, workspace=now)
    assert matching_run([good, run(2)], program, at) == good
    for other_run in (
        verify(1, on="before", workspace=now),
        verify(1, on=now, workspace="after"),
        verify(1),
        verify(1, "python other.py", on=now, workspace=now),
        run(1, "shell", "python check.py", on=now, workspace=now),
    ):
        assert matching_run([other_run], program, at) is None
    failed = verify(3, ok=False, on=now, workspace=now)
    assert matching_run([good, failed], program, at) == failed


def made_by(number: int, *names: str, **more: Any) -> Run:
    files = [{"name": name, "digest": f"of {name}"} for name in names]
    return run(number, artifacts=files, **more)


OTHER = {**made_by(2), "artifacts": [{"name": "a.csv", "digest": "an older one"}]}
NO_ANSWER = f"{NOT_EXECUTABLE}: the answer rests on no run"
NO_MAKER = f"{NOT_EXECUTABLE}: documents only"
FAILED = "r2 failed, and nothing has been run since: KeyError: 'a'"


@pytest.mark.parametrize(
    ("now", "rests_on", "problem"),
    [
        (state(run(1), run(2)), "r2", None),
        (state(run(1, ok=False), run(2)), "r2", None),
        (state(run(1), run(2, ok=False)), "r2", FAILED),
        (state(), None, NO_ANSWER),
        (state(made_by(1, "a.csv"), artifact_names=["a.csv"]), "r1", None),
        (
            state(made_by(1, "a.csv"), run(2), artifact_names=["a.csv"]),
            "r1",
            None,
        ),  # the run read the file
        (
            state(made_by(1, "a.csv"), made_by(2, "b.png"), artifact_names=["a.csv", "b.png"]),
            "r2",
            None,
        ),
        (state(made_by(1, "a.csv"), run(2, ok=False), artifact_names=["a.csv"]), "r2", FAILED),
        (state(made_by(1, "a.csv"), OTHER, artifact_names=["a.csv"]), "r1", None),
        (state(run(1), artifact_names=["notes.md"]), None, NO_MAKER),
        (state(artifact_names=["notes.md"]), None, NO_MAKER),
        (state(made_by(1, "a.csv", ok=False), artifact_names=["a.csv"]), None, NO_MAKER),
    ],
)
def test_without_source_files_the_program_is_the_work(
    now: Any, rests_on: str | None, problem: str | None
) -> None:
    verification = by_program(now)
    assert (verification["run"], verification["problem"], verification["holds"]) == (
        rests_on,
        problem,
        problem is None,
    )
    assert verification["source"] == ("program" if rests_on else None)
    assert verification["command"] == ("print(1)" if rests_on else None)
