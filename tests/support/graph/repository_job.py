"""A repository of twenty files with a fault, and a model that corrects it with edit_file calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from support.servers.git_repositories import Repository, create_repository

from lab.provider import Refusal, Reply, Request, ToolCall, Turn

TASK = "Days before 1970 are counted wrongly."
FILES = {
    "pyproject.toml": b'[project]\nname = "days"\nversion = "1"\n[tool.pytest.ini_options]\n',
    "AGENTS.md": b"Every function has a test.\n",
    ".gitignore": b"*.log\n",
    "days/__init__.py": b"",
    "days/count.py": (
        b"EPOCH = 1970\n\n\ndef years(year):\n"
        b'    """Years from the epoch."""\n    return abs(year - EPOCH)\n'
    ),
    "days/text.py": (
        b"from days.count import years\n\n\ndef shown(year):\n    return str(years(year))\n"
    ),
    "days/old.py": b"# not used any more\n",
    "tests/test_count.py": (
        b"from days.count import years\n\n\ndef test_after():\n    assert years(1972) == 2\n"
    ),
    "tests/test_text.py": (
        b'from days.text import shown\n\n\ndef test_shown():\n    assert shown(1971) == "1"\n'
    ),
    "run.sh": b"#!/bin/sh\npython -m days\n",
    **{f"docs/page_{number}.md": f"# Page {number}\n".encode() for number in range(10)},
}
NEW_TEST = "\n\ndef test_before():\n    assert years(1969) == -1\n"
LOOK = (
    "import os, subprocess\n"
    "print(subprocess.check_output(['git', 'describe', '--tags'], text=True))\n"
    "open('.git/HEAD', 'a').close(); os.remove('days/old.py')\n"
    "open('run.log', 'w').write('x')\n"
)
REPLIES: tuple[tuple[ToolCall, ...], ...] = (
    (
        ToolCall("list_dir", {"depth": 2}),
        ToolCall("search", {"pattern": "def years"}),
        ToolCall("git", {"command": ["log", "--oneline"]}),
    ),
    (ToolCall("read_file", {"path": "days/count.py"}), ToolCall("verify", {"paths": ["tests"]})),
    (
        ToolCall(
            "edit_file",
            {
                "path": "days/count.py",
                "old_text": "return abs(year - EPOCH)",
                "new_text": "return year - EPOCH",
            },
        ),
    ),
    (
        ToolCall(
            "edit_file",
            {
                "path": "tests/test_count.py",
                "old_text": "    assert years(1972) == 2\n",
                "new_text": f"    assert years(1972) == 2\n{NEW_TEST}",
            },
        ),
        ToolCall("python", {"code": LOOK}),
    ),
    (
        ToolCall(
            "edit_file",
            {"path": "run.sh", "old_text": "python -m days", "new_text": "exec python -m days"},
        ),
        ToolCall("verify", {"command": ["python", "-m", "pytest"]}),
    ),
)
CHANGED = {
    "days/count.py": FILES["days/count.py"].replace(b"abs(year - EPOCH)", b"year - EPOCH"),
    "tests/test_count.py": FILES["tests/test_count.py"] + NEW_TEST.encode(),
    "run.sh": b"#!/bin/sh\nexec python -m days\n",
}
REMOVED = "days/old.py"
ANSWER = "years() keeps its sign."


def project(folder: Path) -> Repository:
    """The repository, with a tag and an executable file."""
    repository = create_repository(folder)
    repository.write(FILES)
    (folder / "run.sh").chmod(0o755)
    repository.commit()
    repository.git("tag", "v1")
    return repository


@dataclass
class RepairingModel:
    """The model's side of the job. `requests` are the requests of all roles. The executor's reply
    number `slow`, counted from 0, takes `seconds`; instead of the reply number `refused`, the
    provider refuses. `verdict` is the critic's verdict, which is based on `run`.
    """

    slow: int | None = None
    seconds: float = 0.0
    refused: int | None = None
    replies: tuple[tuple[ToolCall, ...], ...] = REPLIES
    verdict: str = "approve"
    run: str | None = "r3"
    requests: list[Request] = field(default_factory=list)

    def turn(self, request: Request) -> Turn:
        self.requests.append(request)
        if request.forced_tool == "Plan":
            return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Correct it."]}),))
        if request.forced_tool == "Verdict":
            runs = [self.run] if self.run else []
            verdict_fields = {
                "verdict": self.verdict,
                "feedback": "Go on.",
                "unmet": [],
                "runs": runs,
            }
            return Reply(tool_calls=(ToolCall("Verdict", verdict_fields),))
        done = sum(message.speaker == "assistant" for message in request.messages)
        if done == self.refused:
            return Refusal(400)
        delay = self.seconds if done == self.slow else 0.0
        if done >= len(self.replies):
            return Reply(ANSWER, delay_seconds=delay)
        return Reply(tool_calls=self.replies[done], delay_seconds=delay)
