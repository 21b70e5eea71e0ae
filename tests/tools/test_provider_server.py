"""The local provider: its guarantees for tests, benchmarks and drills."""

from __future__ import annotations

import httpx
import pytest

from lab.provider import ProviderServer, Refusal, Reply, always

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_turns_are_played_in_order_and_then_refused() -> None:
    with ProviderServer([Reply("a"), Reply("b")]) as server, httpx.Client() as client:
        url = f"{server.openai_url}/chat/completions"
        replies = [client.post(url, json=BODY) for _ in range(3)]
    contents = [reply.json()["choices"][0]["message"]["content"] for reply in replies[:2]]
    assert contents == ["a", "b"]
    assert replies[2].status_code == 400
    assert "no more turns" in replies[2].text


def test_a_script_that_fails_is_an_error_at_the_client() -> None:
    with ProviderServer(lambda request: Reply(request.body["absent"])) as server:
        reply = httpx.post(f"{server.openai_url}/chat/completions", json=BODY)
    assert reply.status_code == 400
    assert "KeyError('absent')" in reply.text


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/openai/v1/chat/completions", b"{", 400),
        ("/openai/v1/chat/completions", b"[]", 400),
        ("/openai/v1/chat/completions", b'{"model": "m"}', 400),
        ("/openai/v1/models", b"{}", 404),
    ],
)
def test_a_request_in_an_unknown_format_is_refused(path: str, content: bytes, status: int) -> None:
    with ProviderServer(always(Reply("x"))) as server:
        assert httpx.post(server.url + path, content=content).status_code == status
    assert server.requests == []


def test_retry_after_is_sent_as_each_provider_sends_it() -> None:
    with ProviderServer(always(Refusal(429, retry_after=1.5))) as server:
        groq = httpx.post(f"{server.groq_url}/openai/v1/chat/completions", json=BODY)
        path = "/v1beta/models/gemini-2.5-flash:generateContent"
        gemini = httpx.post(server.gemini_url + path, json={"contents": []})
    assert groq.headers["retry-after"] == "1.5"
    assert gemini.json()["error"]["details"][0]["retryDelay"] == "1.5s"
