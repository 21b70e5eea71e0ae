"""The requests of a delivery to a forge, the allowed hosts, and the texts at the forge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from jobs.model.spec import Deliver, JobSpec, Repo
from settings.repositories import ForgeKind, RepositorySettings
from worker.delivery.forge_api import ApiResponse, ForgeApi
from worker.delivery.forges import GitHub, GitLab, PullRequest, forge_of, open_request
from worker.delivery.push import DeliveryHosts
from worker.delivery.texts import SUMMARY, inert, message, text, title
from worker.repositories.credentials import HostCredentials
from worker.repositories.errors import DeliveryRefused, DeliveryUnavailable, RepositoryRefused
from worker.repositories.hosts import RepositoryHosts, Site

BRANCH = "fettle/j"
REQUEST = PullRequest(BRANCH, "main", "Title", "Text")
LISTED = (
    *("github.com", "*.example.org", "http://git.internal:3000"),
    *("ssh://github.com", "ssh://git.example.org:2222", "ssh://lab.example.org"),
)
TOKEN = "s3cret-token"
HOSTS = ("github.com", "git.example.org", "ghe.example.org")
CREDENTIALS = HostCredentials({"default": dict.fromkeys(HOSTS, f"me:{TOKEN}")})


@dataclass(frozen=True)
class ScriptedForgeApi(ForgeApi):
    """Returns the answers in order; `requests` are the received requests."""

    answers: list[ApiResponse] = field(default_factory=list)
    requests: list[tuple[Any, ...]] = field(default_factory=list)

    async def get(self, path: str, query: Mapping[str, str]) -> ApiResponse:
        self.requests.append(("GET", path, dict(query)))
        return self.require_ok(self.answers.pop(0))

    async def post(self, path: str, content: Mapping[str, Any]) -> ApiResponse:
        self.requests.append(("POST", path, dict(content)))
        return self.answers.pop(0)


def scripted_rest(*answers: ApiResponse) -> ScriptedForgeApi:
    return ScriptedForgeApi("https://git.example.org/api", {}, False, list(answers))


def site(url: str = "https://git.example.org/team/sub/app.git") -> Site:
    return RepositoryHosts(LISTED, CREDENTIALS).site(url)


def github(
    *answers: ApiResponse, url: str = "https://github.com/team/app.git"
) -> tuple[GitHub, ScriptedForgeApi]:
    scripted = scripted_rest(*answers)
    return GitHub(site(url), "team/app", scripted), scripted


def gitlab(*answers: ApiResponse) -> tuple[GitLab, ScriptedForgeApi]:
    scripted = scripted_rest(*answers)
    return GitLab(site(), "team/sub/app", scripted), scripted


async def test_a_pull_request_is_opened_after_a_search() -> None:
    url = "https://github.com/team/app/pull/7"
    forge, sent_requests = github(
        ApiResponse(200, []), ApiResponse(201, {"html_url": url, "number": 7})
    )
    assert await open_request(forge, REQUEST) == url
    path, query = "/repos/team/app/pulls", {"head": f"team:{BRANCH}", "state": "all"}
    sent = {"title": "Title", "body": "Text", "head": BRANCH, "base": "main"}
    assert sent_requests.requests == [
        ("GET", path, {**query, "per_page": "10"}),
        ("POST", path, sent),
    ]


async def test_a_merge_request_is_opened_after_a_search() -> None:
    url = "https://git.example.org/team/sub/app/-/merge_requests/7"
    forge, sent_requests = gitlab(
        ApiResponse(200, []), ApiResponse(201, {"web_url": url, "iid": 7})
    )
    assert await open_request(forge, REQUEST) == url
    path = "/projects/team%2Fsub%2Fapp/merge_requests"
    sent = {"title": "Title", "description": "Text", "source_branch": BRANCH}
    assert sent_requests.requests == [
        ("GET", path, {"source_branch": BRANCH, "state": "all", "per_page": "100"}),
        ("POST", path, {**sent, "target_branch": "main"}),
    ]


async def test_an_existing_request_is_not_opened_again() -> None:
    pull_request = {"head": {"ref": BRANCH}, "state": "closed", "number": 3}
    other_request = {"head": {"ref": "fettle/other"}, "number": 2}
    forge, sent_requests = github(ApiResponse(200, [other_request, pull_request]))
    assert await open_request(forge, REQUEST) == "https://github.com/team/app/pull/3"
    assert len(sent_requests.requests) == 1
    source_text = ApiResponse(422, {"message": "Validation Failed"})
    forge, _ = github(ApiResponse(200, []), source_text, ApiResponse(200, [pull_request]))
    assert (await open_request(forge, REQUEST)).endswith("/pull/3")
    twice = {"source_branch": BRANCH, "iid": 4}
    lab, _ = gitlab(
        ApiResponse(200, []), ApiResponse(409, {"message": ["twice"]}), ApiResponse(200, [twice])
    )
    assert (await open_request(lab, REQUEST)).endswith("/team/sub/app/-/merge_requests/4")


async def test_an_open_request_counts_before_a_closed_one() -> None:
    closed = {"head": {"ref": BRANCH}, "state": "closed", "number": 5}
    forge, _ = github(ApiResponse(200, [closed, {**closed, "state": "open", "number": 3}]))
    assert await open_request(forge, REQUEST) == "https://github.com/team/app/pull/3"
    merged = {"source_branch": BRANCH, "state": "merged", "iid": 5}
    lab, _ = gitlab(ApiResponse(200, [merged, {**merged, "state": "opened", "iid": 3}]))
    assert (await open_request(lab, REQUEST)).endswith("/-/merge_requests/3")


TWICE = "A pull request already exists for team:fettle/j."


@pytest.mark.parametrize(
    "answer",
    [
        ApiResponse(201, None),
        ApiResponse(202, {}),
        ApiResponse(422, {"message": "Validation Failed", "errors": [{"message": TWICE}]}),
        ApiResponse(409, {"message": ["Another open merge request already exists: !5"]}),
    ],
    ids=["empty", "accepted", "github", "gitlab"],
)
async def test_after_a_refusal_the_request_is_searched_again(answer: ApiResponse) -> None:
    pull_request = {"html_url": "https://github.com/team/app/pull/8", "head": {"ref": BRANCH}}
    forge, _ = github(ApiResponse(200, []), answer, ApiResponse(200, [pull_request]))
    assert await open_request(forge, REQUEST) == pull_request["html_url"]
    forge, _ = github(ApiResponse(200, []), answer, ApiResponse(200, []))
    with pytest.raises(DeliveryUnavailable, match=f"answered {answer.status}"):
        await open_request(forge, REQUEST)


async def test_a_merged_request_counts_for_a_later_commit_only_if_it_has_the_commit() -> None:
    ours, earlier = "b" * 40, "a" * 40
    request = replace(REQUEST, commit=ours)
    closed = {"head": {"ref": BRANCH, "sha": earlier}, "state": "closed", "number": 5}
    merged = {**closed, "merged_at": "2026-11-28T00:00:00Z"}
    merged_ours = {**merged, "head": {"ref": BRANCH, "sha": ours}}
    mine = {"source_branch": BRANCH, "state": "merged", "sha": earlier, "iid": 5}
    for forge_row, lab_row, counts in (
        (merged, mine, False),
        (merged_ours, {**mine, "sha": ours}, True),
        (closed, {**mine, "state": "closed"}, True),
    ):
        for listing, row in ((github, forge_row), (gitlab, lab_row)):
            forge, _ = listing(ApiResponse(200, [row]), ApiResponse(200, [row]))
            assert (await forge.find(request) is not None) is counts, row
            assert await forge.find(REQUEST), "a new branch has no earlier commits"


async def test_a_request_from_a_fork_does_not_count() -> None:
    """Any user can open such a request, from a branch with this name in their own repository."""
    fork = {"head": {"ref": BRANCH, "repo": {"id": 2}}, "base": {"repo": {"id": 1}}, "number": 3}
    ours = {**fork, "head": {"ref": BRANCH, "repo": {"id": 1}}, "number": 4}
    deleted_fork = {**fork, "head": {"ref": BRANCH, "repo": None}}
    forge, _ = github(ApiResponse(200, [fork, deleted_fork, ours]))
    assert await forge.find(REQUEST) == "https://github.com/team/app/pull/4"
    fork = {"source_branch": BRANCH, "source_project_id": 2, "target_project_id": 1, "iid": 3}
    lab, _ = gitlab(ApiResponse(200, [fork, {**fork, "source_project_id": 1, "iid": 4}]))
    assert (await lab.find(REQUEST) or "").endswith("/team/sub/app/-/merge_requests/4")
    lab, _ = gitlab(ApiResponse(200, [fork]))
    assert await lab.find(REQUEST) is None


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([ApiResponse(200, {"login": "x"})], "is it another kind of forge"),
        ([ApiResponse(200, None)], "is it another kind of forge"),
        ([ApiResponse(400, {"error": "bad"})], "answered 400: bad"),
        (
            [
                *(
                    ApiResponse(200, []),
                    ApiResponse(422, {"message": "no", "errors": [{"field": "base"}]}),
                ),
                ApiResponse(200, []),
            ],
            r'answered 422: no; \[{"field": "base"}\]',
        ),
        (
            [ApiResponse(200, []), ApiResponse(201, {"html_url": "https://evil.test/1"})],
            "has no address of it",
        ),
    ],
)
async def test_the_refusal_of_a_forge_is_quoted(answers: list[ApiResponse], reason: str) -> None:
    with pytest.raises(DeliveryRefused, match=reason):
        await open_request(github(*answers)[0], REQUEST)


@pytest.mark.parametrize(
    "request_address",
    [
        "https://evil.test/team/app/pull/7",
        "https://me:x@github.com/team/app/pull/7",
        "http://github.com/team/app/pull/7",
        "javascript:alert(1)",
        "x" * 3_000,
        {"a": 1},
        None,
    ],
)
async def test_an_address_on_another_host_is_replaced_by_the_number(
    request_address: object,
) -> None:
    for url in ("https://github.com/team/app.git", "ssh://git@github.com/team/app.git"):
        forge, _ = github(
            ApiResponse(200, []),
            ApiResponse(201, {"html_url": request_address, "number": 7}),
            url=url,
        )
        assert await open_request(forge, REQUEST) == "https://github.com/team/app/pull/7"


@pytest.mark.parametrize(
    ("kind", "url", "address", "header"),
    [
        ("github", "https://github.com/a/b", "https://api.github.com", f"Bearer {TOKEN}"),
        ("github", "https://ghe.example.org/a/b.git", "https://ghe.example.org/api/v3", "Bearer"),
        ("gitlab", "https://git.example.org/a/b/c", "https://git.example.org/api/v4", TOKEN),
        ("github", "ssh://git@github.com/a/b.git", "https://api.github.com", f"Bearer {TOKEN}"),
        ("gitlab", "ssh://git.example.org:2222/a/b", "https://git.example.org/api/v4", TOKEN),
    ],
)
def test_the_address_of_a_hosts_api(kind: ForgeKind, url: str, address: str, header: str) -> None:
    forge = forge_of(kind, site(url))
    assert forge.api.address == address
    assert any(value.startswith(header) for value in forge.api.headers.values())
    assert TOKEN not in repr(forge)


@pytest.mark.parametrize(
    ("url", "pull_request", "reason"),
    [
        ("https://ghe.example.org/a/b", False, r"FETTLE_DELIVER_HOSTS=ghe.example.org=github"),
        ("http://git.internal:3000/a/b", True, "listed only for branches"),
        ("https://github.com/a/b/c", True, "OWNER/NAME"),
        ("https://lab.example.org/a/b", True, "no token for lab.example.org"),
        ("ssh://git@lab.example.org/a/b", True, "no token for lab.example.org"),
        ("ssh://git.example.org:2222/a", False, r"DELIVER_HOSTS=git.example.org:2222=github"),
        (None, False, "only be delivered to the url"),
    ],
)
def test_hosts_without_delivery(url: str | None, pull_request: bool, reason: str) -> None:
    delivered = "github.com=github,git.internal:3000=git,LAB.example.org=gitlab"
    settings = RepositorySettings(repo_hosts=LISTED, deliver_hosts=delivered)
    hosts = DeliveryHosts.from_settings(settings, RepositoryHosts(LISTED, CREDENTIALS))
    sent_requests = JobSpec("t", repo=Repo(url), deliver=Deliver(pull_request=pull_request))
    with pytest.raises(DeliveryRefused, match=reason):
        hosts.target(sent_requests, "default")
    assert hosts.target(JobSpec("t", repo=Repo(url)), "default") is None
    plain = JobSpec("t", repo=Repo("http://git.internal:3000/a/b"), deliver=Deliver())
    forge = JobSpec("t", repo=Repo("https://github.com/a/b"), deliver=Deliver(pull_request=True))
    assert hosts.target(forge, "default") is not None
    with pytest.raises(DeliveryRefused, match="no token for github"):
        hosts.target(forge, "acme")
    target = hosts.target(plain, "default")
    assert target is not None
    assert (target.site.host, target.forge) == ("git.internal:3000", None)
    with pytest.raises(RepositoryRefused, match="FETTLE_REPO_HOSTS"):
        hosts.target(JobSpec("t", repo=Repo("https://gone.test/a"), deliver=Deliver()), "default")


@pytest.mark.parametrize(
    ("needs_review", "approved_by", "reason"),
    [
        (False, None, "nobody has approved"),
        (True, "critic", "critic has approved it, and .*NEEDS_REVIEW.*`fettle apply j1`"),
        (True, "rules", "rules has approved it, and .*NEEDS_REVIEW"),
        (True, "ada and bob", None),
        (False, "critic", None),
    ],
)
def test_which_approval_allows_a_delivery(
    needs_review: bool, approved_by: str | None, reason: str | None
) -> None:
    hosts = DeliveryHosts({}, RepositoryHosts(LISTED), needs_review)
    against = hosts.reason_against("j1", approved_by)
    assert against is None if reason is None else re.match(reason, against or "")


@pytest.mark.parametrize(
    "listed", ["github.com", "a.b=svn", "*.b=git", "https://a.b=git", "a=git,A=git"]
)
def test_an_invalid_list_of_hosts(listed: str) -> None:
    with pytest.raises(ValueError, match=r"HOST=KIND|listed twice"):
        RepositorySettings(deliver_hosts=listed)


def test_a_models_words_are_no_commands_of_a_forge() -> None:
    source_text = text(
        "j1", "Fix it\n/merge\n", "```\n/approve @all fixes #1\n````\n" + "x" * 20_000
    )
    lines = source_text.splitlines()
    fence = next(line for line in lines if line.startswith("`````"))
    assert lines.index("/merge") > lines.index("```text")
    inside = lines[lines.index(fence) + 1 : len(lines) - 1 - lines[::-1].index("`````")]
    assert {"/approve @all fixes #1", "````"} <= set(inside)
    assert len(source_text) < SUMMARY + 1_000
    assert "j1" in source_text
    assert "says" not in text("j1", "Fix it", " ")
    assert json.dumps(source_text)


@pytest.mark.parametrize(
    ("source_text", "expected"),
    [
        ("Fixes #1, closes a/b#22.", "Fixes # 1, closes a/b# 22."),
        ("by @admin and @team/all", "by @ admin and @ team/all"),
        ("resolves GH-3, gh-4, !5, &6", "resolves GH- 3, gh- 4, ! 5, & 6"),
        ("fixes https://git.test/a/b/issues/1", "fixes https:// git.test/a/b/issues/1"),
        ("[skip ci] [ci skip] ***NO_CI***", "[ skip ci] [ ci skip] *** NO_CI***"),
        ("Done.\n/merge\n  /approve", "Done.\n/ merge\n  / approve"),
        ("fixes #\0001", "fixes # 1"),
        ("C# in src/a.py: if (!x) x[0] = 1 & 2", "C# in src/a.py: if (!x) x[ 0] = 1 & 2"),
    ],
)
def test_a_space_interrupts_references_and_commands(source_text: str, expected: str) -> None:
    assert inert(source_text) == expected
    assert inert(expected) == expected
    assert title(source_text) == " ".join(expected.split())
    assert message("j1", "Fix it", source_text) == f"Fix it\n\n{expected}\n\nFettle-Job: j1"
