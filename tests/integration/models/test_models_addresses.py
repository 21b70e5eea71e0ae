"""An address without a model's server: over the client library of each wire format."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from support.servers.tls_front import HOST, tls_front

from agents.errors import (
    ErrorKind,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    another_may_answer,
)
from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.spending.budget import may_be_billed
from lab.provider import ProviderServer, Raw, Reply, always
from settings.starting.provider_rows import ADDRESS, provider_variable

NAMES = (
    "groq:llama-3.3-70b-versatile",
    "google_genai:gemini-2.5-flash",
    "openai:gpt-4.1-mini",
    "anthropic:claude-haiku-4-5",
    "openrouter:openai/gpt-4.1-mini",
    "ollama:qwen3:8b",
    "compatible:some-model",
)
EACH = pytest.mark.parametrize("name", NAMES)
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head></html>"
TLS = functools.cache(httpx.create_ssl_context)


def model_at(name: str, address: str) -> ProviderModel:
    provider = ModelName.parse(name).provider
    options = ModelOptions(
        api_keys={provider: "some-key"},
        base_urls={provider: address},
        name_setting=provider_variable,
        max_retries=0,
    )
    model = build(ModelName.parse(name), options, "executor", TLS())
    assert isinstance(model, ProviderModel)
    return model


def address_variable(name: str) -> str:
    return provider_variable(ModelName.parse(name).provider, ADDRESS)


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


async def unavailable(model: ProviderModel) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        await model.ainvoke("hi")
    return caught.value


async def refused(model: ProviderModel) -> ModelRefused:
    with pytest.raises(ModelRefused) as caught:
        await model.ainvoke("hi")
    return caught.value


@EACH
async def test_an_address_without_a_listener(name: str) -> None:
    port = closed_port()
    error = await unavailable(model_at(name, f"http://user:secret@127.0.0.1:{port}"))
    assert (error.kind, error.unproven) == (ErrorKind.NO_SERVER, True)
    for words in ("no server answers", "Connection refused", f"http://127.0.0.1:{port}/"):
        assert words in str(error)
    assert f"correct {address_variable(name)}" in str(error)
    assert "secret" not in str(error)
    assert another_may_answer(error)
    assert not may_be_billed(error)


async def test_an_unknown_host() -> None:
    error = await unavailable(model_at("compatible:some-model", "http://no-such-host.invalid/v1"))
    assert (error.kind, error.unproven) == (ErrorKind.NO_SERVER, True)
    assert "http://no-such-host.invalid/v1/chat/completions" in str(error)


async def test_a_server_that_replied_before_and_no_longer_answers_is_an_outage() -> None:
    with ProviderServer([Reply("ok")]) as server:
        model = model_at("compatible:some-model", server.openai_url)
        assert (await model.ainvoke("hi")).text == "ok"
        port = int(server.url.rpartition(":")[2])
    error = await unavailable(model)
    assert (error.kind, error.unproven) == (ErrorKind.NO_SERVER, False)
    page = Raw([PAGE], "text/html", 404)
    with ProviderServer([page], port=port):
        error = await unavailable(model)
    assert (error.status, error.kind, error.unproven) == (404, ErrorKind.OVERLOADED, False)


@pytest.mark.parametrize("name", NAMES[:4])
def test_a_public_address_is_right(name: str) -> None:
    provider = ModelName.parse(name).provider
    public = ModelOptions(api_keys={provider: "key"})
    assert public.is_public(ModelName.parse(name))
    operator_address = ModelOptions(
        api_keys={provider: "key"}, base_urls={provider: "https://gateway.internal"}
    )
    assert not operator_address.is_public(ModelName.parse(name))


def test_the_address_of_a_server_on_this_machine_may_be_wrong() -> None:
    assert not ModelOptions().is_public(ModelName.parse("ollama:qwen3:8b"))


@EACH
async def test_a_redirect_is_not_followed(name: str) -> None:
    with ProviderServer(always(Reply("ok"))) as elsewhere:
        moved = Raw([b""], "text/plain", 307, {"location": f"{elsewhere.url}/v1/x?token=secret"})
        with ProviderServer([moved]) as server:
            error = await refused(model_at(name, server.base_urls()[name.partition(":")[0]]))
        assert elsewhere.requests == []
    assert (error.kind, error.status) == (ErrorKind.ADDRESS, 307)
    assert f"a redirect to {elsewhere.url}/v1/x, from {server.url}/" in str(error)
    assert f"correct {address_variable(name)}" in str(error)
    assert another_may_answer(error)


@EACH
@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b'{"detail":"Not Found"}', "404: Not Found, from http://127.0.0.1"),
        (404, b"404 page not found", "404: 404 page not found, from http://127.0.0.1"),
        (405, b'{"detail":"Method Not Allowed"}', "405: Method Not Allowed, from"),
        (403, PAGE, "403: a web page, 'Sign in', from"),
    ],
)
async def test_an_unknown_path_is_final(name: str, status: int, body: bytes, words: str) -> None:
    with ProviderServer(always(Raw([body], "text/plain", status))) as server:
        error = await refused(model_at(name, server.base_urls()[name.partition(":")[0]]))
        assert len(server.requests) == 1
    assert (error.kind, error.status) == (ErrorKind.ADDRESS, status)
    assert words in str(error)
    assert f"correct {address_variable(name)}" in str(error)


@EACH
async def test_a_page_instead_of_a_reply(name: str) -> None:
    with ProviderServer(always(Raw([PAGE], "text/html"))) as server:
        error = await unavailable(model_at(name, server.base_urls()[name.partition(":")[0]]))
    assert (error.kind, error.unproven) == (ErrorKind.ADDRESS, True)
    assert "a web page, 'Sign in', from http://127.0.0.1" in str(error)
    assert f"correct {address_variable(name)}" in str(error)
    assert not may_be_billed(error)


@contextlib.asynccontextmanager
async def port_that_answers(answer: bytes) -> AsyncIterator[int]:
    """A port on which every connection gets these bytes after the client's first bytes, and is then
    closed.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@EACH
async def test_a_server_without_tls(name: str) -> None:
    async with port_that_answers(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        error = await refused(model_at(name, f"https://127.0.0.1:{port}"))
    assert error.kind is ErrorKind.ADDRESS
    assert f"it speaks http, not https: https://127.0.0.1:{port}/" in str(error)
    assert f"correct {address_variable(name)}" in str(error)


@EACH
def test_a_certificate_that_is_not_trusted(name: str, tmp_path: Path) -> None:
    with tls_front(tmp_path / "tls", closed_port()) as front:
        error = asyncio.run(unavailable(model_at(name, f"https://{HOST}:{front.port}/v1")))
    assert (error.kind, error.unproven) == (ErrorKind.CERTIFICATE, True)
    assert "self-signed certificate" in str(error)
    assert "SSL_CERT_FILE" in str(error)


async def test_a_server_that_does_not_speak_http() -> None:
    async with port_that_answers(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n") as port:
        error = await unavailable(model_at("compatible:some-model", f"http://127.0.0.1:{port}/v1"))
    assert (error.kind, error.unproven) == (ErrorKind.ADDRESS, True)
    assert "it does not speak HTTP" in str(error)


@pytest.mark.parametrize("key", ["sk-\u201cx\u201d", "sk-a\nb"])
def test_a_key_with_characters_that_a_header_cannot_have(key: str) -> None:
    options = ModelOptions(api_keys={"groq": key}, name_setting=provider_variable)
    with pytest.raises(ModelNotConfigured, match="correct GROQ_API_KEY") as caught:
        options.api_key(ModelName.parse("groq:x"))
    assert key not in str(caught.value)
