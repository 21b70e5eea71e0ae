"""A program, and one run of it in a fresh sandbox."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from agents.attempt import Ports
from agents.layout.site import METADATA, METADATA_BYTES, SETUP_PTH, project_site, setup_pth
from agents.paths import SETUP
from agents.ports import Workspace
from agents.runs.live_output import live_output
from agents.runs.pytest_runs import FILE, PytestReport, report_in, why_failed, words_of_pytest
from agents.runs.shell_marks import SHELL, MarkedResult, read_marks, shell_argv
from agents.sandbox_programs import source
from agents.tree import Tree
from sandbox.protocol import Command, Limits, RunResult
from sandbox.zygote import charts

VERIFY: Final = "verify"
"""The tool of a verification."""
PLUGIN: Final = "fettle_report"
"""The pytest plug-in that reports each test. It is the only word that Fettle adds to a project's
own command, and it replaces no option that a project configures."""
_NOTHING: Final = "there was nothing to run"
_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
_TAG, _TAGGED = "CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that a run executes."""

    tool: str
    """The tool that the model called."""
    text: str
    """The code or the command, as people read it."""
    argv: tuple[str, ...]
    """The words that start the program in the sandbox."""
    seconds: float | None = None
    """Its time limit, if that is below the job's."""
    tests: bool = False
    """Whether it runs pytest, which reports each test."""

    @classmethod
    def python(cls, code: str) -> Program:
        """A program in Python; see `sandbox.protocol.Command.python`."""
        return cls("python", code, Command.python(code).argv)

    @classmethod
    def shell(cls, command: str, seconds: float | None = None) -> Program:
        """A command line for bash."""
        return cls(SHELL, command, shell_argv(command), seconds=seconds)

    @classmethod
    def verify(cls, words: Sequence[str]) -> Program:
        """An argv without a shell. `shlex.split` turns its text into the argv again."""
        argv, count = tuple(words), words_of_pytest(words)
        if count:
            argv = (*argv[:count], "-p", PLUGIN, *argv[count:])
        return cls(VERIFY, shlex.join(words), argv, tests=count > 0)

    @classmethod
    def again(cls, tool: str, text: str) -> Program:
        """The program of a recorded run."""
        match tool:
            case "shell":
                return cls.shell(text)
            case "python":
                return cls.python(text)
            case _:
                return cls.verify(shlex.split(text))

    @property
    def empty(self) -> bool:
        """Whether it has only blank lines and comments: such a run proves nothing."""
        lines = map(str.strip, self.text.splitlines())
        return all(not line or line.startswith("#") for line in lines)

    def within(self, limits: Limits) -> Limits:
        """The job's `limits`, with this program's time limit."""
        if self.seconds is None:
            return limits
        return replace(limits, wall_seconds=min(limits.wall_seconds, self.seconds))


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The result of a program."""

    result: RunResult
    problem: str | None = None
    """Why the program failed, also if its exit code is 0."""
    report: PytestReport | None = None
    """The report of pytest, if the program runs pytest."""
    shell: MarkedResult | None = None
    """The outputs of a command line by command, and the command that ended it."""

    @property
    def passed(self) -> bool:
        """Whether it exited with 0 and its report has no problem."""
        return self.result.succeeded and self.problem is None


async def execute(
    ports: Ports, program: Program, tree: Tree, run: str | None = None
) -> ProgramResult:
    """Run the program in a new sandbox over `tree` with the installed packages. The workspace does
    not change. `run` is the id of the job's run, if clients can follow its output; None: they
    cannot.

    Raises the sandbox's errors: an infrastructure error is not the program's failure.
    """
    command = command_over(program, tree, await project_files(ports.workspace))
    with live_output(ports.outputs, run, program.tool, program.text) as receiver:
        followed = command if receiver is None else replace(command, live_output=receiver)
        result = await ports.sandbox.run(followed, program.within(ports.limits))
    changed = without_caches(result.changed)
    report = report_in(changed) if program.tests else None
    changed.pop(FILE, None)
    result = replace(result, changed=changed, deleted=result.deleted - {FILE})
    if report is not None:
        return ProgramResult(result, why_failed(report, result), report)
    marked = read_marks(program.text, result) if program.tool == SHELL else None
    problem = _NOTHING if program.empty else None
    return ProgramResult(marked.result if marked else result, problem, shell=marked)


def command_over(program: Program, tree: Tree, project: Mapping[str, bytes]) -> Command:
    """The program's command over `tree`, with all that is installed for it, and with the modules of
    the `project` (`agents.layout.site`)."""
    site = dict(project)
    if program.tool != "python":  # the sandbox describes the charts of a program for `python`
        site["charts.pth"] = f"{_charts()}\n".encode()
    if program.tests:
        site[f"{PLUGIN}.py"] = source(PLUGIN).encode()
    return installed_command(program.argv, tree, site)


def installed_command(
    argv: tuple[str, ...], tree: Tree, site: Mapping[str, bytes], stdin: bytes = b""
) -> Command:
    """A command over `tree`, with the installed dependencies and the `site` files."""
    path: tuple[str, ...] = ()
    if tree.installed:
        site, path = {**site, SETUP_PTH: setup_pth()}, (f"{SETUP}/bin",)
    with_dependencies = replace(tree, layers=(*tree.installed, *tree.layers))
    return replace(with_dependencies.command(argv, stdin), site=site, path=path)


@cache
def _charts() -> str:
    return charts.pth_line()


async def project_files(workspace: Workspace) -> dict[str, bytes]:
    """The site files that make the workspace's project importable. A verification over files that
    cannot load also uses the project's true metadata."""
    return project_site(workspace.list(), await metadata_texts(workspace))


async def metadata_texts(workspace: Workspace) -> dict[str, str]:
    """The project's metadata: texts by path."""
    sizes = workspace.list()
    return {
        name: (await workspace.read(name) or b"").decode(errors="replace")
        for name in METADATA
        if sizes.get(name, METADATA_BYTES + 1) <= METADATA_BYTES
    }


def without_caches(changed: Mapping[str, bytes]) -> dict[str, bytes]:
    """The changed files without the caches that programs keep, which are not the job's work. A
    cache of another name is tagged (https://bford.info/cachedir)."""
    tagged = tuple(
        path.removesuffix(_TAG)
        for path, data in changed.items()
        if path.endswith(f"/{_TAG}") and data.startswith(_TAGGED)
    )
    return {
        path: data
        for path, data in changed.items()
        if _CACHES.isdisjoint(path.split("/")) and not path.startswith(tagged)
    }
