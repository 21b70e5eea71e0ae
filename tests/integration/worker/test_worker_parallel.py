"""Parallel steps with a provider's real client: a worker that dies during one of them, and a
repository in which two steps change one file.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.processes.delivering import delivering
from support.processes.deployment import MORTAL, running_deployment

from jobs.model.record import Status
from jobs.model.spec import JobSpec
from lab.provider import Hang, ProviderServer, Reply, Request, ToolCall, Turn

MODEL = "groq:llama-3.3-70b-versatile"
STEPS = [
    {"does": "Write one.txt.", "after": []},
    {"does": "Write two.txt.", "after": []},
    {"does": "Join them.", "after": [1, 2]},
]
APART_SECONDS = 1.5


def _run(code: str, seconds: float = 0.0) -> Reply:
    return Reply(tool_calls=(ToolCall("python", {"code": code}),), delay_seconds=seconds)


def sender_of(request: Request) -> str:
    """The forced tool, the step of a branch, or `joining`."""
    if request.forced_tool:
        return request.forced_tool
    user_text = " ".join(message.text for message in request.messages if message.speaker == "user")
    matching_steps = (step for step in ("step 1", "step 2") if f"Do {step} of" in user_text)
    return next(matching_steps, "joining")


@dataclass
class TwoAtOnce:
    """Answers both branches; the last call of the second branch hangs at first. `calls` counts the
    calls.
    """

    calls: Counter[str] = field(default_factory=Counter)
    at: dict[str, float] = field(default_factory=dict)

    def __call__(self, request: Request) -> Turn:
        sender = sender_of(request)
        name = f"{sender} {request.replies_so_far}"
        self.calls[name] += 1
        self.at.setdefault(name, request.at)
        if name == "step 2 1" and self.calls[name] == 1:
            return Hang()
        return self._answer(sender, first=request.replies_so_far == 0)

    @staticmethod
    def _answer(sender: str, *, first: bool) -> Reply:
        match sender, first:
            case "ParallelPlan", _:
                return Reply(tool_calls=(ToolCall(sender, {"steps": STEPS}),))
            case "Verdict", _:
                return Reply(tool_calls=(ToolCall(sender, {"verdict": "approve", "runs": ["r3"]}),))
            case "step 1", True:
                return _run("open('one.txt', 'w').write('1')", APART_SECONDS)
            case "step 2", True:
                return _run("open('two.txt', 'w').write('2')", APART_SECONDS)
            case "joining", True:
                return _run("print(open('one.txt').read() + open('two.txt').read())")
        return Reply(f"Done: {sender}.")


@pytest.mark.invariant("J13")
async def test_a_finished_branch_survives_a_worker_that_dies_during_another(
    tmp_path: Path,
) -> None:
    script = TwoAtOnce()
    with (
        running_deployment(tmp_path, GROQ_API_KEY="a") as deployment,
        ProviderServer(script) as server,
    ):
        deployment.worker(groq_base_url=server.groq_url, lease_seconds=MORTAL)
        async with deployment.operations() as operations:
            spec = JobSpec(task="Write two files.", model=MODEL, parallel=True)
            job_id = await deployment.submit(operations, spec)
            await deployment.wait_for_event(operations, job_id, "step_finished", seconds=60)
            async with asyncio.timeout(20):
                while not script.calls["step 2 1"]:
                    await asyncio.sleep(0.02)
            deployment.stop_workers(signal.SIGKILL)
            deployment.worker(groq_base_url=server.groq_url)
            job = await deployment.until(operations, job_id, seconds=60)
            events = await operations.store.events(job_id)
            charges = await operations.store.charges(job_id)
    assert job.status is Status.SUCCEEDED, deployment.logs()
    assert job.result is not None
    assert [artifact["name"] for artifact in job.result.artifacts] == ["one.txt", "two.txt"]
    # Before any answer arrived.
    assert abs(script.at["step 1 0"] - script.at["step 2 0"]) < APART_SECONDS
    assert script.calls.pop("step 2 1") == 2  # the one call in flight
    assert set(script.calls.values()) == {1}
    kinds = Counter(event.kind for event in events)
    assert (kinds["model_called"], kinds["run_finished"], kinds["lease_lost"]) == (8, 3, 1)
    assert (kinds["step_started"], kinds["step_finished"], kinds["merged"]) == (2, 2, 1)
    assert len(charges) == 8
    runs = [event.data for event in events if event.kind == "run_finished"]
    assert sorted((run["number"], run.get("step")) for run in runs) == [(1, 1), (2, 2), (3, None)]


def _edit(old_text: str, new_text: str) -> ToolCall:
    arguments = {"path": "days/count.py", "old_text": old_text, "new_text": new_text}
    return ToolCall("edit_file", arguments)


REMOVE_AND_ADD = "import os; os.remove('days/old.py'); open('days/new.py', 'w').write('N = 1\\n')"
CHANGES = {
    "step 1": (
        _edit("return abs(year - EPOCH)", "return year - EPOCH"),
        ToolCall("python", {"code": REMOVE_AND_ADD}),
    ),
    "step 2": (
        _edit("EPOCH = 1970\n", "EPOCH = 1970  # of Unix\n"),
        ToolCall("python", {"code": "import os; os.chmod('run.sh', 0o644)"}),
    ),
    "joining": (ToolCall("verify", {"command": ["python", "-m", "pytest", "-q"]}),),
}


def change_in_parallel(request: Request) -> Turn:
    """Answers the planner, two branches that change one file of a repository, and the others."""
    sender = sender_of(request)
    match sender:
        case "ParallelPlan":
            return Reply(tool_calls=(ToolCall(sender, {"steps": STEPS}),))
        case "Verdict":
            return Reply(tool_calls=(ToolCall(sender, {"verdict": "approve", "runs": ["r3"]}),))
    return Reply(tool_calls=CHANGES[sender]) if request.replies_so_far == 0 else Reply("Done.")


@pytest.mark.timeout(240)  # its own limit on the job, and the modules of two programs
@pytest.mark.parametrize("own_plan", [False, True], ids=["planner's", "caller's"])
def test_parallel_steps_change_different_lines_of_a_file_of_a_repository(
    tmp_path: Path, *, own_plan: bool
) -> None:
    steps = [{"text": step["does"], "after": step["after"]} for step in STEPS if own_plan]
    with delivering(tmp_path, "git") as scene, ProviderServer(change_in_parallel) as server:
        scene.worker(groq_base_url=server.groq_url)
        job_id = scene.submit(parallel=True, deliver={"branch": True}, steps=steps)
        job = scene.job(job_id)
        patch = scene.service.patch(job_id).decode()
    branch = f"fettle/{job_id}"
    assert job["result"]["delivery"]["branch"] == branch
    text = scene.bare.git("show", f"{branch}:days/count.py")
    assert "EPOCH = 1970  # of Unix\n" in text
    assert "return year - EPOCH" in text
    names = scene.bare.git("diff", "--name-status", f"main..{branch}").splitlines()
    assert sorted(names) == ["A\tdays/new.py", "D\tdays/old.py", "M\tdays/count.py", "M\trun.sh"]
    assert "old mode 100755\nnew mode 100644\n" in patch
