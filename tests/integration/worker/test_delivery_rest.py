"""Requests to a forge's API on loopback: temporary errors, final errors, and use of the token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.servers.git_server import GitServer, git_server

from worker.delivery import forge_api
from worker.delivery.forge_api import ForgeApi
from worker.repositories.errors import DeliveryRefused, DeliveryUnavailable

SECRET = "s3cret-token"


class Api:
    """Answers with `by_path`, else with `default_answer`."""

    def __init__(self) -> None:
        self.default_answer: tuple[int, Any, Mapping[str, str]] = (200, [], {})
        self.by_path: dict[str, tuple[int, Any, Mapping[str, str]]] = {}
        self.requests: list[tuple[str, str, str | None, bytes]] = []

    def __call__(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Any, Mapping[str, str]]:
        self.requests.append((method, path, headers.get("private-token"), body))
        return self.by_path.get(path, self.default_answer)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as server_in_folder:
        server_in_folder.api = Api()
        yield server_in_folder


@pytest.fixture
def api(server: GitServer) -> Api:
    assert isinstance(server.api, Api)
    return server.api


def client(server: GitServer, *, private: bool = True) -> ForgeApi:
    return ForgeApi(server.url("api/v4"), {"PRIVATE-TOKEN": SECRET}, private)


async def test_a_get_and_a_post(server: GitServer, api: Api) -> None:
    api.default_answer = (201, {"iid": 1}, {})
    answer = await client(server).post("/x/a%2Fb", {"title": "größe"})
    assert (answer.status, answer.content) == (201, {"iid": 1})
    api.default_answer = (200, [1], {})
    assert (await client(server).get("/x", {"head": "a:b/c"})).content == [1]
    assert api.requests == [
        ("POST", "/api/v4/x/a%2Fb", SECRET, b'{"title": "gr\\u00f6\\u00dfe"}'),
        ("GET", "/api/v4/x?head=a%3Ab%2Fc", SECRET, b""),
    ]


@pytest.mark.parametrize(
    ("status", "headers", "expected_seconds"),
    [
        (500, {}, 0.0),
        (502, {}, 0.0),
        (429, {"Retry-After": "30"}, 30.0),
        (429, {"Retry-After": "9" * 400}, 3_600.0),
        (403, {"X-RateLimit-Remaining": "0"}, 60.0),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 12}, 3_600.0),
        (403, {"Retry-After": "7"}, 7.0),
        (408, {}, 0.0),
        (503, {"Retry-After": "Tue, 24 Nov 2020 10:00:00 GMT"}, 0.0),
        (503, {"Retry-After": "Tue, 24 Nov 2099 10:00:00 GMT"}, 3_600.0),
        (503, {"Retry-After": "Tue, 24 Nov 2020 10:00:00 +" + "9" * 20}, 3_600.0),
    ],
)
async def test_temporary_errors(
    server: GitServer, api: Api, status: int, headers: dict[str, str], expected_seconds: float
) -> None:
    api.default_answer = (status, {"message": "later"}, headers)
    with pytest.raises(DeliveryUnavailable, match=f"answered {status}: later") as raised:
        await client(server).post("/x", {})
    assert raised.value.requested_seconds == expected_seconds


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(
    "message",
    [
        "You have exceeded a secondary rate limit. Please wait a few minutes.",
        "You have triggered an abuse detection mechanism. Please wait a few minutes.",
    ],
)
async def test_a_secondary_rate_limit_needs_no_header(
    server: GitServer, api: Api, status: int, message: str
) -> None:
    api.default_answer = (status, {"message": message}, {"X-RateLimit-Remaining": "4990"})
    with pytest.raises(DeliveryUnavailable, match=message) as raised:
        await client(server).post("/x", {})
    assert raised.value.requested_seconds == 60.0


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "the operator's credential is wrong, or has run out"),
        (403, "the operator's credential does not allow it"),
        (404, "no such repository for the operator's credential"),
    ],
)
async def test_final_errors(server: GitServer, api: Api, status: int, reason: str) -> None:
    api.default_answer = (status, {"message": ["no \x1b[31m" + "x" * 1_000]}, {})
    with pytest.raises(DeliveryRefused, match=reason) as raised:
        await client(server).get("/x", {})
    assert not isinstance(raised.value, DeliveryUnavailable)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 600
    assert SECRET not in str(raised.value)


async def test_a_redirect_is_followed_only_on_the_same_host(server: GitServer, api: Api) -> None:
    api.by_path = {"/api/v4/x": (307, {}, {"Location": "/api/v4/moved"})}
    await client(server).post("/x", {"a": 1})
    assert [received[:2] for received in api.requests] == [
        ("POST", "/api/v4/x"),
        ("POST", "/api/v4/moved"),
    ]
    assert api.requests[0][3] == api.requests[1][3] != b""
    with git_server(server.root) as other_server:
        other_server.api = Api()
        for url in (other_server.url("api/x"), f"http://me:x@{server.authority}/api/x", "http://["):
            api.by_path = {"/api/v4/x": (307, {}, {"Location": url})}
            with pytest.raises(DeliveryRefused, match="redirect"):
                await client(server).post("/x", {})
        assert other_server.requests == []
    api.by_path = {"/api/v4/x": (307, {}, {"Location": "/api/v4/x"})}
    with pytest.raises(DeliveryRefused, match="more than 2 redirects"):
        await client(server).post("/x", {})


async def test_an_unreachable_slow_or_forbidden_host(
    server: GitServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DeliveryUnavailable, match="could not be reached"):
        await ForgeApi("http://127.0.0.1:1", {}, private=True).get("/x", {})
    with pytest.raises(DeliveryRefused, match="is not public"):
        await client(server, private=False).get("/x", {})
    assert api.requests == []
    monkeypatch.setattr(forge_api, "SECONDS", 0.0)
    with pytest.raises(DeliveryUnavailable, match="took longer than 0 s"):
        await client(server).get("/x", {})


async def test_an_answer_that_is_too_long_is_not_read(
    server: GitServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.default_answer = (200, ["x" * 2_000], {})
    monkeypatch.setattr(forge_api, "MAX_BYTES", 1_000)
    assert (await client(server).get("/x", {})).content is None
