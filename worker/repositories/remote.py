"""Remote: a repository at an address of one of the operator's hosts.

Git reaches the network only by a proxy of this process, which connects to the host of the address
at checked IP addresses, and counts the bytes. So no redirect leads to another host, and the
credential (a header, or a key of ssh) goes only to that host. Git gets the credential by its
environment.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

import httpx

from sandbox.protocol import MIB
from settings.repositories import RepositorySettings
from worker.egress.proxy import Proxy
from worker.repositories import ssh
from worker.repositories.errors import (
    RepositoryRefused,
    RepositoryTooSlow,
    RepositoryUnavailable,
    fetch_failed,
    push_failed,
)
from worker.repositories.git import FSCK_IGNORED, Git, GitFailed, GitTooLong, GitTooMuch
from worker.repositories.hosts import Site
from worker.repositories.mirrors import Resolved
from worker.repositories.refs import (
    BRANCHES,
    COMMIT,
    HEAD,
    TAG_PATTERN,
    Tags,
    candidates,
    compare,
    delete,
    is_full_name,
    keep_history,
    listed_tags,
)

_IDLE_SECONDS = 60
"""The seconds without a byte after which a host counts as unavailable."""
_ANSWERS_BYTES = 16 * MIB
"""The bytes that lists of refs may have, in addition to the repository."""
_MANY_PACKS = 50


_SYMBOLIC = "ref: "


@dataclass(frozen=True, slots=True)
class Listed:
    """The refs that a host lists."""

    objects: Mapping[str, str]
    """Object ids by the full names of refs, with HEAD."""
    head: str | None
    """The full name of HEAD's branch, if the host sends it."""

    @property
    def tags(self) -> Tags:
        """The tags among them."""
        return listed_tags(self.objects)


def _fetch_failed(url: str, message: str, _: bytes) -> RepositoryRefused:
    return fetch_failed(url, message)


