"""The tools in a job on a repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.graph.fixed_base import COMMIT, FixedBase
from support.graph.graphs import call, printed
from support.graph.tool_runs import Used, use

from agents.ports.environment import SandboxEnvironment
from agents.ports.repository import RepositoryFacts
from jobs.blobs.directory import DirectoryBlobs
from sandbox.protocol import Command, IsolationLayer, Limits, RunResult
from worker.adapters.workspace import ManifestWorkspace

FILES = {
    "README.md": b"# App\n",
    "src/app.py": b"def f():\n    return 1\n",
    **{f"src/parts/{number:03}.py": b"" for number in range(500)},
}
HAS_ALL = SandboxEnvironment(programs=("git", "rg"))


@dataclass
class AnsweringSandbox:
    """Answers each command with the next of the results."""

    results: list[RunResult]
    commands: list[Command] = field(default_factory=list)

    async def run(self, command: Command, limits: Limits) -> RunResult:
        self.commands.append(command)
        return self.results.pop(0)

    async def check(self) -> tuple[IsolationLayer, ...]:
        return ()

    async def close(self) -> None:
        """Has no resources to close."""


async def used(
    folder: Path,
    *calls: Mapping[str, Any],
    results: list[RunResult] | None = None,
    environment: SandboxEnvironment = HAS_ALL,
) -> tuple[Used, AnsweringSandbox]:
    sandbox = AnsweringSandbox(results or [])
    done = await use(
        folder / "recording",
        sandbox,
        *calls,
        workspace=await ManifestWorkspace.on_commit(DirectoryBlobs(folder), None, FixedBase(FILES)),
        repository=RepositoryFacts(COMMIT, len(FILES)),
        environment=environment,
    )
    return done, sandbox


async def test_a_read_shows_the_numbers_of_lines(tmp_path: Path) -> None:
    done, _ = await used(
        tmp_path,
        call("read_file", path="src/app.py"),
        call("read_file", path="src/app.py", offset=2),
    )
    assert done.texts == [
        "1\tdef f():\n2\t    return 1\n",
        "[lines 2 to 2 of 2]\n2\t    return 1\n",
    ]


async def test_an_edit_changes_the_text_without_its_number(tmp_path: Path) -> None:
    edit = call("edit_file", path="src/app.py", old_text="return 1", new_text="return 2")
    done, _ = await used(tmp_path, edit, call("write_file", path="src/parts", content=""))
    assert done.texts == [
        "edited src/app.py (line 2)",
        "error: a file and a directory at once: 'src/parts'",
    ]
    assert await done.files() == {"src/app.py": b"def f():\n    return 2\n"}


async def test_no_file_of_git_is_written(tmp_path: Path) -> None:
    done, _ = await used(tmp_path, call("write_file", path="/work/.git/hooks/x", content=""))
    assert "belong to git" in done.texts[0]
    assert await done.files() == {}


async def test_a_listing_goes_as_deep_as_it_fits(tmp_path: Path) -> None:
    done, _ = await used(tmp_path, call("list_dir"), call("list_dir", depth=9))
    assert done.texts[0] == "README.md\nsrc/ (501 files)"
    assert done.texts[1] == "README.md\nsrc/\nsrc/app.py\nsrc/parts/ (500 files)"


async def test_ripgrep_searches_a_repository(tmp_path: Path) -> None:
    search_output = printed("./src/app.py\0001:def f():\n./src/app.py\0002:    return 1\n")
    search_call = call("search", pattern="f|1", glob="*.py", max_results=1)
    done, sandbox = await used(tmp_path, search_call, results=[search_output])
    assert done.texts[0].startswith("src/app.py:1: def f():\n[there are more")
    (command,) = sandbox.commands
    assert (command.argv[0], command.trees) == ("rg", ("repo-fixed",))
    assert command.argv[-4:] == ("--glob=*.py", "--regexp", "f|1", "./")


async def test_python_searches_if_ripgrep_rejects_the_pattern(tmp_path: Path) -> None:
    python = printed('{"matches": [["src/app.py", 1, "def f():"]], "more": false, "files": 2}')
    failed = printed(error="regex parse error", code=2)
    done, sandbox = await used(
        tmp_path, call("search", pattern=r"(?<!x)f"), results=[failed, python]
    )
    assert done.texts == ["src/app.py:1: def f():"]
    assert [command.argv[0] for command in sandbox.commands] == ["rg", "python"]


async def test_git_reads_the_history_over_the_layer(tmp_path: Path) -> None:
    done, sandbox = await used(
        tmp_path,
        call("git", command=["log", "-n1"]),
        call("git", command="git blame x"),
        call("git", command=["push"]),
        results=[printed("commit 1\n"), printed(error="fatal: no such path\n", code=128)],
    )
    assert done.texts[0] == "commit 1\n"
    assert done.texts[1] == "error: git blame failed: fatal: no such path"
    assert done.texts[2].startswith("error: this tool takes log, show, blame, diff")
    assert sandbox.commands[0].argv[-2:] == ("log", "-n1")
    assert sandbox.commands[0].trees == ("repo-fixed",)
    assert [data["tool"] for data in done.data][:2] == ["git", "git"]
