"""After `kill -9` of a process that fetches or checks out, the next process is not affected."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository
from support.servers.git_server import GitServer, git_server

from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from worker.repositories.source import Repositories

TOP = Path(__file__).parents[3]
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from worker.repositories.source import Repositories

async def main():
    folder, host, url = json.loads(sys.argv[1])
    own = Repositories(Path(folder), RepositorySettings(repo_hosts=(host,)))
    repo = Repo(url=url)
    base = await own.base(repo, await own.commit(repo))
    print(base.layer, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as server:
        yield server


@pytest.fixture
def repositories(forge: GitServer, tmp_path: Path) -> Repositories:
    return Repositories(tmp_path / "kept", RepositorySettings(repo_hosts=(forge.listed,)))


class Process:
    """A process that makes a layer of the repository."""

    def __init__(self, repositories: Repositories, forge: GitServer) -> None:
        arguments = json.dumps([str(repositories.folder), forge.listed, forge.url("project/.git")])
        self.popen = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, arguments], cwd=TOP, stdout=subprocess.PIPE, text=True
        )

    def kill(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()


@pytest.fixture
def start(repositories: Repositories, forge: GitServer) -> Iterator[Callable[[], Process]]:
    started: list[Process] = []

    def start_process() -> Process:
        started.append(Process(repositories, forge))
        return started[-1]

    yield start_process
    for process in started:
        process.kill()


def wait_until(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.001)


async def complete_fetch(repositories: Repositories, project: Repository, forge: GitServer) -> str:
    """Make or find the layer of the full repository, and check that no partial files remain."""
    repo = Repo(url=forge.url("project/.git"))
    base = await repositories.base(repo, await repositories.commit(repo))
    layer = repositories.layers / base.layer
    names = project.git("ls-files").splitlines()
    assert set(base.entries) == set(names)
    for name in names:
        assert (layer / name).read_bytes() == (project.folder / name).read_bytes()
    assert Repository(layer).git("status", "--porcelain") == ""
    assert list((repositories.folder / "making").iterdir()) == []
    mirror = next((repositories.folder / "mirrors").iterdir())
    assert [path.name for path in mirror.rglob("*") if "tmp_" in path.name] == []
    return base.layer


async def test_a_kill_during_the_fetch(
    project: Repository, forge: GitServer, repositories: Repositories, start: Callable[[], Process]
) -> None:
    project.commit({f"f{n}.bin": os.urandom(20_000) for n in range(50)})
    forge.pause = threading.Event()
    process = start()
    assert forge.packing.wait(60)
    process.kill()
    assert list(repositories.layers.iterdir()) == []
    forge.pause.set()
    await complete_fetch(repositories, project, forge)


async def test_a_kill_at_any_time_of_fetch_and_checkout(
    project: Repository, forge: GitServer, repositories: Repositories, start: Callable[[], Process]
) -> None:
    """Twelve kills, each a little later: in the fetch, in the checkout, before and after the
    rename.
    """
    project.commit({f"d{n % 20}/f{n}.bin": os.urandom(3_000) for n in range(1_500)})
    making = repositories.folder / "making"
    for number in range(12):
        process = start()
        wait_until(lambda: list(making.glob("*")) or list(repositories.layers.iterdir()))
        await asyncio.sleep(number * 0.03)
        process.kill()
    project.commit({"last.txt": b"so that a layer is made in any case\n"})
    await complete_fetch(repositories, project, forge)


async def test_a_kill_during_the_checkout(
    project: Repository, forge: GitServer, repositories: Repositories, start: Callable[[], Process]
) -> None:
    project.commit({f"d{n % 20}/f{n}.txt": b"%d\n" % n for n in range(3_000)})
    process = start()
    wait_until(lambda: list(repositories.folder.glob("making/*/new/d1")))
    process.kill()
    assert list(repositories.layers.iterdir()) == []
    await complete_fetch(repositories, project, forge)


async def test_lock_files_of_a_killed_git_do_not_block_a_later_fetch(
    project: Repository, forge: GitServer, repositories: Repositories
) -> None:
    project.commit({"a.txt": b"1\n"})
    await complete_fetch(repositories, project, forge)
    mirror = next((repositories.folder / "mirrors").iterdir())
    for name in ("shallow.lock", "packed-refs.lock", "HEAD.lock", "objects/pack/tmp_pack_x"):
        (mirror / name).write_bytes(b"half")
    second = project.commit({"a.txt": b"2\n"})
    (mirror / "refs" / "fettle" / f"{second}.lock").write_bytes(b"half")
    await complete_fetch(repositories, project, forge)


async def test_a_layer_of_a_killed_process_can_be_removed(
    project: Repository, forge: GitServer, repositories: Repositories, start: Callable[[], Process]
) -> None:
    project.commit({"a.txt": b"1\n"})
    process = start()
    assert process.popen.stdout is not None
    layer = process.popen.stdout.readline().strip()
    small = Repositories(
        repositories.folder, RepositorySettings(repo_hosts=(forge.listed,), repo_cache_bytes=1)
    )
    project.commit({"a.txt": b"2\n"})
    await complete_fetch(small, project, forge)
    assert (repositories.layers / layer).exists()
    process.kill()
    project.commit({"a.txt": b"3\n"})
    await complete_fetch(small, project, forge)
    assert not (repositories.layers / layer).exists()
