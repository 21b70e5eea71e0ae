"""Three jobs on one repository, each a follow-up of the one before, and their model."""

from __future__ import annotations

from dataclasses import dataclass, field

from support.graph.repository_job import NEW_TEST, TASK

from lab.provider import Reply, Request, ToolCall, Turn

TASKS = (TASK, "Now do the same for the CLI.", "Say so in the docstring, too.")
ANSWERS = (
    "`years()` keeps its sign, so years before 1970 are negative.",
    "`days.cli.main()` prints the years with their sign.",
    "The docstring of `years()` says that years before 1970 are negative.",
)
CLI = """\
from days.count import years


def main(words):
    return [years(int(word)) for word in words]
"""
CLI_TEST = """\
from days.cli import main


def test_main():
    assert main(["1969", "1971"]) == [-1, 1]
"""
VERIFY = ToolCall("verify", {"command": ["python", "-m", "pytest"]})
CALLS: tuple[tuple[ToolCall, ...], ...] = (
    (
        ToolCall(
            "edit_file",
            {
                "path": "days/count.py",
                "old_text": "return abs(year - EPOCH)",
                "new_text": "return year - EPOCH",
            },
        ),
        ToolCall(
            "edit_file",
            {
                "path": "tests/test_count.py",
                "old_text": "    assert years(1972) == 2\n",
                "new_text": f"    assert years(1972) == 2\n{NEW_TEST}",
            },
        ),
        VERIFY,
    ),
    (
        ToolCall("write_file", {"path": "days/cli.py", "content": CLI}),
        ToolCall("write_file", {"path": "tests/test_cli.py", "content": CLI_TEST}),
        VERIFY,
    ),
    (
        ToolCall(
            "edit_file",
            {
                "path": "days/count.py",
                "old_text": '"""Years from the epoch."""\n    return year - EPOCH',
                "new_text": '"""Years from the epoch; negative before it."""\n'
                "    return year - EPOCH",
            },
        ),
        VERIFY,
    ),
)
"""The calls of the executor. Those of a follow-up fail without the change of the job before."""


@dataclass
class ThreadModel:
    """The model's side of the three jobs. `requests` are the requests of all roles."""

    requests: list[Request] = field(default_factory=list)

    def turn(self, request: Request) -> Turn:
        self.requests.append(request)
        number = number_of(request)
        if request.forced_tool == "Plan":
            return Reply(tool_calls=(ToolCall("Plan", {"steps": [TASKS[number]]}),))
        if request.forced_tool == "Verdict":
            verdict = {"verdict": "approve", "feedback": "", "unmet": [], "runs": ["r1"]}
            return Reply(tool_calls=(ToolCall("Verdict", verdict),))
        if any(message.speaker == "assistant" for message in request.messages):
            return Reply(ANSWERS[number])
        return Reply(tool_calls=CALLS[number])


def number_of(request: Request) -> int:
    """The number of the job, from 0, that makes this request."""
    text = text_of(request)
    return next(n for n, task in enumerate(TASKS) if f"The task:\n\n{task}" in text)


def text_of(request: Request) -> str:
    """All messages of the request."""
    return "\n".join(message.text for message in request.messages)
