"""A browser without scripts, with cookies and form tokens, for tests of the pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI

from settings.base import DEVELOPMENT_KEY

HTML = {"Accept": "text/html"}


@dataclass
class Visit:
    """One visitor's browser."""

    http: httpx.AsyncClient
    token: str = field(default="", repr=False)

    async def sign_in(self, key: str = DEVELOPMENT_KEY, **more: str) -> httpx.Response:
        """Sign in with the form, and use the form token of the first page."""
        answer = await self.http.post("/app/sign-in", data={"key": key, **more})
        if answer.status_code == 303:
            self.token = form_token((await self.http.get("/app")).text)
        return answer

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.http.get(path, **more)

    async def post(self, path: str, **more: Any) -> httpx.Response:
        """Post as htmx does."""
        headers = {"X-Form-Token": self.token, "HX-Request": "true"}
        return await self.http.post(path, headers=headers, **more)


@asynccontextmanager
async def browser(app: FastAPI, scheme: str = "http") -> AsyncIterator[httpx.AsyncClient]:
    """A client that keeps cookies and asks for HTML."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    address = f"{scheme}://fettle.test"
    async with httpx.AsyncClient(transport=transport, base_url=address, headers=HTML) as client:
        yield client


@asynccontextmanager
async def visiting(app: FastAPI, key: str = DEVELOPMENT_KEY) -> AsyncIterator[Visit]:
    """A visitor who has signed in."""
    async with browser(app) as client:
        visit = Visit(client)
        assert (await visit.sign_in(key)).status_code == 303
        yield visit


def form_token(html: str) -> str:
    """The form token that each post of a page contains; '' if no user is signed in."""
    match = re.search(r'"X-Form-Token": "([^"]+)"', html.replace("&#34;", '"'))
    return match.group(1) if match else ""
