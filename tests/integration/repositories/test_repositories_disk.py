"""If the disk is full, the job can be tried again, and partial files are removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository

TOP = Path(__file__).parents[3]
PROGRAM = """
import asyncio, hashlib, json, os, sys
from pathlib import Path
from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryUnavailable
from worker.repositories.source import Repositories

async def main():
    folder, bundle = Path(sys.argv[1]), Path(sys.argv[2]).read_bytes()
    repo = Repo(bundle=hashlib.sha256(bundle).hexdigest())

    async def upload():
        return bundle

    own = Repositories(folder, RepositorySettings())
    try:
        commit = await own.commit(repo, upload)
        await own.base(repo, commit, upload)
        said = None
    except RepositoryUnavailable as error:
        said = str(error)
    print(json.dumps({"said": said, "left": os.listdir(folder / "making"),
                      "layers": os.listdir(folder / "layers")}))

asyncio.run(main())
"""


def run_on_disk(size: str, folder: Path, bundle: Path) -> dict:
    """Run the program in its own mount namespace, with a file system of `size` for its folder."""
    mount = f'mount -t tmpfs -o size={size} tmpfs {folder} && exec {sys.executable} -c "$0" "$@"'
    as_root = ["--user", "--map-root-user"] if os.geteuid() else []
    argv = ["unshare", *as_root, "--mount", "sh", "-c", mount, PROGRAM]
    done = subprocess.run(
        [*argv, str(folder), str(bundle)], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("size", ["1m", "4m"])
def test_a_full_disk_is_an_outage_and_leaves_no_files(
    project: Repository, tmp_path: Path, size: str
) -> None:
    """The disk becomes full while git unpacks, or while git checks out."""
    project.commit({"a.bin": os.urandom(2_500_000)})
    bundle = tmp_path / "project.bundle"
    bundle.write_bytes(project.bundle())
    folder = tmp_path / "disk"
    folder.mkdir()
    outcome = run_on_disk(size, folder, bundle)
    assert "this worker's disk cannot store the repository" in outcome["said"], outcome
    assert (outcome["left"], outcome["layers"]) == ([], [])
    assert run_on_disk("40m", folder, bundle)["said"] is None
