"""Links, submodules and modes of a repository: the view of the tools, and the patch of a run.

The expected result is git's: the same commands in a clone, followed by `git add`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.graph.graphs import call
from support.servers.git_repositories import Repository, clone_repository, create_repository

from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import Manifest
from sandbox.local import LocalSandbox
from worker.adapters.workspace import ManifestWorkspace

from .conftest import Job, Uploads, sandbox_over, shell

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILES = {
    "src/app.py": b"VALUE = 1\n",
    "docs/guide.md": b"guide\n",
    "tool.sh": b"echo tool\n",
    "old/kept.txt": b"kept\n",
}
LINKS = {
    "app": "src/app.py",
    "manual": "docs",
    "docs/up": "../src/app.py",
    "deep": "manual/up",
    "passwd": "/etc/passwd",
    "parent": "../outside",
    "here": "/work/src/app.py",
    "nowhere": "missing.txt",
    "nofolder": "missing",
    "ping": "pong",
    "pong": "ping",
}


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with links of all kinds, and a submodule that has a submodule."""
    folder = tmp_path_factory.mktemp("linked")
    project, inner, outer = (
        create_repository(folder / name) for name in ("project", "inner", "outer")
    )
    inner.commit({"inner.txt": b"inner\n"})
    allowed = ("-c", "protocol.file.allow=always")
    outer.git(*allowed, "submodule", "--quiet", "add", str(inner.folder), "deeper/inner")
    outer.commit({"outer.txt": b"outer\n"})
    project.write(FILES)
    for path, target in LINKS.items():
        (project.folder / path).symlink_to(target)
    project.write({"bin/run": b"echo run\n"})
    (project.folder / "bin/run").chmod(0o755)
    project.git(*allowed, "submodule", "--quiet", "add", str(outer.folder), "vendor/outer")
    project.git(*allowed, "submodule", "--quiet", "update", "--init", "--recursive")
    project.commit()
    return project


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Uploads:
    return Uploads(tmp_path_factory.mktemp("uploads") / "repositories")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(uploads: Uploads) -> AsyncIterator[LocalSandbox]:
    async with sandbox_over(uploads.repositories().layers) as backend:
        yield backend


@pytest.fixture
def job(linked: Repository, uploads: Uploads, sandbox: LocalSandbox, tmp_path: Path) -> Job:
    return Job(linked, uploads, sandbox, tmp_path)


async def test_tools_and_runs_see_the_same_files(job: Job) -> None:
    readable = ("app", "manual/guide.md", "docs/up", "deep", "here", "/work/manual/up")
    used = await job.use(
        *(call("read_file", path=path) for path in readable),
        call("list_dir"),
        call("list_dir", path="manual"),
        call("search", pattern="VALUE|guide"),
    )
    assert used.texts[:6] == [
        "1\tVALUE = 1\n" if path != "manual/guide.md" else "1\tguide\n" for path in readable
    ]
    top, below, search_result = used.texts[6:]
    assert "manual -> docs" in top.splitlines()
    assert "passwd -> /etc/passwd" in top.splitlines()
    assert "vendor/outer (a submodule, without its files)" in (await _deep(job, "vendor"))
    assert below.splitlines() == ["guide.md", "up -> ../src/app.py"]
    assert search_result.splitlines() == ["docs/guide.md:1: guide", "src/app.py:1: VALUE = 1"]


async def _deep(job: Job, path: str) -> list[str]:
    used = await job.use(call("list_dir", path=path))
    return [f"{path}/{line}" for line in used.texts[0].splitlines()]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("passwd", "'passwd' -> '/etc/passwd' leads out of the working directory"),
        ("parent/x", "'parent' -> '../outside' leads out of the working directory"),
        ("ping", "leads in a circle"),
        ("nowhere", "'nowhere' -> 'missing.txt' leads to 'missing.txt'"),
        ("nofolder/x", "'nofolder' -> 'missing' leads to 'missing/x'"),
        ("vendor/outer/outer.txt", "'vendor/outer' is a submodule"),
        ("vendor/outer/deeper/inner/inner.txt", "'vendor/outer' is a submodule"),
        ("vendor/outer", "'vendor/outer' is a submodule"),
    ],
)
async def test_a_path_outside_the_jobs_files_is_refused(job: Job, path: str, words: str) -> None:
    used = await job.use(
        call("read_file", path=path),
        call("write_file", path=path, content="x"),
        call("write_file", path=path, content="x", append=True),
        call("edit_file", path=path, old_text="a", new_text="b"),
    )
    assert [words in text for text in used.texts] == [True] * 4, used.texts
    assert {message.status for message in used.messages} == {"error"}
    assert (await job.workspace.patch()).content == b""  # type: ignore[union-attr]


async def test_a_write_through_a_link_changes_its_target(job: Job) -> None:
    used = await job.use(
        call("write_file", path="app", content="VALUE = 2\n"),
        call("edit_file", path="deep", old_text="2", new_text="3"),
        call("write_file", path="manual/new.md", content="new\n"),
        call("write_file", path="here", content="more\n", append=True),
        shell("cat src/app.py manual/new.md; test -L app -a -L deep -a -L manual -a -L here"),
    )
    assert used.texts[0].startswith("wrote src/app.py")
    assert used.runs[0]["stdout"]["text"] == "VALUE = 3\nmore\nnew\n"
    expected_tree = job.tree_of_clone(
        "printf 'VALUE = 3\\nmore\\n' > app; echo new > manual/new.md"
    )
    assert (await job.apply_patch_to_clone()).git("write-tree") == expected_tree


COMMANDS = {
    "links are made": "ln -s src/app.py 1; ln -s ../docs src/2; ln -s no 4; ln -s 4/x 5",
    "links lead through links and back": "ln -s manual/up 1; ln -s docs/../src/.. old/2",
    "a link gets the mode of its target": "ln -s tool.sh 1; chmod +x 1; ln -s old src/2",
    "links are removed and lead elsewhere": "rm app manual; ln -sfn docs/guide.md deep",
    "a link becomes a file": "rm app; echo text > app; echo more > docs/guide.md",
    "a link becomes a directory": "rm manual; mkdir manual; echo text > manual/in",
    "a file becomes a link": "rm tool.sh; ln -s src/app.py tool.sh",
    "a directory becomes a link": "rm -r old; ln -s docs old",
    "a directory becomes a file": "rm -r old; echo text > old",
    "a file becomes a directory": "rm tool.sh; mkdir tool.sh; echo text > tool.sh/in",
    "modes change": "chmod +x tool.sh; printf '#!/bin/sh\\n' > new.sh; echo x > run; chmod +x run",
    "a program loses its mode": "chmod -x bin/run",
    "only a program's bytes change": "echo more >> bin/run",
    "a program moves": "git mv bin/run run; git mv app application",
    "modes that git does not store": "chmod 700 bin/run; chmod 600 tool.sh; chmod 777 old docs",
    "a program changes and its mode too": "echo more >> src/app.py; chmod 755 src/app.py",
    "a submodule is removed": "git rm -q --cached vendor/outer; rm -r vendor; rm .gitmodules",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
async def test_the_changes_of_a_run_equal_the_changes_in_a_clone(job: Job, command: str) -> None:
    inside = command.replace("git rm -q --cached vendor/outer; ", "")
    used = await job.use(shell(inside), shell("git status --short"), shell("true"))
    assert [run["refused"] for run in used.runs] == [[], [], []], used.runs
    clone = await job.apply_patch_to_clone()
    assert clone.git("write-tree") == job.tree_of_clone(command)


async def test_files_can_take_the_place_of_a_removed_submodule(job: Job) -> None:
    files = "mkdir -p vendor/outer; echo own > vendor/outer/own.txt"
    await job.use(shell("rmdir vendor/outer; rm .gitmodules"), shell(files))
    removal = "git rm -q --cached vendor/outer; rm -r vendor/outer .gitmodules"
    expected_tree = job.tree_of_clone(removal, files)
    assert (await job.apply_patch_to_clone()).git("write-tree") == expected_tree


LEAVING_LINKS = {
    "absolute": "ln -s /etc/hosts new",
    "absolute, into the working directory": "ln -s /work/src/app.py new",
    "a parent": "ln -s ../outside new",
    "a parent of a directory": "ln -s ../../outside src/new",
    "the parent itself": "ln -s ../.. docs/new",
    "a directory and back": "ln -s docs/../../outside new",
    "a missing directory and back": "ln -s missing/../../outside new",
    "through an absolute link of the commit": "ln -s passwd new",
    "through a leaving link of the commit": "ln -s parent/x new",
    "through a link of the commit into the working directory": "ln -s here new",
    "through a link to a directory": "ln -s manual/../../outside new",
    "a circle": "ln -s new new",
    "through a circle of the commit": "ln -s ping new",
    "into .git": "ln -s .git/config new",
    "into .git, and out of it": "ln -s .git/../docs new",
    "into .git, on file systems without case": "ln -s ../.GIT/config docs/new",
    "to a submodule": "ln -s vendor/outer new",
    "into a submodule": "ln -s ../vendor/outer/outer.txt docs/new",
    "into a submodule, through its directory": "ln -s ../vendor old/new; ln -s old/new/outer new",
    "a new target of a link": "ln -sfn /etc app",
    "the place of a file": "ln -sfn /etc/hosts tool.sh",
}


@pytest.mark.parametrize("command", LEAVING_LINKS.values(), ids=LEAVING_LINKS)
async def test_a_link_that_leaves_the_repository_is_refused(job: Job, command: str) -> None:
    used = await job.use(shell(f"{command}; echo y > docs/guide.md"), shell("ls docs old"))
    (refused,) = used.runs[0]["refused"]
    assert "a symbolic link needs a relative target that stays in the repository" in refused
    assert refused in used.texts[0]
    assert used.runs[1]["refused"] == []
    kept = command.rpartition(";")[0] or "true"
    expected_tree = job.tree_of_clone(f"{kept}; echo y > docs/guide.md")
    assert (await job.apply_patch_to_clone()).git("write-tree") == expected_tree


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("ln -s docs/../src/app.py new", "rm -r docs; ln -s . docs"),
        ("ln -s old/x new", "rm -r old; ln -s passwd old"),
        ("rm passwd; ln -s passwd new", "ln -s /etc/passwd passwd"),
        ("ln -s deep/../../src new", "rm deep; mkdir deep; echo x > deep/x"),
    ],
)
async def test_a_link_that_leaves_after_a_later_run_is_dropped(
    job: Job, first: str, then: str
) -> None:
    """A run can change the directories and links on the way of a link that an earlier run made."""
    used = await job.use(shell(first), shell(then), shell("test ! -L new"))
    refused = [line for run in used.runs for line in run["refused"]]
    assert any(line.startswith(("new", "old")) for line in refused), refused
    assert not ((await job.apply_patch_to_clone()).folder / "new").is_symlink()


