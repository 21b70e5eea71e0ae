"""Another service behind `--url`: each command ends with a single sentence."""

from __future__ import annotations

import copy
import gzip
import json
import os
import re
import ssl
from collections.abc import Iterator
from functools import cache
from typing import Any

import click
import pytest
from support.jobs.event_examples import EXAMPLES
from support.servers.tiny_service import Answer, ReceivedRequest, serving

from api.app import create_app
from cli.command_line import SECTIONS, fettle, run
from cli.exit_codes import NOT_REACHABLE
from fettle import Service
from fettle.answers import AnswerSource
from fettle.errors import NotFettle
from fettle.events import read_event
from settings.api import ApiSettings

pytestmark = pytest.mark.matrix

JOB = "j1"
CALLS: dict[str, tuple[str, ...]] = {
    "run": ("run", "Sort a list"),
    "run --no-wait": ("run", "Sort a list", "--no-wait"),
    "conversations": ("conversations",),
    "conversations ID": ("conversations", "c1"),
    "batch": ("batch", JOB),
    "batch --cancel": ("batch", JOB, "--cancel", "--json"),
    "list": ("list",),
    "list --json": ("list", "--json"),
    "show": ("show", JOB),
    "show --json": ("show", JOB, "--json"),
    "show --save": ("show", JOB, "--save", "saved"),
    "watch": ("watch", JOB),
    "review": ("review", JOB, "approve"),
    "review --json": ("review", JOB, "approve", "--json"),
    "cancel": ("cancel", JOB),
    "delete": ("delete", JOB),
    "retry": ("retry", JOB, "--no-wait"),
    "fork": ("fork", JOB, "--no-wait"),
    "compare": ("compare", JOB, "j2"),
    "rebase": ("rebase", JOB, "--no-wait"),
    "patch": ("patch", JOB),
    "apply": ("apply", JOB),
    "replay": ("replay", JOB),
    "export": ("export", JOB),
    "export --format json": ("export", JOB, "--format", "json"),
    "models": ("models",),
    "models --check": ("models", "--check"),
    "doctor": ("doctor",),
    "keys create": ("keys", "create", "ada"),
    "keys create --json": ("keys", "create", "ada", "--json"),
    "keys list": ("keys", "list"),
    "keys limit": ("keys", "limit", "k1", "--max-tokens-per-day", "5"),
    "keys revoke": ("keys", "revoke", "k1"),
    "tenants list": ("tenants", "list"),
    "tenants limit": ("tenants", "limit", "bank", "--max-tokens-per-day", "5"),
    "tenants limit --yes": ("tenants", "limit", "bank", "--max-tokens-per-day", "5", "--yes"),
    "decisions": ("decisions",),
    "decisions --csv": ("decisions", "--csv"),
    "audit list": ("audit", "list"),
    "audit export": ("audit", "export"),
    "webhooks show": ("webhooks", "show", "acme"),
    "webhooks add": ("webhooks", "add", "acme", "https://a.org/x"),
    "webhooks delete": ("webhooks", "delete", "acme", "w1"),
    "review-rules show": ("review-rules", "show"),
    "review-rules show --text": ("review-rules", "show", "--text"),
    "review-rules set": ("review-rules", "set", "/dev/null"),
    "message": ("message", "j1", "Also sort"),
    "claim": ("claim", "j1"),
    "webhooks list": ("webhooks", "list"),
    "webhooks retry": ("webhooks", "retry", "w1"),
    "drain": ("drain", "host:1:a"),
    "fleet settings": ("fleet", "settings"),
    "fleet defaults": ("fleet", "defaults"),
    "fleet defaults review=true": ("fleet", "defaults", "review=true"),
    "fleet set": ("fleet", "set", "retention_days=90"),
}
"""Each command that calls the service."""
LOCAL = {"up", "demo", "bench", "chaos", "flower", "attack", "config", "chat", "mcp"}
"""Commands that call no service behind `--url`, or need a terminal or a client of MCP."""

