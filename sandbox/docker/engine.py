"""The calls of an engine's API that sandboxes need, each a line of its reference.

Whatever an engine cannot do is SandboxUnavailable, in its own words.

Why: docs/decisions/0049-own-calls-of-the-engine.md
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode

from sandbox.docker import exchange
from sandbox.docker.address import Address, Connection
from sandbox.docker.exchange import EventStream, NoAnswer, Refused, Response
from sandbox.pool import SandboxLost
from sandbox.protocol import SandboxUnavailable

NEWEST_API = (1, 51)
"""What this was written against, and oldest: Docker 20.10. In between, the engine's newest."""
OLDEST_API = (1, 41)
_SECONDS = 30.0
_PING_SECONDS = 10.0
_IMAGE_SECONDS = 300.0
"""For half a GiB on its way into an image."""


class EngineLost(SandboxLost):
    """The engine does not answer."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine says of itself."""

    version: str
    api: str
    kernel: str
    runtimes: tuple[str, ...]
    security: tuple[str, ...]
    """As it names them: seccomp, apparmor, rootless, userns, ..."""
    bounds: frozenset[str]
    """Of memory, swap, pids, cpu: those that it can hold a container to."""


@dataclass(frozen=True, slots=True)
class ListedContainer:
    """A container as the engine lists it; its age in seconds."""

    id: str
    labels: Mapping[str, str]
    age: float


@dataclass(frozen=True, slots=True)
class ListedImage:
    """An image as the engine lists it; its age in seconds."""

    id: str
    labels: Mapping[str, str]
    age: float


@dataclass(frozen=True, slots=True)
class Events:
    """A stream of events, and when it began, by the engine's own clock."""

    lines: EventStream
    began: int


