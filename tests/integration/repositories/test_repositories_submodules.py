"""Submodules: their files are checked out if their host is allowed, and a patch never has them."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.graph.graphs import call
from support.servers.git_repositories import Repository, clone_repository, create_repository
from support.servers.git_server import GitServer, git_server

from agents.links import missing_submodules
from agents.parallel.merging import merge_branches
from jobs.blobs.directory import DirectoryBlobs
from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from worker.adapters.repository import missing_content
from worker.adapters.workspace import ManifestWorkspace
from worker.repositories.base import CommitBase
from worker.repositories.errors import RepositoryRefused, RepositoryUnavailable
from worker.repositories.source import Repositories
from worker.repositories.submodules import resolve_address

from .conftest import Job, Uploads, sandbox_over, shell

SECRET = "s3cret-token"
ELSEWHERE = "https://elsewhere.example/x.git"


class Forge:
    """Repositories with submodules, and a server of bare clones of them."""

    def __init__(self, folder: Path, server: GitServer) -> None:
        self.folder, self.server = folder, server

    def create(self, name: str) -> Repository:
        return create_repository(self.folder / name)

    def publish(self, repository: Repository) -> str:
        """Serve the repository; returns its address."""
        name = f"{repository.folder.name}.git"
        bare = self.server.root / name
        if bare.exists():
            repository.git("push", "--quiet", "--force", str(bare), "--all")
        else:
            repository.git("clone", "--quiet", "--bare", ".", str(bare))
        return self.server.url(name)

    def repositories(self, **settings: object) -> Repositories:
        values = {"repo_hosts": (self.server.listed,), **settings}
        return Repositories(self.folder / "kept", RepositorySettings.model_validate(values))

    async def base(self, url: str, tenant: str = "default", **settings: object) -> CommitBase:
        repositories, repo = self.repositories(**settings), Repo(url=url, ref="main")
        return await repositories.base(
            repo, await repositories.commit(repo, None, tenant), None, tenant
        )


def add_submodule(repository: Repository, path: str, address: str, commit: str) -> None:
    (repository.folder / path).mkdir(parents=True)
    section = f'[submodule "{path}"]\n\tpath = {path}\n\turl = {address}\n'
    with (repository.folder / ".gitmodules").open("a", errors="surrogateescape") as file:
        file.write(section)
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
    repository.commit()


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    (tmp_path / "served").mkdir()
    with git_server(tmp_path / "served") as server:
        yield Forge(tmp_path, server)


@pytest.fixture
def lib(forge: Forge) -> Repository:
    """A library that has a submodule of its own."""
    inner, lib = forge.create("inner"), forge.create("lib")
    commit = inner.commit({"inner.h": b"inner\n"})
    forge.publish(inner)
    (lib.folder / "lib.h").symlink_to("src/lib.h")
    lib.write(
        {"src/lib.h": b"needle\n", ".gitattributes": b"* text eol=crlf ident\n", "run": b"x\n"}
    )
    (lib.folder / "run").chmod(0o755)
    lib.git("config", "core.autocrlf", "false")
    add_submodule(lib, "deep/inner", "../inner.git", commit)
    forge.publish(lib)
    return lib


@pytest.fixture
def project(forge: Forge, lib: Repository) -> Repository:
    project = forge.create("project")
    project.commit({"app.py": b"VALUE = 1\n", "docs/guide.md": b"guide\n"})
    add_submodule(project, "vendor/lib", "../lib.git", lib.git("rev-parse", "HEAD"))
    add_submodule(project, "vendor/other", ELSEWHERE, "1" * 40)
    forge.publish(project)
    return project


class SubmoduleJob(Job):
    """A job on the project of a host."""

    forge: Forge

    async def load_base(self) -> CommitBase:
        return await self.forge.base(self.forge.server.url("project.git"))


@pytest_asyncio.fixture
async def job(forge: Forge, project: Repository, tmp_path: Path) -> AsyncIterator[SubmoduleJob]:
    async with sandbox_over(forge.repositories().layers) as sandbox:
        job = SubmoduleJob(project, Uploads(tmp_path / "unused"), sandbox, tmp_path)
        job.forge = forge
        yield job


async def test_a_submodule_of_an_allowed_host_is_in_the_layer(
    forge: Forge, project: Repository
) -> None:
    base = await forge.base(forge.publish(project))
    layer = forge.repositories().layers / base.layer
    files = {path.relative_to(layer / "vendor") for path in (layer / "vendor").rglob("*")}
    below = {str(path) for path in files if not (layer / "vendor" / path).is_dir()}
    assert below == {
        "lib/.gitattributes",
        "lib/.gitmodules",
        "lib/deep/inner/inner.h",
        "lib/lib.h",
        "lib/run",
        "lib/src/lib.h",
    }
    assert (layer / "vendor/lib/lib.h").readlink() == Path("src/lib.h")
    assert os.access(layer / "vendor/lib/run", os.X_OK)
    for path in ("vendor/lib/src/lib.h", "vendor/lib/deep/inner/inner.h"):
        assert await base.read(path) == (layer / path).read_bytes()
    assert base.submodules.links == {"vendor/lib/lib.h": "src/lib.h"}
    assert [*base.submodules.missing] == ["vendor/other"]
    assert (
        "elsewhere.example is not on the operator's list" in base.submodules.missing["vendor/other"]
    )


async def test_tools_and_runs_read_the_files_and_change_none(job: SubmoduleJob) -> None:
    used = await job.use(
        call("read_file", path="vendor/lib/lib.h"),
        call("list_dir", path="vendor", depth=2),
        call("search", pattern="needle"),
        shell("cat vendor/lib/lib.h vendor/lib/deep/inner/inner.h; git status --short"),
        call("write_file", path="vendor/lib/new.h", content="x"),
        call("edit_file", path="vendor/lib/src/lib.h", old_text="needle", new_text="x"),
        call("read_file", path="vendor/other/x"),
        call("read_file", path="vendor/lib/none.h"),
        shell("echo 2 >> app.py; echo 2 >> vendor/lib/src/lib.h; ln -s /etc vendor/lib/etc"),
        shell("cat vendor/lib/src/lib.h; ls vendor/lib"),
    )
    assert used.texts[0] == "1\tneedle\n"
    assert "other (a submodule, without its files)" in used.texts[1]
    assert "lib/src/ (1 files)" in used.texts[1]
    assert "vendor/lib/src/lib.h:1: needle" in used.texts[2]
    assert used.runs[0]["stdout"]["text"] == "needle\ninner\n"
    for text in used.texts[4:6]:
        assert "'vendor/lib' is a submodule: its files belong to another repository" in text
    assert "whose files are not here" in used.texts[6]
    assert "there is no file 'vendor/lib/none.h'; list_dir" in used.texts[7]
    (refused,) = used.runs[1]["refused"]
    assert "changes in the submodule vendor/lib belong to another repository" in refused
    assert used.runs[2]["stdout"]["text"].startswith("needle\n")
    assert "etc" not in used.runs[2]["stdout"]["text"]
    assert (await job.workspace.patch()).files == 1  # type: ignore[union-attr]


GITLINKS = {
    "all files of a submodule are removed": "rm -r vendor/lib",
    "some files of a submodule are removed": "rm -r vendor/lib/src",
    "all directories of submodules are removed": "rm -r vendor",
    "a file takes the place of a submodule": "rm -r vendor/lib; echo x > vendor/lib",
    "a link takes the place of a submodule": "rm -r vendor/lib; ln -s ../docs vendor/lib",
    "a file takes the place of an empty submodule": "rmdir vendor/other; echo x > vendor/other",
    "files are in an empty submodule": "echo x > vendor/other/x",
    "a repository is in an empty submodule": "cd vendor/other; git init -q; echo x > a",
    "a submodule has a repository of its own": "cd vendor/lib; git init -q; git add -A",
    "the addresses change": "rm -r vendor/lib; sed -i s/lib.git/lob.git/ .gitmodules",
    "git cannot read .gitmodules": "rm -r vendor/lib; echo '[submodule' > .gitmodules",
    "a submodule moves": "mv vendor/lib lib; sed -i 's,path = vendor/lib,path = lib,' .gitmodules",
}


@pytest.mark.parametrize("command", GITLINKS.values(), ids=GITLINKS)
async def test_no_gitlink_changes_by_accident(job: SubmoduleJob, command: str) -> None:
    used = await job.use(
        shell(f"{command}"), shell("echo 2 >> app.py; mkdir -p vendor/lib vendor/other")
    )
    assert used.runs[0]["refused"], used.runs
    patch = await job.workspace.patch()
    assert patch is not None
    clone = clone_repository(job.repository, job.folder / "clone")
    clone.git("apply", "--index", "-", stdin=patch.content)
    names = set(clone.git("diff", "--cached", "--name-only", "HEAD").split())
    moved = {"vendor/lib"} if command.startswith("mv ") else set()
    assert names - {".gitmodules"} == {"app.py", *moved}, names
    if not moved:
        assert "160000" in clone.git("ls-files", "--stage", "vendor/lib")


@pytest.mark.parametrize("steps", [1, 2])
async def test_a_submodule_is_removed_with_its_lines_in_gitmodules(
    job: SubmoduleJob, steps: int
) -> None:
    commands = ["rm -r vendor/lib", "sed -i 1,3d .gitmodules"]
    used = await job.use(*map(shell, ["; ".join(commands)] if steps == 1 else commands))
    assert used.runs[-1]["refused"] == []
    assert "vendor/lib/lib.h" not in job.workspace.links()
    assert job.workspace.submodule_files() == {}
    patch = await job.workspace.patch()
    assert patch is not None
    clone = clone_repository(job.repository, job.folder / "clone")
    clone.git("apply", "--index", "-", stdin=patch.content)
    assert clone.git("ls-files", "--stage", "vendor").split()[-1] == "vendor/other"
    assert clone.git("write-tree") == job.tree_of_clone(
        "git rm -q --cached vendor/lib; sed -i 1,3d .gitmodules; rmdir vendor/lib"
    )


@pytest.mark.parametrize("name", ["vendor/lib", "vendor/other"])
async def test_a_parallel_step_can_remove_a_submodule(job: SubmoduleJob, name: str) -> None:
    base = await job.load_base()
    workspace = await ManifestWorkspace.on_commit(DirectoryBlobs(job.folder), None, base)
    steps = [workspace.fork(), workspace.fork()]
    modules = (await workspace.read(".gitmodules") or b"").decode()
    sections = [part for part in modules.split("[") if part and name not in part]
    await steps[0].apply(
        {".gitmodules": "".join(f"[{part}" for part in sections).encode()}, frozenset({name})
    )
    await steps[1].apply({"app.py": b"VALUE = 2\n"})
    paths = sorted({*steps[0].changed(), *steps[1].changed()})
    before, *after = [
        {path: version for path in paths if (version := await files.version(path))}
        for files in (workspace, *steps)
    ]
    merged = merge_branches(before, dict(enumerate(after, 1)))
    assert before.keys() - merged.files.keys() == {name}
    assert not merged.conflicts
    contents = {
        path: await workspace.stored(version.digest) for path, version in merged.files.items()
    }
    await workspace.apply(contents, frozenset({name}))
    assert name not in workspace.submodules()


async def test_a_directory_of_the_commit_is_no_submodule_by_declaration(job: SubmoduleJob) -> None:
    section = '[submodule "docs"]\\n\\tpath = docs\\n\\turl = ../docs.git\\n'
    await job.use(shell("echo y > docs/guide.md"), shell(f"printf '{section}' >> .gitmodules"))
    patch = await job.workspace.patch()
    assert patch is not None
    assert b"+++ b/docs/guide.md" in patch.content


async def test_the_repository_that_code_creates_is_no_gitlink(job: SubmoduleJob) -> None:
    used = await job.use(
        shell(
            "git init -q sub; cd sub; echo x > a; git add a; "
            "git -c user.name=a -c user.email=a commit -qm x; cd ..; git add -A 2>&1 || true"
        )
    )
    assert any("files in .git belong to git" in line for line in used.runs[0]["refused"])
    patch = await job.workspace.patch()
    assert patch is not None
    assert b"160000" not in patch.content
    assert b"+++ b/sub/a" in patch.content


async def test_the_layer_depends_on_the_submodules_that_it_has(
    forge: Forge, project: Repository
) -> None:
    url = forge.publish(project)
    with_files = await forge.base(url)
    names = {with_files.layer, (await forge.base(url)).layer}
    assert len(names) == 1
    upload = project.bundle()
    uploads = Uploads(forge.folder / "kept")
    settings = {"repo_hosts": (forge.server.listed,)}
    relative = await uploads.base(upload, **settings)
    assert relative.submodules.missing["vendor/lib"] == (
        "its address is relative, and an upload has no address"
    )
    project.git(
        "config", "--file", ".gitmodules", "submodule.vendor/lib.url", forge.server.url("lib.git")
    )
    project.commit()
    without = await uploads.base(project.bundle())
    absolute = await uploads.base(project.bundle(), **settings)
    assert without.submodules.missing["vendor/lib"] == (
        "workers of this deployment fetch no repositories (FETTLE_REPO_HOSTS)"
    )
    assert "vendor/lib/deep/inner/inner.h" in absolute.submodules.entries
    assert without.layer != absolute.layer
    assert not any((uploads.layer(without) / "vendor/lib").iterdir())
    assert (uploads.layer(absolute) / "vendor/lib/src/lib.h").is_file()


async def test_the_credential_of_the_tenant_counts(
    forge: Forge, project: Repository, lib: Repository
) -> None:
    """A public repository with a submodule that only one tenant can read."""
    url = forge.publish(project)
    file = forge.folder / "credentials"
    file.write_text(f"[reader]\n{forge.server.authority} me:{SECRET}\n")
    file.chmod(0o600)
    public = forge.server
    with git_server(forge.server.root) as private:
        private.credential = f"me:{SECRET}"
        file.write_text(f"[reader]\n{private.authority} me:{SECRET}\n")
        address = private.url("lib.git")
        project.git("config", "--file", ".gitmodules", "submodule.vendor/lib.url", address)
        project.commit()
        forge.publish(project)
        settings = {"repo_hosts": (public.listed, private.listed), "repo_credentials": str(file)}
        reader = await forge.base(url, "reader", **settings)
        other = await forge.base(url, "other", **settings)
    assert "vendor/lib/src/lib.h" in reader.submodules.entries
    assert "wants a credential" in other.submodules.missing["vendor/lib"]
    assert reader.layer != other.layer
    assert await other.read("vendor/lib/src/lib.h") is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"repo_files": 6}, "has more than"),
        ({"repo_bytes": 200}, "FETTLE_REPO_BYTES"),
    ],
)
async def test_the_limits_hold_for_all_files(
    forge: Forge, project: Repository, change: dict[str, int], words: str
) -> None:
    base = await forge.base(forge.publish(project), **change)
    assert words in base.submodules.missing["vendor/lib"]


async def test_a_commit_that_the_host_lacks_is_reported(
    forge: Forge, project: Repository, lib: Repository
) -> None:
    add_submodule(project, "vendor/gone", "../lib.git", "2" * 40)
    add_submodule(project, "vendor/none", "../none.git", "2" * 40)
    project.git("update-index", "--add", "--cacheinfo", f"160000,{'3' * 40},bare")
    (project.folder / "bare").mkdir()
    base = await forge.base(forge.publish(project))
    missing = base.submodules.missing
    assert "vendor/lib/src/lib.h" in base.submodules.entries
    assert "no longer has the commit" in missing["vendor/gone"]
    assert "has no repository" in missing["vendor/none"]
    workspace = await ManifestWorkspace.on_commit(DirectoryBlobs(forge.folder), None, base)
    assert workspace.base is not None
    texts = missing_content(workspace.base)
    assert [text.partition(" is not checked out: ")[0] for text in texts] == [
        "the submodule vendor/gone",
        "the submodule vendor/none",
        "the submodule vendor/other",
    ]


async def test_a_submodule_of_itself_is_checked_out_to_a_small_depth(forge: Forge) -> None:
    loop = forge.create("loop")
    commit = loop.commit({"a": b"a\n"})
    for _ in range(6):
        loop.git("rm", "-rq", "--cached", "--ignore-unmatch", "again")
        (loop.folder / ".gitmodules").unlink(missing_ok=True)
        if (loop.folder / "again").exists():
            (loop.folder / "again").rmdir()
        add_submodule(loop, "again", "./../loop.git", commit)
        commit = loop.git("rev-parse", "HEAD")
    base = await forge.base(forge.publish(loop))
    assert "again/again/again/a" in base.submodules.entries
    assert base.submodules.missing == {
        "again/again/again/again": "workers check out 3 levels of submodules"
    }


async def test_failed_fetches_of_submodules_are_bounded(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.repositories.submodules.MAX_SUBMODULES", 2)
    project = forge.create("project")
    for number in range(4):
        add_submodule(project, f"sub{number}", "../none.git", "1" * 40)
    base = await forge.base(forge.publish(project))
    assert ["has no repository" in reason for reason in base.submodules.missing.values()] == [
        *(True, True, False, False)
    ]
    assert base.submodules.missing["sub3"] == "workers check out 2 submodules of a commit"


async def test_many_submodules_without_an_allowed_host_take_little_time(forge: Forge) -> None:
    project = forge.create("project")
    gitlinks = "".join(f"160000 {'1' * 40}\tsub/{number}\n" for number in range(20_000))
    project.git("update-index", "--add", "--index-info", stdin=gitlinks.encode())
    project.git("commit", "--quiet", "--message", "Many")
    start = time.process_time()
    base = await Uploads(forge.folder / "kept").base(project.bundle())
    workspace = await ManifestWorkspace.on_commit(DirectoryBlobs(forge.folder), None, base)
    assert len(missing_submodules(workspace)) == len(base.submodules.missing) == 20_000
    assert time.process_time() - start < 10


async def test_a_host_that_fails_is_an_outage(forge: Forge, project: Repository) -> None:
    url = forge.publish(project)
    repositories = forge.repositories()
    commit = await repositories.commit(Repo(url=url))
    forge.server.status = 503
    with pytest.raises(RepositoryUnavailable):
        await repositories.base(Repo(url=url), commit)
    forge.server.status = None
    assert (
        "vendor/lib/src/lib.h"
        in (await repositories.base(Repo(url=url), commit)).submodules.entries
    )


@pytest.mark.parametrize(
    ("parent", "address", "expected"),
    [
        ("https://git.test/team/app.git", "../lib.git", "https://git.test/team/lib.git"),
        ("https://git.test/team/app.git", "../../other/lib.git", "https://git.test/other/lib.git"),
        ("https://git.test/team/app.git", "./lib.git", "https://git.test/team/app.git/lib.git"),
        ("https://git.test:444/a/", "../b", "https://git.test:444/b"),
        ("ssh://git@git.test/~/app.git", "../lib.git", "ssh://git@git.test/~/lib.git"),
        (None, "https://git.test/lib.git", "https://git.test/lib.git"),
        ("https://git.test/a", "git@git.test:team/lib.git", "ssh://git@git.test/team/lib.git"),
        ("https://git.test/a", "../../b", "leaves the host"),
        (None, "../lib.git", "is relative"),
        (None, "", "has no address"),
    ],
)
def test_addresses(parent: str | None, address: str, expected: str) -> None:
    if ":" in expected:
        assert resolve_address(parent, address) == expected
    else:
        with pytest.raises(RepositoryRefused, match=expected):
            resolve_address(parent, address)


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc",
        "/etc",
        "ext::sh -c true",
        "https://me:secret@127.0.0.1/x.git",
        "http://127.0.0.1@evil.test/x.git",
        "http://evil.test/x.git?a=127.0.0.1",
        "git://127.0.0.1/x.git",
        "http://127.0.0.1/%00",
        "http://127.0.0.1/\udcff",
    ],
)
async def test_other_transports_and_hosts_are_not_fetched(forge: Forge, address: str) -> None:
    project = forge.create("project")
    add_submodule(project, "sub", address, "1" * 40)
    uploads = Uploads(forge.folder / "kept")
    base = await uploads.base(project.bundle(), repo_hosts=(forge.server.listed,))
    assert base.submodules.entries == {}
    assert "secret" not in base.submodules.missing["sub"]
