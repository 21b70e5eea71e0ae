"""The environment of code in the sandboxes of a worker, by image."""

from __future__ import annotations

import json

from sandbox.protocol import Command, End, IsolationLayer, Limits, RunResult, Stream
from worker.adapters.sandbox import Sandboxes

FOUND = {"python": "3.11.7", "packages": [], "programs": [], "runners": [], "digest": "d"}


class AnsweringSandbox:
    """A sandbox with runs that fail until `text` is set; then the runs print it."""

    text = ""

    async def run(self, command: Command, limits: Limits) -> RunResult:
        output = Stream(self.text)
        return RunResult(End.EXITED, 0 if self.text else 1, None, output, Stream(), 0.1)

    async def check(self) -> tuple[IsolationLayer, ...]:
        return ()

    async def close(self) -> None:
        """Has no resources to close."""


async def test_images_with_equal_descriptions_are_distinguished() -> None:
    """A setup that was built with the libraries of one image is not used with another image."""
    sandbox = AnsweringSandbox()
    sandbox.text = json.dumps(FOUND)
    sandboxes = Sandboxes(sandbox, ("a", "b"), lambda _: sandbox)
    environments = [await sandboxes.environment(image) for image in (None, "a", "b")]
    assert len({environment.digest for environment in environments}) == 3
    assert {environment.python for environment in environments} == {"3.11.7"}


async def test_a_sandbox_without_an_answer_is_asked_again() -> None:
    sandbox = AnsweringSandbox()
    sandboxes = Sandboxes(sandbox, (), lambda _: sandbox)
    assert (await sandboxes.environment(None)).digest == ""
    sandbox.text = json.dumps(FOUND)
    assert (await sandboxes.environment(None)).digest == "d"
