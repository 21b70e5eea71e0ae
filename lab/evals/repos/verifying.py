"""Sends orders to the verifier, which is a separate process.

The verifier has a sandbox, git and pip, which the command of the service's users does not have.
Threads may share the verifier.
"""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from lab.evals.errors import BadResults, BadSet
from lab.evals.repos.task import RepoTask
from lab.evals.run.hidden_tests import NotVerified


class Verifying:
    """The verifier's process, within the `with` block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lab.evals.repos.verifier"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C does not reach it; it ends with its stdin
        )
        threading.Thread(target=self._listen, args=(self._pipe(self._process.stdout),)).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        with suppress(BrokenPipeError):  # the process has ended by itself
            self._pipe(self._process.stdin).close()
        self._process.wait()

    def verdict(self, task: RepoTask, candidate: str, patch: bytes = b"") -> dict[str, Any]:
        """{passed, why, failing, note}: of the shipped `fix`, of `none`, or of a `patch`.

        Raises NotVerified if the sandbox does not work.
        """
        return self._ask({"candidate": candidate, "patch": patch.decode("latin-1")}, task)

    def bundle(self, task: RepoTask) -> tuple[Path, str, str | None]:
        """The task's repository as a git bundle, its base commit, and the command that installs the
        task's packages (None: it has none). Raises BadSet if the repository cannot be read."""
        answer = self._ask({"candidate": "bundle"}, task)
        if "bundle" not in answer:
            raise BadSet(f"task {task.id}", answer["why"])
        return Path(answer["bundle"]), answer["commit"], answer["setup"]

    def merge(self, task: RepoTask, patch: bytes) -> tuple[Path, str]:
        """The task's repository with a patch as a further commit, as a git bundle, and that commit.
        Raises BadSet if the patch cannot be applied."""
        answer = self._ask({"candidate": "merge", "patch": patch.decode("latin-1")}, task)
        if "bundle" not in answer:
            raise BadSet(f"task {task.id}", answer["why"])
        return Path(answer["bundle"]), answer["commit"]

    def _ask(self, order: dict[str, Any], task: RepoTask) -> dict[str, Any]:
        assert self._process is not None
        number, answers = next(self._numbers), queue.SimpleQueue[dict[str, Any]]()
        text = json.dumps({**order, "number": number, "task": task.as_fields()})
        with self._lock:
            self._waiting[number] = answers
            try:
                self._pipe(self._process.stdin).write(text + "\n")
                self._pipe(self._process.stdin).flush()
            except OSError:
                answers.put({})
        answer = answers.get()
        if not answer:
            raise BadResults("the verifier's process has ended")
        if "error" in answer:
            raise NotVerified(answer["error"])
        return answer

    def _listen(self, answers: IO[str]) -> None:
        for line in answers:
            answer = json.loads(line)
            with self._lock:
                self._waiting.pop(answer["number"]).put(answer)
        with self._lock:
            for waiting in self._waiting.values():
                waiting.put({})

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe
