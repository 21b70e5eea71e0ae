"""Directory trees on every backend: `/work` begins with more files than the command's own."""

from __future__ import annotations

import asyncio
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from support.directory_trees import make_tree
from support.servers import docker_engine as engines

from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import MIB, Command, End, Limits, RunResult, Sandbox, SandboxUnavailable

TOKEN = secrets.token_hex(4)
"""Makes names unique: an engine that the tests did not start may have trees of other tests."""
PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
QUICK = Limits(wall_seconds=60.0)
BASE: Mapping[str, bytes | str] = {
    "a.txt": b"a",
    "b.txt": b"b",
    "app/__init__.py": b"",
    "app/core.py": b"VALUE = 'base'\n",
    "app/data/one": b"1",
    "app/data/two": b"2",
    "run.sh": b"#!/bin/sh\necho from the base\n",
    "link": "a.txt",
    "folder": "app",
    "outside": "/etc/passwd",
    ".git/HEAD": b"ref: refs/heads/main\n",
    ".git/objects/x": b"x",
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    """A directory of trees in a directory that only its owner can enter."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        directory = Path(name) / "layers"
        directory.mkdir(mode=0o755)
        make(directory, "base", BASE)
        make(directory, "over", {"a.txt": b"over", "only": b"over"})
        make(directory, "hollow", {})
        (directory / f"hollow-{TOKEN}" / "empty").mkdir()
        make(directory, "other", {"secret": b"of another job"})
        make(directory, "shadow", {"json/__init__.py": b"MINE = 1", "string.py": b"MINE = 2"})
        yield directory


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["local", "local copies", *engines.BACKENDS]
)
async def sandbox(request: pytest.FixtureRequest, top: Path) -> AsyncIterator[Sandbox]:
    overlays = request.param != "local copies"
    backend: LocalSandbox | DockerSandbox = LocalSandbox(
        PYTHON, trees_directory=top, overlays=overlays
    )
    if request.param == "docker":
        host = request.getfixturevalue("docker_engine").host
        backend = DockerSandbox(engines.IMAGE, engine=host, trees_directory=top)
    yield backend
    await backend.close()


def make(top: Path, name: str, files: Mapping[str, bytes | str]) -> None:
    make_tree(top, f"{name}-{TOKEN}", files)


async def run(
    sandbox: Sandbox,
    code: str,
    files: Mapping[str, bytes] | None = None,
    *,
    names: tuple[str, ...] = ("base",),
    removed: frozenset[str] = frozenset(),
    limits: Limits = QUICK,
) -> RunResult:
    tree_names = tuple(f"{name}-{TOKEN}" for name in names)
    command = Command(("python", "-c", code), files or {}, trees=tree_names, removed=removed)
    return await sandbox.run(command, limits)


async def test_work_begins_with_the_tree_and_no_file_of_it_is_a_change(sandbox: Sandbox) -> None:
    code = """
import os, subprocess
from app.core import VALUE
print(VALUE, sorted(os.listdir()))
print(open('link').read(), os.readlink('folder'), open('folder/data/two').read())
print(subprocess.check_output('./run.sh', text=True), end='')
"""
    result = await run(sandbox, code)
    assert result.stdout.text.splitlines() == [
        "base ['.git', 'a.txt', 'app', 'b.txt', 'folder', 'link', 'outside', 'run.sh']",
        "a app 2",
        "from the base",
    ]
    assert (result.changed, result.deleted, result.refused) == ({}, frozenset(), ())


async def test_only_changed_files_are_returned_and_the_tree_is_unchanged(
    sandbox: Sandbox, top: Path
) -> None:
    code = """
from pathlib import Path
Path('a.txt').write_text('changed')
Path('b.txt').unlink()
Path('app/data/one').write_text('1')  # the same again
Path('app/core.py').chmod(0o700)
Path('app/data/new').write_text('new')
Path('fresh/deep').mkdir(parents=True)
Path('fresh/deep/file').write_text('f')
"""
    for _ in range(2):
        result = await run(sandbox, code)
        assert result.succeeded, result.stderr
        assert result.changed == {
            "a.txt": b"changed",
            "app/core.py": b"VALUE = 'base'\n",
            "app/data/new": b"new",
            "fresh/deep/file": b"f",
        }
        assert result.executable == {"app/core.py"}
        assert (result.deleted, result.refused) == (frozenset({"b.txt"}), ())
    assert (top / f"base-{TOKEN}" / "a.txt").read_bytes() == b"a"
    assert {path.name for path in (top / f"base-{TOKEN}" / "app/data").iterdir()} == {"one", "two"}


async def test_a_directory_that_is_removed_and_made_again_has_only_new_files(
    sandbox: Sandbox,
) -> None:
    code = """
import os, shutil
shutil.rmtree('app')
os.makedirs('app/data')
open('app/data/two', 'w').write('2')
open('app/data/three', 'w').write('3')
print(sorted(os.listdir('app')), sorted(os.listdir('app/data')))
"""
    result = await run(sandbox, code)
    assert result.stdout.text == "['data'] ['three', 'two']\n"
    assert result.changed == {"app/data/three": b"3"}
    assert result.deleted == {"app/__init__.py", "app/core.py", "app/data/one"}


async def test_files_may_become_directories_and_directories_files(sandbox: Sandbox) -> None:
    code = """
import os, shutil
os.remove('a.txt'); os.mkdir('a.txt'); open('a.txt/in', 'w').write('in')
shutil.rmtree('app'); open('app', 'w').write('a file')
os.remove('link'); open('link', 'w').write('a file')
os.remove('b.txt'); os.symlink('link', 'b.txt')
"""
    result = await run(sandbox, code)
    assert result.changed == {"a.txt/in": b"in", "app": b"a file", "link": b"a file"}
    app_files = {"app/__init__.py", "app/core.py", "app/data/one", "app/data/two"}
    assert result.links == {"b.txt": "link"}
    assert result.deleted == {"a.txt", *app_files}
    assert result.refused == ()


async def test_links_modes_and_empty_directories_are_returned(sandbox: Sandbox) -> None:
    code = """
import os, stat
print(sorted(name for name in os.listdir() if os.path.islink(name)), os.access('b.txt', os.X_OK))
os.remove('link'); os.symlink('b.txt', 'link')
os.remove('folder'); os.mkdir('folder'); open('folder/in', 'w').write('in')
os.remove('outside'); os.remove('mine'); os.chmod('run.sh', 0o644)
os.rmdir('empty')
os.symlink('../app', 'app/up'); os.symlink('nowhere', 'dangling'); os.symlink('loop', 'loop')
"""
    tree_names = (f"base-{TOKEN}", f"hollow-{TOKEN}")
    command = Command(
        ("python", "-c", code),
        {"b.txt": b"b"},
        trees=tree_names,
        executable={"b.txt": True},
        links={"mine": "a.txt", "kept": "/etc"},
    )
    result = await sandbox.run(command, QUICK)
    assert result.stdout.text == "['folder', 'kept', 'link', 'mine', 'outside'] True\n"
    script = BASE["run.sh"]
    assert (result.changed, result.executable) == ({"folder/in": b"in", "run.sh": script}, set())
    links = {"app/up": "../app", "dangling": "nowhere", "link": "b.txt", "loop": "loop"}
    assert result.links == links
    assert (result.deleted, result.refused) == ({"empty", "folder", "mine", "outside"}, ())


async def test_the_commands_files_are_over_the_tree_without_removed_paths(
    sandbox: Sandbox,
) -> None:
    files = {
        "run.sh": b"echo mine\n",  # by its mode, it can still be executed
        "b.txt": b"b",
        "app/data": b"a file",
        "a.txt/in": b"in",
        "folder/in": b"in",
        "link": b"a file",
    }
    code = """
import os, subprocess
print(sorted(os.listdir()))
print(sorted(os.listdir('app')), os.listdir('folder'))
print(subprocess.check_output(['sh', './run.sh'], text=True).strip(), os.access('run.sh', os.X_OK))
os.remove('b.txt'); open('app/data', 'a').write('.')
"""
    removed = frozenset({"app/core.py", "b.txt", "app/nothing", "link/nothing", "outside"})
    result = await run(sandbox, code, files, removed=removed)
    assert result.stdout.text.splitlines() == [
        "['.git', 'a.txt', 'app', 'b.txt', 'folder', 'link', 'run.sh']",
        "['__init__.py', 'data'] ['in']",
        "mine True",
    ]
    assert (result.changed, result.deleted) == ({"app/data": b"a file."}, {"b.txt"})
    assert result.refused == ()


async def test_a_directory_without_remaining_files_does_not_exist(sandbox: Sandbox) -> None:
    removed = frozenset(path for path in BASE if path.startswith("app/"))
    code = "import os; print(os.path.exists('app')); os.mkdir('app'); print(os.listdir('app'))"
    result = await run(sandbox, code, removed=removed)
    assert result.stdout.text == "False\n[]\n"
    assert (result.changed, result.deleted) == ({}, frozenset())
    result = await run(sandbox, code, removed=frozenset({"app"}))
    assert result.stdout.text == "False\n[]\n"
    assert (result.changed, result.deleted) == ({}, frozenset())


async def test_a_removed_file_that_is_written_again_is_a_change(sandbox: Sandbox) -> None:
    result = await run(
        sandbox, "open('a.txt', 'w').write('a')", removed=frozenset({"a.txt", "b.txt"})
    )
    assert (result.changed, result.deleted) == ({"a.txt": b"a"}, frozenset())


async def test_git_data_at_the_top_is_visible_and_never_collected(sandbox: Sandbox) -> None:
    code = """
import os, shutil
assert open('.git/HEAD').read().startswith('ref')
open('.git/HEAD', 'w').write('mine'); os.remove('.git/objects/x'); open('.git/hook', 'w').close()
os.mkdir('app/.git'); open('app/.git/file', 'w').write('of a subdirectory')
"""
    result = await run(sandbox, code)
    assert result.changed == {"app/.git/file": b"of a subdirectory"}
    assert (result.deleted, result.refused) == (frozenset(), ())
    result = await run(sandbox, "import shutil; shutil.rmtree('.git')")
    assert (result.changed, result.deleted, result.refused) == ({}, frozenset(), ())


async def test_the_first_of_several_trees_is_on_top(sandbox: Sandbox) -> None:
    code = """
import os
print(open('a.txt').read(), open('only').read(), open('b.txt').read())
os.remove('a.txt'); os.remove('b.txt'); open('only', 'a').write('.')
"""
    result = await run(sandbox, code, names=("over", "base"))
    assert result.stdout.text == "over over b\n"
    assert (result.changed, result.deleted) == ({"only": b"over."}, {"a.txt", "b.txt"})


async def test_a_sandbox_has_only_its_own_trees(sandbox: Sandbox) -> None:
    program = """
import os
print(any(b'of another ' b'job' in open(os.path.join(place, name), 'rb').read()
          for top in ('/work', '/run', '/tmp', '/base')
          for place, _, names in os.walk(top) for name in names
          if os.path.isfile(os.path.join(place, name))))
"""
    assert (await run(sandbox, program)).stdout.text == "False\n"
    assert (await run(sandbox, program, names=())).stdout.text == "False\n"
    assert (await run(sandbox, program, names=("other",))).stdout.text == "True\n"


async def test_limits_count_written_files_but_not_the_trees(sandbox: Sandbox) -> None:
    limits = Limits(wall_seconds=60.0, file_bytes=MIB, workspace_bytes=2 * MIB, workspace_files=3)
    code = """
for number in range(4):
    open(f'n{number}', 'w').write('x')
open('app/data/one', 'w').write('y' * 2000)
"""
    result = await run(sandbox, code, {"app/core.py": b"mine"}, limits=limits)
    assert len(result.changed) == 2
    assert len(result.refused) == 3
    assert all("more than 3 files" in line for line in result.refused)


async def test_a_full_workspace_is_a_full_disk(sandbox: Sandbox) -> None:
    limits = Limits(wall_seconds=60.0, file_bytes=64 * MIB, workspace_bytes=8 * MIB)
    result = await run(sandbox, "open('big', 'wb').write(bytes(60 << 20))", limits=limits)
    assert result.end is End.DISK


async def test_links_of_a_tree_do_not_lead_out(sandbox: Sandbox) -> None:
    files = {"outside/in": b"in"}
    result = await run(sandbox, "import os; print(os.listdir('outside'))", files)
    assert result.stdout.text == "['in']\n"
    written = await run(sandbox, "open('link', 'w').write('through it')")
    assert written.changed == {"a.txt": b"through it"}


async def test_concurrent_runs_are_not_mixed_up(sandbox: Sandbox) -> None:
    code = """
import time
open('a.txt', 'a').write({!r}); time.sleep(0.2); print(open('a.txt').read())
"""
    results = await asyncio.gather(*(run(sandbox, code.format(f"{n}")) for n in range(4)))
    assert [result.stdout.text for result in results] == [f"a{n}\n" for n in range(4)]


async def test_a_lock_on_a_file_of_the_tree_does_not_affect_other_runs(sandbox: Sandbox) -> None:
    code = """
import fcntl, time
with open('a.txt') as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print('met')
    time.sleep(1)
"""
    results = await asyncio.gather(run(sandbox, code), run(sandbox, code))
    assert [(result.end, result.stdout.text) for result in results] == [(End.EXITED, "")] * 2


async def test_a_tree_that_is_made_later_is_found(sandbox: Sandbox, top: Path) -> None:
    name = f"later-{secrets.token_hex(4)}"
    with pytest.raises(SandboxUnavailable, match=f"no tree {name}"):
        await run(sandbox, "pass", names=(name,))
    make(top, name, {"x": b"later"})
    assert (await run(sandbox, "print(open('x').read())", names=(name,))).stdout.text == "later\n"


async def test_a_module_of_the_tree_comes_before_a_library(sandbox: Sandbox) -> None:
    code = "import json, string; print(json.MINE, string.MINE)"
    result = await sandbox.run(Command.python(code), QUICK)
    assert result.exit_code == 1
    shadowed = await run(sandbox, code, names=("shadow",))
    assert shadowed.stdout.text == "1 2\n", shadowed.stderr