AT = "2026-11-21T12:00:00.000Z"
JSON = {"Content-Type": "application/json"}
STRANGE: dict[str, Answer] = {
    "an empty object": Answer(200, {}),
    "another object": Answer(200, {"status": "ok", "data": [], "id": 7, "jobs": {}}),
    "a list": Answer(200, [{"id": 1}]),
    "an empty list": Answer(200, []),
    "null": Answer(200, "null"),
    "a number": Answer(200, "42"),
    "a text": Answer(200, '"ok"'),
    "not JSON": Answer(200, "ok"),
    "nothing": Answer(200, b""),
    "deep nesting": Answer(200, "[" * 200_000),
    "bytes": Answer(200, b"\xff\xfe\x00"),
    "a page": Answer(200, "<html>hello</html>", {"Content-Type": "text/html"}),
    "created": Answer(201, {"created": True}),
    "accepted": Answer(202, {"accepted": True}),
    "a redirect": Answer(302, "", {"Location": "/login"}),
    "no page": Answer(404, "<html>not found</html>", {"Content-Type": "text/html"}),
    "a problem of another service": Answer(404, {"detail": "Not Found"}),
    "a problem without shape": Answer(400, {"title": ["x"], "errors": 5, "detail": {}}),
    "a problem with odd errors": Answer(422, {"title": "no", "errors": [{"a": 1}, 2]}),
    "an error": Answer(500, "oops", {"Content-Type": "text/plain"}),
    "a wrong encoding": Answer(200, b"no gzip", {**JSON, "Content-Encoding": "gzip"}),
    "compressed": Answer(200, gzip.compress(b"[]"), {**JSON, "Content-Encoding": "gzip"}),
    "an unknown charset": Answer(200, "{}", {"Content-Type": "application/json; charset=x"}),
    "an odd stream": Answer(
        200, "id: 1\nevent: x\ndata: {}\n\n", {"Content-Type": "text/event-stream"}
    ),
}


COMMON = ("an empty object", "another object", "an empty list", "a page", "accepted")
KINDS_OF_CALLS = ("list", "show --json", "watch", "delete", "patch", "doctor")
"""Calls that read a list, an object, a stream, no body or a file, and calls that continue without a
service.
"""
ODD = (7, "x", [], {}, True, [[1]], -1.5, None)
MOST_CHANGES = 8
"""The number of changes of one answer, for each call."""
PATCH = b"diff --git a/a.py b/a.py\n"
AUDIT_LINE = (
    b'{"seq":1,"at":"2026-11-21T12:00:00.000Z","tenant":"acme","kind":"signed_in",'
    b'"actor":{"name":"ada","key_id":"k1","person":"Ada"},"data":{},"prev":"0","hash":"1"}\n'
)


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    """No settings of this machine; a folder in which commands may write."""
    for name in [name for name in os.environ if name.startswith("FETTLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FETTLE_CONFIG", "")
    monkeypatch.setattr("cli.doctor.machine.findings", lambda _settings: ())
    monkeypatch.setattr("ssl.create_default_context", cache(ssl.create_default_context))
    monkeypatch.chdir(tmp_path)


def test_a_fault_of_a_command_is_not_blamed_on_the_service():
    with pytest.raises(TypeError), Service("http://127.0.0.1:9", "key"):
        raise TypeError("a fault of our own")


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        (("review", "payload", "plan"), 7),
        (("review", "payload", "runs", 0, "code"), "x"),
        (("review", "payload", "choices"), []),
        (("created_at",), "x"),
        (("cost", "total", "cost_usd"), "x"),
    ],
)
def test_a_job_with_a_value_of_another_type_is_refused(path, odd):
    good = GoodService()
    with serving(good.answer) as server, Service(server.url, "key") as service:
        job = service.job(JOB)
        good.changed = (f"GET /jobs/{JOB}", replaced(job, path, odd))
        with pytest.raises(NotFettle, match="wrong field"):
            service.job(JOB)


@pytest.mark.parametrize(
    ("field", "odd"), [("seq", "x"), ("at", "x"), ("kind", []), ("data", 7), ("kind", 1)]
)
def test_an_event_with_a_value_of_another_type_is_refused(field, odd):
    event = {"seq": 1, "at": AT, "kind": "of a later release", "data": {}}
    source = AnswerSource("http://x", "GET", "/jobs/1/events")
    assert read_event(source, json.dumps(event)).kind == "of a later release"
    with pytest.raises(NotFettle):
        read_event(source, json.dumps({**event, field: odd}))


def leaves(name: str, command: click.Command) -> Iterator[str]:
    if isinstance(command, click.Group):
        for sub in command.commands:
            yield f"{name} {sub}"
    else:
        yield name


def test_every_command_that_calls_a_service_is_tried():
    context = click.Context(fettle)
    names = [name for section in SECTIONS for name in section.commands if name not in LOCAL]
    calls = [leaf for name in names for leaf in leaves(name, fettle.get_command(context, name))]
    assert set(calls) - {"audit verify"} <= CALLS.keys()