def _push_failed(url: str, message: str, errors: bytes) -> RepositoryRefused:
    return push_failed(url, message, errors.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class RemoteOrigin:
    """Implements Origin."""

    site: Site
    settings: RepositorySettings

    @property
    def name(self) -> str:
        """See Origin. Tenants share a mirror only if they use the same credential or no credential,
        because a worker does not ask the host again for a commit that the mirror has."""
        identity = f"{self.site.owner} {self.site.url}"
        return f"remote-{hashlib.sha256(identity.encode()).hexdigest()[:40]}"

    async def fill(self, git: Git) -> None:
        """See Origin. `bring` fetches commits later."""

    async def resolve(self, git: Git, ref: str | None) -> Resolved:
        """See Origin. Requests the refs from the host, because branches and tags move."""
        names = candidates(ref)
        listed = await self.list_refs(git, (*names, TAG_PATTERN))
        if ref is not None and COMMIT.fullmatch(ref):
            return Resolved(ref, listed.tags)
        objects = listed.objects
        for name in names:
            if (commit := objects.get(f"{name}^{{}}", objects.get(name))) is not None:
                return Resolved(commit, listed.tags)
        if names == (HEAD,):
            raise RepositoryRefused(
                f"{self.site.url} has no commits, or no branch that is its HEAD: commit something, "
                "or name a branch"
            )
        raise RepositoryRefused(
            f"{self.site.url} has no branch or tag {ref!r}; a commit is named by its 40 digits"
        )

    async def has_commit(self, git: Git, commit: str, tags: Tags | None) -> bool:
        """See Origin."""
        if not await _has_commit(git, commit):
            return False
        return tags is None or not await compare(git, tags)

    async def bring(self, git: Git, commit: str, tags: Tags | None) -> None:
        """See Origin. Also fetches the last commits before the commit."""
        if not await _has_commit(git, commit):
            async with keep_history(git):
                depth = f"--depth={self.settings.repo_commits}"
                await self._fetch(git, [f"{commit}:{_own_ref(commit)}"], depth)
        if tags is None:
            tags = (await self.list_refs(git, (TAG_PATTERN,))).tags
        difference = await compare(git, tags)
        if difference.outdated:
            await delete(git, difference.outdated)
        if difference.missing:
            await self._fetch(git, [f"+{name}:{name}" for name in difference.missing])
        await _keep_few_packs(git)

    async def _fetch(self, git: Git, refspecs: Sequence[str], *options: str) -> None:
        async with self._through_proxy(git) as over:
            await over.run(
                *("fetch", "--quiet", "--no-auto-gc", "--no-write-fetch-head", "--no-show-forced"),
                *("--no-tags", "--no-recurse-submodules", *options, "--stdin"),
                *("--", self.site.url),
                stdin=os.fsencode("".join(f"{refspec}\n" for refspec in refspecs)),
            )

    async def push(self, git: Git, commit: str, branch: str, expected: str | None = None) -> None:
        """Create the branch at the host, or move it from the commit `expected` to `commit`, which
        follows that commit. Raises RepositoryRefused, also if the branch is at another commit: the
        host compares the commit under its lock."""
        name = f"{BRANCHES}{branch}"
        if not is_full_name(name) or not COMMIT.fullmatch(commit):
            raise RepositoryRefused(f"{branch[:80]!r} is no name of a branch for {commit[:40]!r}")
        async with self._through_proxy(git, _push_failed) as over:
            await over.run(
                *("push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed"),
                *("--no-recurse-submodules", f"--force-with-lease={name}:{expected or ''}"),
                *("--", self.site.url, f"{commit}:{name}"),
            )

    async def list_refs(self, git: Git, names: tuple[str, ...]) -> Listed:
        """The refs with these names, and HEAD, if the host has them. Raises RepositoryRefused."""
        patterns = [part for name in names for part in (name, f"{name}^{{}}")]
        async with self._through_proxy(git) as over:
            output = await over.run("ls-remote", "--symref", "--", self.site.url, "HEAD", *patterns)
        rows = [row.partition("\t") for row in os.fsdecode(output).split("\n")[:-1]]
        objects = {name: oid for oid, _, name in rows if not oid.startswith(_SYMBOLIC)}
        if any(not COMMIT.fullmatch(oid) for oid in objects.values()):
            raise RepositoryRefused(
                f"{self.site.url} names its objects by SHA-256; only SHA-1 is known"
            )
        heads = (oid.removeprefix(_SYMBOLIC) for oid, _, _ in rows if oid.startswith(_SYMBOLIC))
        return Listed(objects, next(filter(is_full_name, heads), None))

    @asynccontextmanager
    async def _through_proxy(
        self, git: Git, failed: Callable[[str, str, bytes], RepositoryRefused] = _fetch_failed
    ) -> AsyncIterator[Git]:
        """Git that can reach this site. If git fails, raises RepositoryRefused with the reason:
        `failed` makes it from the address, git's error in one line and git's full errors."""
        max_bytes = self.settings.repo_bytes + _ANSWERS_BYTES
        login = self.site.login
        target = (login.host, login.port) if login else None
        proxy = Proxy(self.site.hosts, max_bytes, private=self.site.private, target=target)
        try:
            async with proxy.serve() as address:
                by_ssh = ssh.environment(login, int(address.rpartition(":")[2])) if login else {}
                config, environment = _config(self.site, address), {**git.environment, **by_ssh}
                yield replace(git, config=config, environment=environment)
        except GitTooLong:
            raise RepositoryTooSlow(
                f"{self.site.url} took longer than {self.settings.repo_seconds:g} s "
                "(FETTLE_REPO_SECONDS)"
            ) from None
        except GitFailed as error:
            if proxy.is_over_limit or isinstance(error, GitTooMuch):
                raise RepositoryRefused(_too_large(self.site, self.settings)) from None
            if proxy.refused:
                raise RepositoryRefused(_elsewhere(self.site, proxy.refused[0])) from None
            if reason := next(iter(proxy.unreached.values()), ""):
                text = f"{self.site.url} could not be reached: {reason}"
                raise RepositoryUnavailable(text) from None
            reason = (ssh.failure_reason(error.errors, login) if login else "") or error.message
            raise failed(self.site.url, reason, error.errors) from None


async def _has_commit(git: Git, commit: str) -> bool:
    """Whether a fetch of the commit has ended: it then writes the ref."""
    try:
        await git.run("show-ref", "--verify", "--quiet", _own_ref(commit))
    except GitFailed:
        return False
    return True


def _own_ref(commit: str) -> str:
    return f"refs/fettle/{commit}"


def _config(site: Site, proxy: str) -> Mapping[str, str]:
    paths = ssl.get_default_verify_paths()
    config = {
        "http.proxy": proxy,
        "http.sslVerify": "true",
        "http.followRedirects": "initial",
        "push.negotiate": "true",  # or a shallow mirror sends all of itself to a branch that moved
        "http.lowSpeedLimit": "1",
        "http.lowSpeedTime": str(_IDLE_SECONDS),
        f"protocol.{httpx.URL(site.url).scheme}.allow": "always",
        **{f"fetch.fsck.{fault}": "ignore" for fault in FSCK_IGNORED},
    }
    if paths.cafile is not None:
        config["http.sslCAInfo"] = paths.cafile
    elif paths.capath is not None:
        config["http.sslCAPath"] = paths.capath
    if site.header is not None:
        config["http.extraHeader"] = site.header
    return config


def _too_large(site: Site, settings: RepositorySettings) -> str:
    return (
        f"{site.url} sent more than {settings.repo_bytes} bytes (FETTLE_REPO_BYTES) for the last "
        f"{settings.repo_commits} commits (FETTLE_REPO_COMMITS)"
    )


def _elsewhere(site: Site, refused: str) -> str:
    """The text for a request that the proxy refused: a redirect, or an address of the host. The
    proxy connects only to the host of the site."""
    if "is not on the operator's list" in refused:
        return f"{site.url} redirects to another host than {site.host}: name the address there"
    return f"{site.url} cannot be fetched: {refused}"


async def _keep_few_packs(git: Git) -> None:
    """Repack a mirror with many packs: each fetch adds a pack, and git searches all packs."""
    packs = await asyncio.to_thread(lambda: list((git.folder / "objects/pack").glob("*.pack")))
    if len(packs) > _MANY_PACKS:
        with suppress(RepositoryUnavailable):  # the mirror stays slow; no job fails
            await git.run("pack-refs", "--all", "--prune")
            await git.run("repack", "-a", "-d", "--quiet")
