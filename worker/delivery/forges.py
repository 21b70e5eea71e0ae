"""Forges: a pull request by GitHub's API, and a merge request by GitLab's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from settings.repositories import ForgeKind
from worker.delivery.forge_api import ApiResponse, ForgeApi
from worker.egress.hosts import MAX_URL_CHARACTERS
from worker.repositories.errors import DeliveryRefused, DeliveryUnavailable
from worker.repositories.hosts import Site

_CREATED = 201
_SUCCESS = range(200, 300)
_EXISTS = frozenset({409, 422})
"""The statuses for a request that already exists, and for a refused request."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request from `branch` into `base`."""

    branch: str
    base: str
    title: str
    text: str
    commit: str | None = None
    """The commit that the job has added to a branch with earlier commits. A merged request counts
    only if it ended at this commit. None: every merged request from the branch counts."""


class Forge(Protocol):
    """A server with pull requests. Each method raises DeliveryRefused."""

    @property
    def api(self) -> ForgeApi:
        """The API of the forge."""
        ...

    async def find(self, request: PullRequest) -> str | None:
        """The address of a pull request from the branch, an open request before a closed one; None
        if no request exists. Ignores branches of this name in forks, and merged requests that lack
        the commit of `request`."""
        ...

    async def create(self, request: PullRequest) -> ApiResponse:
        """Create a pull request."""
        ...

    def lacks_branch(self, answer: ApiResponse) -> bool:
        """Whether the forge refuses the request because it does not know the branch."""
        ...

    def address(self, answer: Any) -> str:
        """The address of a pull request, from its JSON."""
        ...


def forge_of(kind: ForgeKind, site: Site) -> Forge:
    """The forge at this site. Raises DeliveryRefused if the address names no repository of the
    forge, or if no token is set."""
    if kind == "git":
        raise DeliveryRefused(
            f"{site.host} is listed only for branches: leave the pull request out, or the "
            f"operator lists it as a forge (FETTLE_DELIVER_HOSTS={site.host}=github or =gitlab)"
        )
    if site.token is None:
        raise DeliveryRefused(
            f"the operator has set no token for {_host(site)}, which a pull request needs "
            f"(FETTLE_REPO_CREDENTIALS, a line {_host(site)} USER:TOKEN)"
        )
    url = httpx.URL(site.url)
    path = url.path.strip("/").removesuffix(".git")
    if kind == "gitlab":
        return GitLab(site, path, _gitlab(site))
    if path.count("/") != 1:
        raise DeliveryRefused(f"{site.url} is no repository of GitHub: its path is OWNER/NAME")
    return GitHub(site, path, _github(site))


async def open_request(forge: Forge, request: PullRequest) -> str:
    """The address of the pull request from the branch. Creates the pull request only if it does not
    exist, also after a crash, and also if another process creates it at the same time. Raises
    DeliveryRefused."""
    if (existing := await forge.find(request)) is not None:
        return existing
    answer = await forge.create(request)
    if answer.status == _CREATED and answer.content is not None:
        return forge.address(answer.content)
    accepted = answer.status in _SUCCESS
    may_exist = accepted or answer.status in _EXISTS
    if may_exist and (existing := await forge.find(request)) is not None:
        return existing
    reason = f"{forge.api.address} answered {answer.status}: {answer.message}"
    if accepted or forge.lacks_branch(answer) or "already exists" in answer.message.lower():
        # The branch is new: some parts of the forge know it only a moment later.
        raise DeliveryUnavailable(f"{reason} (it does not know {request.branch} everywhere yet)")
    raise DeliveryRefused(reason)


