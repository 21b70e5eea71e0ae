"""Tokens instead of keys: Microsoft Entra for Azure OpenAI, Google Cloud for Vertex AI."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from support.servers.certificates import self_signed
from support.servers.web_server import listening

from agents.errors import ModelNotConfigured, ModelRefused, ModelUnavailable
from agents.models.build import build, ready
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from lab.provider import ProviderServer, Reply, always
from settings.starting.provider_rows import provider_variable

AZURE_MODEL = ModelName.parse("azure:my-deployment")
VERTEX_MODEL = ModelName.parse("vertex:gemini-2.5-flash")


def options_for(server: ProviderServer, provider: str, **settings: str) -> ModelOptions:
    return ModelOptions(
        base_urls=server.base_urls(),
        provider_settings={provider: settings},
        name_setting=provider_variable,
        max_retries=0,
    )


async def test_an_entra_token_is_read_before_each_request(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.write_text("first\n")
    with ProviderServer(always(Reply("ok"))) as server:
        options = options_for(server, "azure", token_file=str(token_file), api_version="2024-10-21")
        model = build(AZURE_MODEL, options, "executor")
        await model.ainvoke("hi")
        token_file.write_text("second")
        await model.ainvoke("hi")
        token_file.write_text("\n")
        with pytest.raises(
            ModelNotConfigured, match="FETTLE_AZURE_TOKEN_FILE names a file without a token"
        ):
            await model.ainvoke("hi")
        token_file.unlink()
        with pytest.raises(ModelNotConfigured, match="FETTLE_AZURE_TOKEN_FILE cannot be read"):
            await model.ainvoke("hi")
    sent = [request.headers for request in server.requests]
    assert [headers["authorization"] for headers in sent] == ["Bearer first", "Bearer second"]
    assert not any("api-key" in headers for headers in sent)
    assert {request.path for request in server.requests} == {
        "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
    }


async def test_a_key_comes_before_a_token(tmp_path: Path) -> None:
    with ProviderServer(always(Reply("ok"))) as server:
        options = ModelOptions(
            api_keys={"azure": "key"},
            base_urls=server.base_urls(),
            provider_settings={"azure": {"token_file": str(tmp_path / "none")}},
        )
        await build(AZURE_MODEL, options, "executor").ainvoke("hi")
    assert server.requests[0].headers["api-key"] == "key"
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    "end",
    ["", "/", "/openai", "/openai/v1/", "/openai/deployments/x/chat/completions"],
)
async def test_the_portal_s_addresses_of_azure_are_understood(end: str) -> None:
    with ProviderServer(always(Reply("ok"))) as server:
        options = ModelOptions(
            api_keys={"azure": "key"}, base_urls={"azure": f"{server.url}{end}"}, max_retries=0
        )
        await build(AZURE_MODEL, options, "executor").ainvoke("hi")
    assert server.requests[0].path.startswith("/openai/deployments/my-deployment/chat")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (AZURE_MODEL, "a key: set AZURE_OPENAI_API_KEY or FETTLE_AZURE_TOKEN_FILE"),
        (VERTEX_MODEL, "a key: set FETTLE_VERTEX_API_KEY or FETTLE_VERTEX_CREDENTIALS"),
    ],
)
def test_both_ways_are_named_if_neither_is_set(name: ModelName, words: str) -> None:
    with pytest.raises(ModelNotConfigured, match=words):
        ready(name, ModelOptions(name_setting=provider_variable))


@dataclass
class TokenServer:
    """Google's token endpoint. `answer` is the status and the JSON of its replies."""

    url: str = ""
    answer: tuple[int, Mapping[str, object]] = (
        200,
        {"access_token": "token-of-google", "expires_in": 3_600, "token_type": "Bearer"},
    )
    grants: list[str] = field(default_factory=list)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's TLS context, and a client's, which trusts this server alone."""
    path, of_server = self_signed(tmp_path, "localhost")
    return of_server, ssl.create_default_context(cafile=str(path))


@pytest.fixture
def tokens(certificate: tuple[ssl.SSLContext, ssl.SSLContext]) -> Iterator[TokenServer]:
    server = TokenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            server.grants += parse_qs(body)["grant_type"]
            status, reply = server.answer
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    with listening(Handler, certificate[0]) as port:
        server.url = f"https://localhost:{port}/token"
        yield server


@pytest.fixture
def credentials(tmp_path: Path, tokens: TokenServer) -> Path:
    """The file of a service account."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    account = {
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "1",
        "private_key": text.decode(),
        "client_email": "fettle@my-project.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": tokens.url,
    }
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps(account))
    return path


