"""The local provider itself: what a test, a bench or a drill can rely on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import httpx
import pytest
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessageChunk

from benchmarks.provider import Hang, ProviderServer, Refusal, Reply, Tokens, ToolCall, always

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_turns_are_played_in_order_and_then_refused() -> None:
    with ProviderServer([Reply("a"), Reply("b")]) as server, httpx.Client() as client:
        url = f"{server.openai_url}/chat/completions"
        replies = [client.post(url, json=BODY) for _ in range(3)]
    said = [reply.json()["choices"][0]["message"]["content"] for reply in replies[:2]]
    assert said == ["a", "b"]
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
def test_a_request_of_no_wire_is_refused(path: str, content: bytes, status: int) -> None:
    with ProviderServer(always(Reply("x"))) as server:
        assert httpx.post(server.url + path, content=content).status_code == status
    assert server.requests == []


def test_a_taken_port_is_an_error_at_once() -> None:
    with ProviderServer([]) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"), ProviderServer([], port=port):
            pass


def test_signs_of_life_come_each_whole_second_too() -> None:
    with ProviderServer(always(Hang(1, alive_seconds=1))) as server:
        url = f"{server.openai_url}/chat/completions"
        asked = {**BODY, "stream": True}
        with httpx.stream("POST", url, json=asked) as reply:
            assert next(reply.iter_text()).startswith(": PROCESSING")


def test_retry_after_is_said_where_each_provider_says_it() -> None:
    with ProviderServer(always(Refusal(429, retry_after=1.5))) as server:
        groq = httpx.post(f"{server.groq_url}/openai/v1/chat/completions", json=BODY)
        path = "/v1beta/models/gemini-2.5-flash:generateContent"
        gemini = httpx.post(server.gemini_url + path, json={"contents": []})
    assert groq.headers["retry-after"] == "1.5"
    assert gemini.json()["error"]["details"][0]["retryDelay"] == "1.5s"


@pytest.mark.parametrize("provider", ["groq", "google_genai"])
async def test_a_reply_can_be_streamed(provider: str) -> None:
    text = "A reply that is long enough to come in several pieces."
    reply = Reply(text, (ToolCall("python", {"code": "1"}),), Tokens(7, 3))
    with ProviderServer([reply]) as server:
        model = init_chat_model(
            "gemini-2.5-flash", model_provider=provider, api_key="k", base_url=server.url
        )
        pieces = [piece async for piece in model.astream("hi")]
    assert server.requests[0].stream
    assert sum(bool(piece.text) for piece in pieces) > 2
    whole = sum(pieces[1:], start=pieces[0])
    assert isinstance(whole, AIMessageChunk)
    assert whole.text == text
    assert whole.tool_calls[0]["args"] == {"code": "1"}
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["input_tokens"] == 7


def test_it_runs_as_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "benchmarks.provider", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        urls = json.loads(process.stdout.readline())
        reply = httpx.post(f"{urls['openai']}/chat/completions", json=BODY)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert reply.json()["choices"][0]["message"]["content"] == "hi"