@dataclass(frozen=True, slots=True)
class GitHub:
    """Implements Forge. `path` is OWNER/NAME."""

    site: Site
    path: str
    api: ForgeApi

    async def find(self, request: PullRequest) -> str | None:
        """See Forge."""
        owner, branch = self.path.partition("/")[0], request.branch
        query = {"head": f"{owner}:{branch}", "state": "all", "per_page": "10"}
        answer = await self.api.get(f"/repos/{quote(self.path)}/pulls", query)
        ours = (
            row
            for row in _rows(self.api, answer)
            if _in(row, "head", "ref") == branch
            and _in(row, "head", "repo", "id") == _in(row, "base", "repo", "id")
            and (not _in(row, "merged_at") or request.commit in (None, _in(row, "head", "sha")))
        )
        return next(map(self.address, sorted(ours, key=_is_closed)), None)

    async def create(self, request: PullRequest) -> ApiResponse:
        """See Forge."""
        content = {"title": request.title, "body": request.text, "head": request.branch}
        sent = {**content, "base": request.base}
        return await self.api.post(f"/repos/{quote(self.path)}/pulls", sent)

    def lacks_branch(self, answer: ApiResponse) -> bool:
        """See Forge."""
        errors = _in(answer.content, "errors")
        return any(_in(error, "field") == "head" for error in _list(errors))

    def address(self, answer: Any) -> str:
        """See Forge."""
        return _address(self.site, answer, "html_url", ("number", "/pull/"))


@dataclass(frozen=True, slots=True)
class GitLab:
    """Implements Forge. `path` is GROUP/.../NAME."""

    site: Site
    path: str
    api: ForgeApi

    async def find(self, request: PullRequest) -> str | None:
        """See Forge."""
        query = {"source_branch": request.branch, "state": "all", "per_page": "100"}
        rows = _rows(self.api, await self.api.get(self._requests, query))
        ours = (
            row
            for row in rows
            if _in(row, "source_branch") == request.branch
            and _in(row, "source_project_id") == _in(row, "target_project_id")
            and (_in(row, "state") != "merged" or request.commit in (None, _in(row, "sha")))
        )
        return next(map(self.address, sorted(ours, key=_is_closed)), None)

    async def create(self, request: PullRequest) -> ApiResponse:
        """See Forge."""
        sent = {
            "source_branch": request.branch,
            "target_branch": request.base,
            "title": request.title,
            "description": request.text,
        }
        return await self.api.post(self._requests, sent)

    def lacks_branch(self, answer: ApiResponse) -> bool:
        """See Forge."""
        return _in(answer.content, "message", "source_branch") is not None

    def address(self, answer: Any) -> str:
        """See Forge."""
        return _address(self.site, answer, "web_url", ("iid", "/-/merge_requests/"))

    @property
    def _requests(self) -> str:
        return f"/projects/{quote(self.path, safe='')}/merge_requests"


def _is_closed(row: Any) -> bool:
    return _in(row, "state") not in {"open", "opened"}


def _host(site: Site) -> str:
    return site.web.partition("://")[2]


def _github(site: Site) -> ForgeApi:
    headers = {
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "Authorization": f"Bearer {site.token}",
    }
    if _host(site) == "github.com":
        return ForgeApi("https://api.github.com", headers, private=False)
    return ForgeApi(f"{site.web}/api/v3", headers, private=site.private)


def _gitlab(site: Site) -> ForgeApi:
    headers = {"PRIVATE-TOKEN": site.token or ""}
    return ForgeApi(f"{site.web}/api/v4", headers, private=site.private)


def _rows(api: ForgeApi, answer: ApiResponse) -> list[Any]:
    if not isinstance(answer.content, list):
        raise DeliveryRefused(
            f"{api.address} does not answer with a list of requests: is it another kind of forge "
            "than the operator has listed (FETTLE_DELIVER_HOSTS)?"
        )
    return answer.content


def _list(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _in(answer: Any, *names: str) -> Any:
    for name in names:
        answer = answer.get(name) if isinstance(answer, Mapping) else None
    return answer


def _address(site: Site, answer: Any, name: str, numbered: tuple[str, str]) -> str:
    """The address in the forge's JSON, if it is on the same host; else an address made from the
    number."""
    web = httpx.URL(site.web)
    try:
        url = httpx.URL(_in(answer, name) or "")
    except (httpx.InvalidURL, TypeError, ValueError):
        url = httpx.URL("")
    is_same_host = url.scheme in {"https", web.scheme} and url.host == web.host
    if is_same_host and not url.userinfo and len(str(url)) <= MAX_URL_CHARACTERS:
        return str(url)
    number, path = _in(answer, numbered[0]), numbered[1]
    if not isinstance(number, int):
        raise DeliveryRefused(
            f"{site.host} has opened a request, but its response has no address of it"
        )
    repository = httpx.URL(site.url).raw_path.decode("ascii").removesuffix(".git")
    return f"{site.web}{repository}{path}{number}"
