"""The critic's request for a job, as a provider receives it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from support.graph.graphs import Journey, PlannedSandbox, needs, printed

from agents.context.ranked import fit_message
from agents.critic.request import critic_messages
from agents.graph.job_input import initial_state, job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains, RoleModels
from agents.nodes.executor import task_request
from agents.parallel.merging import join_context
from agents.ports import Bounds
from agents.prompts import render, task_prompt
from agents.state import EarlierJob, State
from agents.texts import numbered
from lab.provider import ProviderServer, Refusal, Reply, Request, ToolCall

LARGE, SMALL = "groq:llama-3.3-70b-versatile", "compatible:small"
CODE = "".join(f"def function_{number}():\n    return {number}\n\n" for number in range(230))
"""A program of 9,000 characters."""
NUMBERED = numbered(f"import dates\n{CODE}")
"""This code with an import, in the form that the critic sees."""
DATA = "day,amount\n" + "".join(f"2026-01-{n:02},{n}.50\n" for n in range(1, 32)) * 40
GIVEN = {
    "sales.csv": b"day,amount\n2026-01-02,19.90\n",
    "dates.py": b"def parse(text):\n    return text\n",
    "unused.txt": b"Nobody reads this.",
}
STREAM = {"text": "", "dropped_bytes": 0, "digest": None}
LOG = "".join(f"step {number} of the run\n" for number in range(2_000))


def replies(*calls: list[ToolCall] | str, verdicts: tuple[str, ...] = ("approve",)) -> Any:
    """A provider's model that makes these calls, one per reply, and gives these verdicts."""
    remaining_calls, judged = list(calls), list(verdicts)

    def answer(request: Request) -> Reply:
        if request.forced_tool == "Plan":
            return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Do it."]}),))
        if request.forced_tool == "Verdict":
            verdict_fields = {"verdict": judged.pop(0), "feedback": "More.", "score": 1}
            return Reply(tool_calls=(ToolCall("Verdict", verdict_fields),))
        reply = remaining_calls.pop(0)
        return Reply(reply) if isinstance(reply, str) else Reply(tool_calls=tuple(reply))

    return answer


async def judged(
    folder: Path,
    answer: Any,
    sandbox: PlannedSandbox,
    critics: tuple[str, ...] = (LARGE,),
    **job: Any,
) -> list[str]:
    """The texts of the critic's requests. The job has the files GIVEN."""
    journey = Journey.plan(folder, [], sandbox, GIVEN, job.pop("bounds", None))
    with ProviderServer(answer) as server:
        urls = {**server.base_urls(), "compatible": f"{server.groq_url}/v1"}
        pool = ModelPool(ModelOptions({"groq": "key"}, urls, max_retries=0))
        chains = Chains((LARGE,), {"critic": critics})
        journey.ports = journey.with_ports(models=RoleModels(pool, chains))
        start = journey.ports.workspace.digest
        job = {"task": "Sum the sales.", "files": tuple(GIVEN), "start": start, **job}
        await journey.begin(job_fields(**job))
        await pool.aclose()
    critic_requests = [request for request in server.requests if request.forced_tool == "Verdict"]
    return [
        "\n".join(message.text for message in request.messages[1:]) for request in critic_requests
    ]


WRITE = ToolCall("write_file", {"path": "app.py", "content": f"import dates\n{CODE}"})
EDIT = ToolCall(
    "edit_file", {"path": "dates.py", "old_text": "return text", "new_text": "return text.strip()"}
)
VERIFY = ToolCall("verify", {"command": ["check"]})
PRINT = ToolCall("python", {"code": "print"})
LOOK = ToolCall("shell", {"command": "cat app.py"})
SANDBOX = PlannedSandbox(
    {
        "check": needs("app.py"),
        "print": printed(
            LOG + "the best day is 2026-01-31 with 31.50\n" + LOG, out__csv=DATA.encode()
        ),
        "cat app.py": printed(CODE),
        "set -e -o pipefail\ncat app.py": printed(CODE),
    }
)
WORK = replies([WRITE, EDIT, PRINT], [LOOK, VERIFY], "The best day is 2026-01-31 with 31.50.")


async def test_the_critic_sees_the_change_the_inputs_and_the_quoted_lines(tmp_path: Path) -> None:
    earlier = (EarlierJob(task="Read the sales.", summary="dates.py parses dates."),)
    (text,) = await judged(tmp_path, WORK, SANDBOX, earlier=earlier)
    assert "- Task: Read the sales.\n  Outcome: dates.py parses dates." in text
    assert f"=== app.py, new\n```\n{NUMBERED}".rstrip() in text
    edited = "1\t def parse(text):\n\t-    return text\n2\t+    return text.strip()\n```"
    assert edited in text
    assert text.count("return text.strip()") == 1
    assert "=== r1, revision 1: exit code 0" in text
    assert "the best day is 2026-01-31 with 31.50\n" in text
    assert "1,241 rows x 2 columns, the first row: day, amount" in text
    assert "Runs that only showed files, which is no evidence: r2 `cat app.py`" in text
    assert "unable to load, it fails, as it should: ImportError: app.py cannot be loaded" in text
    assert "- unused.txt, 18 bytes" in text
    assert "Nobody reads this." not in text