async def test_ignored_links_and_restored_links_stay_for_later_runs(job: Job) -> None:
    used = await job.use(
        shell("echo env > .gitignore; mkdir env; rm passwd; ln -s /bin/sh env/sh"),
        shell("ln -s /etc/passwd passwd; ln -s /bin/sh .scratch/sh; env/sh -c true"),
        shell(".scratch/sh -c 'readlink passwd'"),
    )
    assert [run["refused"] for run in used.runs] == [[], [], []]
    assert used.runs[2]["stdout"]["text"] == "/etc/passwd\n"
    patch = await job.workspace.patch()
    assert patch is not None
    assert b"diff --git a/passwd" not in patch.content
    assert b"env/sh" not in patch.content


async def test_later_runs_see_the_links_and_modes_of_earlier_ones(job: Job) -> None:
    listing_command = "ls -l one tool.sh new | cut -c1-10; readlink one; test ! -e app; cat one"
    used = await job.use(
        shell("ln -s src/app.py one; chmod +x tool.sh; rm app; cp tool.sh new"),
        call("edit_file", path="tool.sh", old_text="tool", new_text="edited"),
        shell(listing_command),
        shell("rm one; chmod -x tool.sh new"),
        shell("ls; ls -l tool.sh new | cut -c1-10"),
    )
    lines = used.runs[1]["stdout"]["text"].splitlines()
    assert [line[0] + line[3] for line in lines[:3]] == ["-x", "lx", "-x"]
    assert lines[3:] == ["src/app.py", "VALUE = 1"]
    assert "one" not in used.runs[3]["stdout"]["text"].split()
    assert [line[3] for line in used.runs[3]["stdout"]["text"].splitlines()[-2:]] == ["-", "-"]


