"""The calls of GitHub's and GitLab's API that open a request, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Answered = tuple[int, Any, Mapping[str, str]]
PATH = "team/app"


@dataclass
class ForgeApi:
    """A forge with one repository, `team/app`, and one request per branch. It requires `token`.
    `trouble` may answer instead of the forge; it receives the method, and the moment `before` or
    `after` the call has had its effect.
    """

    kind: str
    authority: str
    token: str
    trouble: Callable[[str, str], Answered | None] = lambda _method, _moment: None
    opened: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answered:
        self.requests.append(f"{method} {path}")
        if (status := self.trouble(method, "before")) is not None:
            return status
        with self.lock:
            kind = self._gitlab if self.kind == "gitlab" else self._github
            answer = kind(method, path, headers, body)
        return self.trouble(method, "after") or answer

    def _github(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answered:
        if headers.get("authorization") != f"Bearer {self.token}":
            return 401, {"message": "Bad credentials"}, {}
        url = urlsplit(path)
        if url.path != f"/api/v3/repos/{PATH}/pulls":
            return 404, {"message": "Not Found"}, {}
        if method == "GET":
            owner, _, branch = parse_qs(url.query)["head"][0].partition(":")
            assert owner == "team"
            return 200, [request for request in self.opened if request["head"]["ref"] == branch], {}
        sent = json.loads(body)
        if any(request["head"]["ref"] == sent["head"] for request in self.opened):
            return 422, {"message": "Validation Failed", "errors": [{"message": "exists"}]}, {}
        number = len(self.opened) + 1
        address = f"http://{self.authority}/{PATH}/pull/{number}"
        self.opened.append(
            {**sent, "head": {"ref": sent["head"]}, "html_url": address, "number": number}
        )
        return 201, self.opened[-1], {}

    def _gitlab(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answered:
        if headers.get("private-token") != self.token:
            return 401, {"message": "401 Unauthorized"}, {}
        url = urlsplit(path)
        if url.path != f"/api/v4/projects/{PATH.replace('/', '%2F')}/merge_requests":
            return 404, {"message": "404 Project Not Found"}, {}
        if method == "GET":
            branch = unquote(parse_qs(url.query)["source_branch"][0])
            return (
                200,
                [request for request in self.opened if request["source_branch"] == branch],
                {},
            )
        sent = json.loads(body)
        if any(request["source_branch"] == sent["source_branch"] for request in self.opened):
            return 409, {"message": ["Another open merge request already exists"]}, {}
        number = len(self.opened) + 1
        address = f"http://{self.authority}/{PATH}/-/merge_requests/{number}"
        self.opened.append({**sent, "web_url": address, "iid": number})
        return 201, self.opened[-1], {}