class Engine:
    """One engine, spoken to in the newest version of the API that both sides know."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._api = ""
        self._calls: set[asyncio.Timeout] = set()
        self._dropped = False

    async def open(self) -> None:
        """Agree on a version. Raises EngineLost where nobody answers, SandboxUnavailable where
        what answers is too old.
        """
        answer = await self._ask("GET", "/_ping", seconds=_PING_SECONDS, versioned=False)
        try:
            major, minor = map(int, answer.fields["api-version"].split("."))
        except (KeyError, ValueError):
            raise SandboxUnavailable(f"{self.address} is no Docker engine") from None
        if (major, minor) < OLDEST_API:
            raise SandboxUnavailable(
                f"the engine at {self.address} speaks version {major}.{minor} of its API; "
                "1.41 (Docker 20.10) or newer is needed"
            )
        self._api = "{}.{}".format(*min((major, minor), NEWEST_API))

    async def answers(self) -> bool:
        """Whether the engine is there, at this moment."""
        try:
            await self._ask("GET", "/_ping", seconds=_PING_SECONDS, versioned=False)
        except EngineLost:
            return False
        return True

    def drop(self) -> None:
        """Give it up: calls that are open, and all later ones, end at once as EngineLost. What was
        attached to, and events, are hung up by who has them.
        """
        self._dropped = True
        while self._calls:
            self._calls.pop().reschedule(asyncio.get_running_loop().time())

    async def facts(self) -> Facts:
        """What it says of itself."""
        answer = self._fields(await self._expect("GET", "/info"))
        flags = {"MemoryLimit": "memory", "SwapLimit": "swap", "PidsLimit": "pids"}
        bounds = {word for flag, word in flags.items() if answer.get(flag)}
        bounds |= {"cpu"} if answer.get("CpuCfsQuota") else set()
        options = (each.removeprefix("name=") for each in answer.get("SecurityOptions") or ())
        return Facts(
            version=str(answer.get("ServerVersion", "?")),
            api=self._api,
            kernel=str(answer.get("KernelVersion", "?")),
            runtimes=tuple(sorted(answer.get("Runtimes") or ())),
            security=tuple(option.partition(",")[0] for option in options),
            bounds=frozenset(bounds),
        )

    async def image(self, name: str) -> Mapping[str, Any] | None:
        """What it knows of an image; None where it has none of this name."""
        response = await self._ask("GET", f"/images/{quote(name, safe='/:@')}/json")
        if response.status == 404:
            return None
        return self._fields(self._checked(response, "/images"))

    async def images(self, label: str) -> tuple[ListedImage, ...]:
        """All images with a label."""
        filters = urlencode({"filters": json.dumps({"label": [label]})})
        answer = await self._expect("GET", f"/images/json?{filters}")
        if not isinstance(answer.body, list):
            raise self._cut()
        now = _date(answer.fields)
        return tuple(
            ListedImage(str(each["Id"]), dict(each["Labels"]), now - float(each["Created"]))
            for each in answer.body
        )

    async def remove_image(self, image: str) -> None:
        """Remove an image with its names, unless a container has it."""
        response = await self._ask("DELETE", f"/images/{quote(image, safe='/:@')}?force=0")
        if response.status not in {404, 409}:
            self._checked(response, "an image's removal")

    async def extract(self, container: str, parts: AsyncIterator[bytes]) -> None:
        """Extract a tar archive into a container that was made and not started."""
        path = f"/containers/{container}/archive?path=/"
        async with self._call(path):
            response = await exchange.upload(
                self.address, self._path(path), parts, seconds=_IMAGE_SECONDS
            )
        self._checked(response, "/containers/archive")

    async def commit(self, container: str, tag: str, labels: Mapping[str, str]) -> None:
        """Make an image of a container, with these labels."""
        repository, _, version = tag.partition(":")
        query = urlencode({"container": container, "repo": repository, "tag": version})
        body = {"Labels": dict(labels)}
        self._checked(
            await self._ask("POST", f"/commit?{query}", body, seconds=_IMAGE_SECONDS), "/commit"
        )

    async def create(self, body: Mapping[str, Any], name: str) -> str | None:
        """Make a container; returns its id, or None where another has the name."""
        response = await self._ask("POST", f"/containers/create?{urlencode({'name': name})}", body)
        if response.status == 409:
            return None
        return str(self._fields(self._checked(response, "/containers/create"))["Id"])

    async def attach(self, container: str) -> Connection:
        """A made container's streams, in both directions."""
        path = f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        async with self._call(path):
            return await exchange.hijack(self.address, self._path(path), seconds=_SECONDS)

    async def execute(self, container: str, command: Sequence[str]) -> Connection:
        """Start a program in a running container; its streams, in both directions. It ends when
        they are closed, if it minds its input.
        """
        attached = {f"Attach{name}": True for name in ("Stdin", "Stdout", "Stderr")}
        body = {**attached, "Tty": False, "Cmd": list(command)}
        made = self._fields(await self._expect("POST", f"/containers/{container}/exec", body))
        path = f"/exec/{made['Id']}/start"
        async with self._call(path):
            body = {"Detach": False, "Tty": False}
            return await exchange.hijack(self.address, self._path(path), body, seconds=_SECONDS)

    async def start(self, container: str) -> None:
        """Start it."""
        await self._expect("POST", f"/containers/{container}/start")

    async def remove(self, container: str) -> None:
        """Kill it and remove it; returns when it is gone."""
        response = await self._ask("DELETE", f"/containers/{container}?force=1&v=1")
        if response.status == 409:  # it has ended, and the engine is at it
            try:
                await self._ask("POST", f"/containers/{container}/wait?condition=removed")
            except EngineLost as error:  # it answers, but has a container that it cannot get rid of
                raise SandboxUnavailable("the engine did not finish a removal") from error
        elif response.status != 404:
            self._checked(response, "removal")

    async def containers(self, label: str) -> tuple[ListedContainer, ...]:
        """All containers with a label, running or not."""
        filters = urlencode({"all": "1", "filters": json.dumps({"label": [label]})})
        answer = await self._expect("GET", f"/containers/json?{filters}")
        if not isinstance(answer.body, list):
            raise self._cut()
        now = _date(answer.fields)
        return tuple(
            ListedContainer(str(each["Id"]), dict(each["Labels"]), now - float(each["Created"]))
            for each in answer.body
        )

    async def events(self, label: str, kinds: Sequence[str], since: int | None = None) -> Events:
        """The events of these kinds, of containers with a label, from now on; or `since` a
        time before, as far back as the engine remembers them.
        """
        filters = {"type": ["container"], "event": [*kinds], "label": [label]}
        query = {"filters": json.dumps(filters)} | ({} if since is None else {"since": f"{since}"})
        path = f"/events?{urlencode(query)}"
        async with self._call(path):
            lines = await exchange.follow(self.address, self._path(path), seconds=_SECONDS)
        try:
            return Events(lines, _date(lines.fields))
        except SandboxUnavailable:
            lines.close()
            raise

    async def _expect(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> Response:
        return self._checked(await self._ask(method, path, body), path)

    def _checked(self, response: Response, what: str) -> Response:
        if response.status < 300:
            return response
        raise self._refusal(response, what)

    def _refusal(self, response: Response, what: str) -> SandboxUnavailable:
        return SandboxUnavailable(
            f"the engine at {self.address} refused {what.partition('?')[0]} "
            f"({response.status}): {response.message}"
        )

    def _fields(self, response: Response) -> Mapping[str, Any]:
        """A body that is an object; without a length, nothing else shows that it was cut."""
        if not isinstance(response.body, dict):
            raise self._cut()
        return response.body

    def _cut(self) -> EngineLost:
        return EngineLost(_lost(NoAnswer(f"{self.address}: an answer that is not an engine's")))

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = _SECONDS,
        versioned: bool = True,
    ) -> Response:
        where = self._path(path) if versioned else path
        async with self._call(path):
            return await exchange.ask(self.address, method, where, body, seconds=seconds)

    @asynccontextmanager
    async def _call(self, path: str) -> AsyncIterator[None]:
        """One exchange, until it ends or is cut by `drop`; an error in it is described
        for who runs something.
        """
        if self._dropped:
            raise self._given_up()
        try:
            async with asyncio.timeout(None) as call:  # which `drop` alone lets run out
                self._calls.add(call)
                try:
                    yield
                finally:
                    self._calls.discard(call)
        except TimeoutError:
            raise self._given_up() from None
        except NoAnswer as error:
            raise EngineLost(_lost(error)) from error
        except Refused as error:
            raise self._refusal(error.response, path) from error

    def _given_up(self) -> EngineLost:
        return EngineLost(f"the engine at {self.address} was given up")

    def _path(self, path: str) -> str:
        return f"/v{self._api}{path}"


def _date(fields: Mapping[str, str]) -> int:
    """When a response was made, by the engine's own clock, in whole seconds."""
    try:
        return int(parsedate_to_datetime(fields["date"]).timestamp())
    except (KeyError, ValueError):
        raise SandboxUnavailable("the engine's answers have no date") from None


def _lost(error: NoAnswer) -> str:
    return (
        f"no Docker engine answers: {error}. Is it running, and may this user speak to it? "
        "FETTLE_SANDBOX_ENGINE names another"
    )