@pytest.mark.parametrize(
    "command",
    [
        "cd vendor/outer; mkdir -p a/b; echo x | tee 1 a/b/2; ln -s 1 3; cd ../..",
        "rmdir vendor/outer; echo x > vendor/outer",
        "rmdir vendor/outer; ln -s ../docs vendor/outer",
    ],
)
async def test_changes_in_a_submodule_are_named_and_never_remove_it(job: Job, command: str) -> None:
    used = await job.use(shell(command + "; echo y > docs/guide.md"))
    (refused,) = used.runs[0]["refused"]
    assert refused.startswith("vendor/outer")
    assert refused.endswith("changes in the submodule vendor/outer belong to another repository")
    assert "submodule" in used.texts[0]
    clone = await job.apply_patch_to_clone()
    assert clone.git("write-tree") == job.tree_of_clone("echo y > docs/guide.md")
    assert (clone.folder / "vendor/outer/deeper/inner/inner.txt").read_bytes() == b"inner\n"


@pytest.mark.parametrize("entry", ["echo x > vendor", "ln -s docs vendor"])
async def test_a_run_does_not_replace_the_directory_of_a_submodule(job: Job, entry: str) -> None:
    """Git could not apply such a patch to a clone with the submodule's files."""
    used = await job.use(shell(f"rm -r vendor; {entry}; echo y > docs/guide.md"))
    refused, stays = used.runs[0]["refused"]
    assert refused == "vendor: it would take the place of the submodule vendor/outer"
    assert stays.startswith("vendor/outer: a submodule belongs to another repository, and stays")
    clone = await job.apply_patch_to_clone()
    assert clone.git("write-tree") == job.tree_of_clone("echo y > docs/guide.md")


async def test_a_file_can_take_the_place_of_a_directory_with_a_removed_submodule(job: Job) -> None:
    await job.use(shell("rm -r vendor .gitmodules"), shell("echo x > vendor"))
    patch = await job.workspace.patch()
    assert patch is not None
    clone = clone_repository(job.repository, job.folder / "clone")
    clone.git("apply", "--index", "-", stdin=patch.content)
    expected_tree = job.tree_of_clone(
        "git rm -qr --cached vendor; rm -r vendor .gitmodules; echo x > vendor"
    )
    assert clone.git("write-tree") == expected_tree


async def test_files_below_git_are_reported_as_not_kept(job: Job) -> None:
    used = await job.use(shell("mkdir new; cd new; git init -q; echo x > a; ln -s a .GIT"))
    (refused,) = used.runs[0]["refused"]
    assert refused.endswith("files in .git belong to git")
    assert used.texts[0].split("new or changed files: ")[1].splitlines()[0] == "new/a"


async def test_removing_an_empty_directory_does_not_remove_its_submodule(job: Job) -> None:
    await job.use(shell("find . -mindepth 1 -type d -empty -not -path './.git/*' -delete"))
    patch = await job.workspace.patch()
    assert patch is not None
    assert patch.content == b""


async def test_files_of_the_request_are_written_through_links(
    linked: Repository, uploads: Uploads, tmp_path: Path
) -> None:
    base = await uploads.base(linked.bundle())
    blobs = DirectoryBlobs(tmp_path / "blobs")
    first = ManifestWorkspace(blobs, Manifest(), None)
    sent = {"app": b"VALUE = 2\n", "manual/new.md": b"new\n", "vendor/outer/outer.txt": b"outer\n"}
    await first.apply(sent)
    workspace = await ManifestWorkspace.on_commit(blobs, first.digest, base)
    assert await workspace.read("src/app.py") == b"VALUE = 2\n"
    assert await workspace.read("vendor/outer/outer.txt") == b"outer\n"
    patch = await workspace.patch()
    assert patch is not None
    assert patch.files == 2
    assert b"vendor" not in patch.content


async def test_ignored_files_do_not_count(job: Job) -> None:
    used = await job.use(
        shell(
            "echo 'out*/' > .gitignore; mkdir out kept; (cd out; touch $(seq 1200)); "
            "(cd kept; touch $(seq 30)); echo 2 > src/app.py"
        ),
        call("write_file", path="new.txt", content="new"),
        shell("mkdir out2; echo 1 > out2/a; ls out || echo none"),
        shell("cat out2/a new.txt src/app.py"),
    )
    (refused,) = used.runs[0]["refused"]
    assert refused.startswith("out/1 and 1199 more: ignored by git")
    assert used.texts[1].startswith("wrote new.txt")
    assert used.runs[1]["stdout"]["text"] == "none\n"
    assert used.runs[2]["stdout"]["text"] == "1\nnew2\n"
    patch = await job.workspace.patch()
    assert patch is not None
    assert patch.files == 33