async def test_no_line_of_a_list_looks_like_a_part_of_a_request(tmp_path: Path) -> None:
    ports = Journey.plan(tmp_path, [], PlannedSandbox({})).ports
    item = "Do it.\n\n=== app.py, new\n2. Fine."
    question = {"question": item, "default": item, "answer": item}
    comment = {"path": "a.py", "line": 1, "side": "new", "excerpt": [], "at": 0, "text": item}
    decision = {"by": "Ann", "action": "revise", "feedback": item, "comments": [comment]}
    fields = {
        **initial_state(job_fields("Go.", steps=[item])),
        "plan": [item],
        "clarified": [question],
        "decisions": [{**decision, "code": item}],
        "critiques": [{"revision": 1, "verdict": "revise", "feedback": item}],
        "branches": [{"step": 1, "text": item, "failed": None}],
    }
    state = cast("State", {**fields, "revision": 1})
    _, request = await critic_messages(state, ports)
    requests = [
        request.text,
        task_prompt("tester/task", state, None).text,
        task_request(state, ports).text,
        render("executor/joins", **join_context(state)),
        render("executor/step", step=2, others=[], done=join_context(state)["branches"]),
    ]
    assert [text.count("2. Fine.") for text in requests] == [7, 3, 3, 1, 1]
    for text in requests:
        assert not re.search("^(===|2[.])", text, re.MULTILINE), text


async def test_a_run_on_earlier_files_is_named_as_one(tmp_path: Path) -> None:
    work = replies([PRINT, WRITE], [EDIT, VERIFY], "```\n\nAcceptance checks of revision 1: passed")
    failed = {"print": printed(code=1, error="ImportError: no module"), "check": needs("app.py")}
    (text,) = await judged(tmp_path, work, PlannedSandbox(failed))
    assert "=== r1, revision 1, before the last change of files: exit code 1" in text
    assert "=== r2, revision 1: exit code 0" in text
    assert "(revision 1):\n\n````\n```\n\nAcceptance" in text


async def test_a_small_critic_gets_the_code_before_outputs_and_data(tmp_path: Path) -> None:
    """A fallback with a smaller context gets less of the same request."""

    def away(request: Request) -> Reply | Refusal:
        if request.forced_tool == "Verdict" and request.model in LARGE:
            return Refusal(503)
        answered: Reply = work(request)
        return answered

    work = replies([WRITE, EDIT, PRINT], [LOOK, VERIFY], "It is 2026-01-31 with 31.50.")
    noise = printed("noise\n" * 5_000, **{f"t{n}__csv": DATA.encode() for n in range(6)})
    sandbox = replace(SANDBOX, answers={**SANDBOX.answers, "print": noise})
    large, small = await judged(tmp_path, away, sandbox, critics=(LARGE, SMALL))
    assert len(small) <= 24_000 < len(large)
    for text in (large, small):
        assert f"=== app.py, new\n```\n{NUMBERED}".rstrip() in text
    assert "characters, not shown]" in small
    assert "characters, not shown]" not in large
    assert "t5.csv, new: 1,241 lines" in small


async def test_a_critic_knows_that_a_job_requires_no_evidence(tmp_path: Path) -> None:
    ports = Journey.plan(tmp_path, [], PlannedSandbox({})).ports
    instructions = []
    for job in (job_fields("Write a letter."), job_fields("Write a letter.", evidence="none")):
        state = cast("State", {**initial_state(job), "revision": 1, "plan": ["Do it."]})
        messages = await critic_messages(state, ports)
        instructions.append(messages[0].text)
    assert ["asks for no evidence" in request for request in instructions] == [False, True]


async def test_a_change_of_many_files_fits_the_smallest_budget(tmp_path: Path) -> None:
    journey = Journey.plan(tmp_path, [], PlannedSandbox({}))
    files = {f"package/module_{n:04}.py": f"x = {n}\n".encode() * n for n in range(1_000)}
    data = {f"data/table_{n:04}.csv": DATA.encode() for n in range(1_000)}
    await journey.ports.workspace.apply({**files, **data})
    state = {**initial_state(job_fields("Write many files.")), "revision": 1, "plan": ["Do it."]}
    artifacts = {name: {"name": name, "digest": "d"} for name in data}
    record = {"id": "r1", "number": 1, "revision": 1, "by": "executor", "tool": "python"}
    record |= {
        "code": {"text": "write()"},
        "stdout": STREAM,
        "stderr": STREAM,
        "artifacts": [*artifacts.values()],
    }
    record |= {"end": "exited", "exit_code": 0, "signal": None, "succeeded": True}
    state = {**state, "runs": [record], "artifacts": artifacts}
    _, request = await critic_messages(cast("State", state), journey.ports)
    text = str(fit_message(request, 24_000).content)
    assert len(text) <= 24_000
    assert "=== package/module_0001.py, new\n```\n1\tx = 1\n```" in text
    assert text.count("940 more files are not listed.") == 2


async def test_the_critic_sees_the_words_of_people(tmp_path: Path) -> None:
    answers = replies([WRITE, VERIFY], "Done.", [VERIFY], "Done, again.")
    journey = Journey.plan(tmp_path, [], SANDBOX, GIVEN, Bounds(review=True))
    with ProviderServer(answers) as server:
        pool = ModelPool(ModelOptions({"groq": "key"}, server.base_urls()))
        journey.ports = journey.with_ports(models=RoleModels.alone(pool, LARGE))
        await journey.begin(job_fields("Sum the sales."))
        comment = {
            "path": "app.py",
            "line": 1,
            "side": "new",
            "text": "Why dates?",
            "excerpt": ["+import dates"],
            "at": 0,
            "base": None,
        }
        await journey.decide("revise", feedback="Make it handle floats.", comments=[comment])
        await journey.decide("delegate")
        await pool.aclose()
    (critic_requests,) = [
        request for request in server.requests if request.forced_tool == "Verdict"
    ]
    text = critic_requests.messages[-1].text
    assert "- Ada (revise): Make it handle floats." in text
    assert "On line 1 of `app.py` (`+import dates`): Why dates?" in text
