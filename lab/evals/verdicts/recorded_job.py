"""A recorded job: its task and files, the executor's calls, and the expected verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import yaml
from pydantic import BaseModel, ConfigDict

FOLDER: Final = Path(__file__).parent
_STEPS = ("Do the task.", "Verify the work.")


class _FileModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExpectedVerdict(_FileModel):
    """The expected findings of the rules, without a critic."""

    holds: bool
    """Whether the verification is evidence, so that the critic may approve the work."""
    notes: tuple[str, ...] = ()
    """A part of each note that weakens the evidence."""
    own_word: bool = False
    not_executed: tuple[str, ...] = ()
    """Changed functions that the verification does not execute, as `path::name`."""


class RecordedJob(_FileModel):
    """A job that a script plays: `calls` are the executor's tool calls, one per reply, each as
    {tool: arguments}; `answer` is its last reply.
    """

    name: str
    about: str
    task: str
    files: Mapping[str, str] = {}
    calls: Sequence[Mapping[str, Mapping[str, Any]]]
    answer: str
    expected: ExpectedVerdict

    @classmethod
    def load(cls, path: Path) -> Self:
        """The job in a file. Raises pydantic.ValidationError."""
        return cls(name=path.stem, **yaml.safe_load(path.read_text()))

    @property
    def is_planted(self) -> bool:
        """Whether the work has a fault that the rules or the critic should find."""
        return self.name.startswith("planted-")

    def write_recording(self, folder: Path) -> str:
        """Write the recording `NAME.yaml` (`agents.recordings`); returns the model's name."""
        turns = [
            _turn("planner", 0, tool_calls=[{"name": "Plan", "args": {"steps": list(_STEPS)}}]),
            *(
                _turn("executor", number, tool_calls=[{"name": tool, "args": dict(arguments)}])
                for number, call in enumerate(self.calls)
                for tool, arguments in call.items()
            ),
            _turn("executor", None, content=self.answer),
            _turn("critic", None, tool_calls=[{"name": "Verdict", "args": {"verdict": "approve"}}]),
        ]
        recording = {"about": self.about, "turns": turns}
        (folder / f"{self.name}.yaml").write_text(yaml.safe_dump(recording, sort_keys=False))
        return f"recording:{self.name}"


def recorded_jobs(names: Sequence[str] = (), folder: Path = FOLDER) -> list[RecordedJob]:
    """The jobs with these names, or all jobs, sorted by name."""
    jobs = [RecordedJob.load(path) for path in sorted(folder.glob("*.yaml"))]
    return [job for job in jobs if not names or job.name in names]


def _turn(role: str, after: int | None, **reply: Any) -> dict[str, Any]:
    """A turn that answers any request with `after` earlier replies, or any request at all."""
    position = {} if after is None else {"after": after}
    return {"role": role, "expect": "", "match": "contains", **position, "reply": reply}