async def test_a_service_account_gets_its_token_over_the_worker_s_certificates(
    credentials: Path,
    tokens: TokenServer,
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    with ProviderServer(always(Reply("ok"))) as server:
        options = options_for(server, "vertex", credentials=str(credentials), location="eu")
        model = build(VERTEX_MODEL, options, "executor", certificate[1])
        await model.ainvoke("hi")
        await model.ainvoke("hi")
    assert tokens.grants == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer token-of-google",
        "Bearer token-of-google",
    ]
    assert server.requests[0].path.partition("?")[0] == (
        "/v1beta1/projects/my-project/locations/eu/publishers/google/models/"
        "gemini-2.5-flash:streamGenerateContent"
    )


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (
            (400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}),
            ModelRefused,
            (
                "no access token for FETTLE_VERTEX_CREDENTIALS.*Invalid JWT.*"
                "put a valid key in FETTLE_VERTEX_API_KEY or FETTLE_VERTEX_CREDENTIALS"
            ),
        ),
        (
            (503, {"error": "internal_failure"}),
            ModelUnavailable,
            "no access token for FETTLE_VERTEX_CREDENTIALS.*internal_failure",
        ),
    ],
)
async def test_an_account_without_a_token_is_an_error_with_google_s_reason(
    credentials: Path,
    tokens: TokenServer,
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
    answer: tuple[int, Mapping[str, object]],
    error: type[Exception],
    words: str,
) -> None:
    tokens.answer = answer
    with ProviderServer(always(Reply("ok"))) as server:
        options = options_for(server, "vertex", credentials=str(credentials))
        model = build(VERTEX_MODEL, options, "executor", certificate[1])
        with pytest.raises(error, match=words):
            await model.ainvoke("hi")
    assert server.requests == []


async def test_an_unavailable_token_endpoint_is_tried_again_later(credentials: Path) -> None:
    """The server's certificate is not trusted here, and no other certificates are used."""
    with ProviderServer(always(Reply("ok"))) as server:
        options = options_for(server, "vertex", credentials=str(credentials))
        model = build(VERTEX_MODEL, options, "executor", httpx.create_ssl_context())
        with pytest.raises(ModelUnavailable, match=r"FETTLE_VERTEX_CREDENTIALS: .*certificate"):
            await model.ainvoke("hi")


def test_credentials_that_cannot_be_read_or_name_no_project_are_named(tmp_path: Path) -> None:
    with ProviderServer([]) as server:
        options = options_for(server, "vertex", credentials=str(tmp_path / "none.json"))
        with pytest.raises(ModelNotConfigured, match="FETTLE_VERTEX_CREDENTIALS cannot be read"):
            build(VERTEX_MODEL, options, "executor")
        user = tmp_path / "user.json"
        secrets = {"client_id": "i", "client_secret": "s", "refresh_token": "t"}
        user.write_text(json.dumps({"type": "authorized_user", **secrets}))
        options = options_for(server, "vertex", credentials=str(user))
        with pytest.raises(ModelNotConfigured, match="a project: set FETTLE_VERTEX_PROJECT"):
            build(VERTEX_MODEL, options, "executor")


async def test_the_metadata_server_of_the_machine_gives_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            account = {"email": "a@b.c", "scopes": ["https://scope"], "aliases": ["default"]}
            token = {"access_token": "of-the-pod", "expires_in": 3_600, "token_type": "Bearer"}
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("metadata-flavor", "Google")
            self.end_headers()
            reply = token if "/token" in self.path else account
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    with listening(Handler) as port, ProviderServer(always(Reply("ok"))) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        options = options_for(server, "vertex", credentials="metadata", project="p")
        await build(VERTEX_MODEL, options, "executor").ainvoke("hi")
    assert server.requests[0].headers["authorization"] == "Bearer of-the-pod"
    assert any("service-accounts/default/token" in path for path in paths)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_each_location_of_vertex_has_its_address(
    credentials: Path, location: str, host: str
) -> None:
    settings = {"credentials": str(credentials), "location": location}
    options = ModelOptions(provider_settings={"vertex": settings})
    model = build(VERTEX_MODEL, options, "executor")
    assert isinstance(model, ProviderModel)
    client: Any = model.inner.client  # type: ignore[attr-defined]
    assert httpx.URL(client._api_client._http_options.base_url).host == host
