"""A small real HTTP server that sends the scripted answers of a test, in the shapes of the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.servers.web_server import listening


@dataclass
class ReceivedRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class TinyService:
    """Answers by path from lists: the last answer of a list is repeated."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[ReceivedRequest] = field(default_factory=list)

    def on(self, call: str, *answers: Answer) -> None:
        self.answers[call] = list(answers)

    def answer(self, request: ReceivedRequest) -> Answer:
        self.requests.append(request)
        scripted = self.answers.get(f"{request.method} {request.path.partition('?')[0]}")
        if not scripted:
            return problem(404, "Not found")
        return scripted.pop(0) if len(scripted) > 1 else scripted[0]


def problem(status: int, title: str, detail: str = "", **more: Any) -> Answer:
    body = {"type": "/problems/x", "title": title, "status": status, "detail": detail, **more}
    headers = {"Content-Type": "application/problem+json", "Retry-After": "1"}
    return Answer(status, {"retryable": False, **body}, headers)


def event(seq: int, kind: str, /, **data: Any) -> str:
    event = {"seq": seq, "at": "2026-11-21T12:00:00.000Z", "kind": kind, "data": data}
    return f"id: {seq}\nevent: {kind}\ndata: {json.dumps(event)}\n\n"


def stream(*events: str) -> Answer:
    return Answer(200, "".join(events), {"Content-Type": "text/event-stream"})


@contextmanager
def serving(answer: Callable[[ReceivedRequest], Answer] | None = None) -> Iterator[TinyService]:
    """Run the server until the block ends; `answer` replaces the scripted answers."""
    service = TinyService("")
    with listening(_handler(answer or service.answer)) as port:
        service.url = f"http://127.0.0.1:{port}"
        yield service


def _handler(answer: Callable[[ReceivedRequest], Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body in one segment: a second segment waits for an acknowledgement

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = _read(headers.get("content-type", ""), text)
            answered = answer(ReceivedRequest(self.command, self.path, headers, body))
            raw = (
                answered.body if isinstance(answered.body, bytes) else _text(answered.body).encode()
            )
            self.send_response(answered.status)
            for name, value in {"Content-Type": "application/json", **answered.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _read(content_type: str, text: bytes) -> Any:
    """Parse a JSON body. For a form, return the JSON of its part `job`, and add the form's
    `files`.
    """
    if not content_type.startswith("multipart/form-data"):
        return json.loads(text) if text else None
    form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + text)
    parts = [
        (part.get_param("name", header="content-disposition"), part.get_filename(), content)
        for part in form.get_payload()
        if (content := part.get_payload(decode=True)) is not None
    ]
    (job,) = (content for name, _, content in parts if name == "job")
    files = {path: content for name, path, content in parts if name == "files"}
    bundles = {name: content for name, _, content in parts if name == "bundle"}
    return {**json.loads(job), **({"files": files} if files else {}), **bundles}


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)


JOB = {
    "id": "j1",
    "status": "succeeded",
    "spec": {"task": "Sort a list"},
    "conversation_id": "j1",
    "plan": {"steps": ["Write it", "Test it"], "source": "model", "note": None},
    "runs": [],
    "critique": None,
    "critiques": [],
    "decisions": [],
    "review": None,
    "result": {"answer": "It is sorted.", "approved_by": "critic", "override": False,
               "artifacts": []},
    "artifacts": [],
    "reason": None,
    "detail": "",
    "cost": {"roles": {}, "total": {"calls": 3, "input_tokens": 1000, "output_tokens": 234,
                                    "cost_usd": "0.00123", "known_usd": "0.00123"}},
    "created_at": "2026-11-21T12:00:00.000Z",
    "finished_at": "2026-11-21T12:00:05.000Z",
    "ran_seconds": 4.5,
    "last_event": 0,
}  # fmt: skip


def job(**changes: Any) -> dict[str, Any]:
    """A job in the shape of `GET /jobs/{id}`, with these fields changed."""
    return {**json.loads(json.dumps(JOB)), **changes}
