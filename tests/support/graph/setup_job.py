"""A repository with tests that need a package, and a model that uses the package in every kind of
run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from support.servers.git_repositories import Repository, create_repository
from support.servers.package_index import wheel

from lab.provider import Reply, Request, ToolCall, Turn

TASK = "Greet louder."
MODEL = "groq:llama-3.3-70b-versatile"
SHOUT = wheel(
    "shout",
    "1.0",
    {
        "shout.py": "def shout(text):\n    return text.upper()\ndef main():\n    print('HEY')\n",
        "shout-1.0.dist-info/entry_points.txt": "[console_scripts]\nhey = shout:main\n",
    },
)
PACKAGES = {"shout": {"shout-1.0-py3-none-any.whl": SHOUT}}
FILES = {
    "requirements.txt": b"# what the tests need\nshout==1.0\n",
    "greet.py": b"from shout import shout\n\n\ndef greet(name):\n    return shout(name)\n",
    "tests/test_greet.py": (
        b"from greet import greet\n\n\ndef test_greet():\n    assert greet('ada')[:3] == 'ADA'\n"
    ),
}
CODE = """\
import os, shout, subprocess
print(shout.__file__, subprocess.check_output(['hey'], text=True).strip())
os.makedirs('.setup/lib', exist_ok=True)
open('.setup/evil', 'w').write('x')
"""
LOOKS = (
    *("hey", "python -m pytest -q tests | tail -1", "pytest -q -o pythonpath=. tests | tail -1"),
    *("python -c 'import sys, shout, numpy; print(sys.prefix)'", "git status --porcelain"),
)
REPLIES = (
    (ToolCall("python", {"code": CODE}), ToolCall("shell", {"command": " && ".join(LOOKS)})),
    (ToolCall("list_dir", {"depth": 3}), ToolCall("search", {"pattern": "def |shout"})),
    (
        ToolCall(
            "edit_file",
            {"path": "greet.py", "old_text": "shout(name)", "new_text": "shout(name) + '!'"},
        ),
    ),
    (ToolCall("verify", {"command": ["python", "-m", "pytest", "-q"]}),),
)


def project(folder: Path) -> Repository:
    repository = create_repository(folder)
    repository.commit(FILES)
    return repository


@dataclass
class GreetingModel:
    """A model that records its `requests`."""

    requests: list[Request] = field(default_factory=list)

    def turn(self, request: Request) -> Turn:
        self.requests.append(request)
        if request.forced_tool == "Plan":
            return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Change it."]}),))
        if request.forced_tool == "Verdict":
            verdict_fields = {"verdict": "approve", "unmet": [], "runs": ["r3"]}
            return Reply(tool_calls=(ToolCall("Verdict", verdict_fields),))
        done = sum(message.speaker == "assistant" for message in request.messages)
        return Reply("Louder.") if done >= len(REPLIES) else Reply(tool_calls=REPLIES[done])

    @property
    def texts(self) -> list[str]:
        return [message.text for request in self.requests for message in request.messages]
