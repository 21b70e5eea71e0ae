"""Runs a task's tests in the sandbox, and judges by pytest's own report of each test."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lab.evals.repos.task import RepoTask
from sandbox.protocol import MIB, Command, End, Limits, RunResult, Sandbox

LIMITS = Limits(
    wall_seconds=900,
    cpu_seconds=1_800,
    memory_bytes=4_096 * MIB,
    processes=512,
    open_files=1_024,
    file_bytes=256 * MIB,
    workspace_bytes=512 * MIB,
    workspace_files=20_000,
    output_bytes=4 * MIB,
)
"""The limits of a run, wide enough for the suites of real projects."""
OWN_SECONDS = 5.0
"""The seconds of the wall time that are reserved for the supervisor's report."""
OUTPUT_CHARACTERS = 400
PASSED = frozenset({"passed", "xfailed"})
"""`xfailed`: the test's own source expects the failure, as in the lists of SWE-bench."""
_ENDS = {
    End.TIMEOUT: "the tests ran for longer than they may",
    End.CPU: "the tests used more processor time than they may",
    End.MEMORY: "the tests used more memory than they may",
    End.DISK: "the tests' files took more space than they may",
    End.OUTPUT: "the tests printed far more than is kept",
}


@dataclass(frozen=True, slots=True)
class Tree:
    """The tested tree: layers, which include the repository, and the files over them. `paths` come
    first on the module path, path files in `sites` have effect."""

    layers: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ("/work",)
    sites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PytestRun:
    """The outcome of each wanted test, [outcome, detail]; `problem` is the reason if there are no
    outcomes, or if they do not count; `errors` has files that could not be collected, [path,
    detail]."""

    tests: Mapping[str, Sequence[str]] = field(default_factory=dict)
    errors: Sequence[Sequence[str]] = ()
    problem: str | None = None
    output: str = ""

    def passed(self, name: str) -> bool:
        """Whether a wanted test has passed."""
        return self.problem is None and self.tests[name][0] in PASSED

    def why_not(self, names: Sequence[str]) -> str | None:
        """The reason why not all of these have passed, in one line; None if they have passed."""
        if self.problem is not None:
            last = [name for name in names if self.tests and self.tests[name][0] not in PASSED][:1]
            at = f" ({last[0]} had not passed yet)" if last else ""
            return f"{self.problem}{at}{self._problem_text()}"
        bad = [(name, *self.tests[name]) for name in names if not self.passed(name)]
        if not bad:
            return None
        name, outcome, detail = bad[0]
        more = f" (and {len(bad) - 1} more of {len(names)})" if len(bad) > 1 else ""
        if outcome == "missing":
            of_file = [text for path, text in self.errors if path and name.startswith(path)]
            detail = next(iter(of_file), f"pytest did not report it{self._problem_text()}")
        return f"{name} {outcome}{more}: {one_line(detail)}"

    def _problem_text(self) -> str:
        return f"; its output ends with: {self.output}" if self.output else ""


async def run_tests(
    sandbox: Sandbox, task: RepoTask, tree: Tree, limits: Limits = LIMITS, *, runs_all: bool = True
) -> PytestRun:
    """Run the task's tests over `tree`: all tests if `runs_all`, else the tests that the command
    reaches. Raises SandboxUnavailable.
    """
    secret = secrets.token_hex(16)
    requested = list(dict.fromkeys((*task.fail_to_pass, *task.pass_to_pass)))
    order = {
        "command": task.command,
        "wanted": requested,
        "every": runs_all,
        "paths": tree.paths,
        "sites": tree.sites,
        "plugin": source("reporting"),
        "seconds": max(limits.wall_seconds - OWN_SECONDS, 0.5),
        "secret": secret,
    }
    command = Command(
        argv=("python", "-c", source("supervisor")),
        files=tree.files,
        stdin=json.dumps(order).encode(),
        trees=tree.layers,
        removed=tree.removed,
    )
    try:
        result = await sandbox.run(command, limits)
    except ValueError as error:  # files that a sandbox does not accept
        return PytestRun(problem=f"the patched files cannot be tested: {error}")
    return _read(result, secret)


def _read(result: RunResult, secret: str) -> PytestRun:
    """The supervisor's report; only the supervisor has the secret."""
    stdout, output = result.stdout.text, one_line(result.stderr.text[-OUTPUT_CHARACTERS:])
    if not (result.succeeded and stdout.startswith(secret)):
        problem = _ENDS.get(result.end) or "the tests ended the process that judges them"
        return PytestRun(problem=problem, output=output)
    report = json.loads(stdout[len(secret) :])
    return PytestRun(report["tests"], report["errors"], report["problem"], output)


def one_line(text: str) -> str:
    """The lines of the text joined into one, without empty lines."""
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())


@cache
def source(name: str) -> str:
    """The text of a program that runs in the sandbox."""
    return (Path(__file__).parent / "inside" / f"{name}.py").read_text()