@pytest.mark.parametrize("call", CALLS)
def test_another_service_is_named_in_one_sentence(call, capsys):
    names = STRANGE if call in KINDS_OF_CALLS else COMMON
    strange: list[Answer] = []
    with serving(lambda _asked: strange[-1]) as service:
        for name in names:
            if (call, name) == ("patch", "nothing"):  # a job may not have changed any file
                continue
            strange.append(STRANGE[name])
            code = run(["--url", service.url, *CALLS[call]])
            out, err = capsys.readouterr()
            assert "Traceback" not in out + err, name
            if call == "doctor" and code == 1:  # the command continues with this machine
                assert "is not Fettle" in out, (name, out, err)
                continue
            assert code in (1, 2, NOT_REACHABLE), (name, out, err)
            assert err.startswith("error: "), (name, out, err)
            assert out == "", (name, out)


def sample(schema: dict[str, Any], components: dict[str, Any]) -> Any:
    """An example of a schema, with every property."""
    if "$ref" in schema:
        return sample(components[schema["$ref"].rpartition("/")[2]], components)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[-1])
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], components)
    match schema.get("type"):
        case "object":
            more = schema.get("additionalProperties")
            extra_fields = {"k": more} if isinstance(more, dict) else {}
            extra_fields |= schema.get("properties", {})
            return {name: sample(field, components) for name, field in extra_fields.items()}
        case "array":
            return [sample(schema["items"], components)]
        case "string":
            return AT if schema.get("format") == "date-time" else "1"
        case kind:
            least = schema.get("minimum", 0)
            return {"integer": least, "number": least, "boolean": True}.get(kind, {})


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value below a JSON value."""
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, item in items:
        yield (*path, key)
        yield from nodes(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    content = copy.deepcopy(value)
    parent = content
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = odd
    return content


class GoodService:
    """Answers as the API's description says, with every field; then with one value replaced."""

    def __init__(self) -> None:
        described = create_app(ApiSettings()).openapi()
        self._components = described["components"]["schemas"]
        self._paths = {
            re.compile(re.sub(r"\\\{[^/]+\\\}", "[^/]+", re.escape(path)) + "$"): operations
            for path, operations in described["paths"].items()
        }
        self.calls: dict[str, Any] = {}
        self.changed: tuple[str, Any] | None = None

    def answer(self, request: ReceivedRequest) -> Answer:
        path = request.path.partition("?")[0]
        call = f"{request.method} {path}"
        if path == "/audit":
            return Answer(200, AUDIT_LINE, {"Content-Type": "application/jsonl"})
        status, content = self._good(request.method, path)
        self.calls[call] = content
        if self.changed and self.changed[0] == call:
            content = self.changed[1]
        if path.endswith("/events"):
            sent = (f"id: {e['seq']}\ndata: {json.dumps(e)}\n\n" for e in content["events"])
            return Answer(200, "".join(sent), {"Content-Type": "text/event-stream"})
        return Answer(status, content, {"X-Total-Count": "1"})

    def _good(self, method: str, path: str) -> tuple[int, Any]:
        if path.endswith("/events"):
            events = [
                {"seq": seq, "at": AT, "kind": kind, "data": data}
                for seq, (kind, data) in enumerate(EXAMPLES.items(), start=1)
                if kind not in ("failed", "cancelled")
            ]
            last = {"seq": len(events) + 1, "at": AT, "kind": "failed", "data": EXAMPLES["failed"]}
            return 200, {"events": [e for e in events if e["kind"] != "succeeded"] + [last]}
        (operation,) = (
            of[method.lower()] for route, of in self._paths.items() if route.match(path)
        )
        status, response = next((s, r) for s, r in operation["responses"].items() if s < "3")
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return int(status), PATCH if path.endswith("/patch") else b""
        content = sample(schema, self._components)
        return int(status), content


@pytest.mark.parametrize("call", CALLS)
def test_a_value_of_another_type_ends_in_one_sentence(call, capsys):
    """Values of good answers are replaced, one at a time."""
    good = GoodService()
    with serving(good.answer) as service:
        argv = ["--url", service.url, *CALLS[call]]
        code = run(argv)
        out, err = capsys.readouterr()
        assert code in (0, 1, 5), (code, out, err)
        assert "is not Fettle" not in out + err
        for request_line, content in list(good.calls.items()):
            paths = list(nodes(content)) if isinstance(content, dict) else []
            paths = [path for path in paths if len(path) > 2 or path[0] != "events"]
            for number, path in enumerate(paths[:: len(paths) // MOST_CHANGES + 1]):
                odd = ODD[number % len(ODD)]
                good.changed = (request_line, replaced(content, path, odd))
                code = run(argv)
                out, err = capsys.readouterr()
                assert "Traceback" not in out + err, (request_line, path, odd)
                if code == NOT_REACHABLE:
                    assert err.startswith("error: the server at"), (request_line, path, odd, err)
