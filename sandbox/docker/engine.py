"""The calls of an engine's API that sandboxes need.

If an engine refuses a call, the SandboxUnavailable contains the engine's error text.

See ADR 49.
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
from sandbox.docker.connection import EngineAddress, EngineConnection
from sandbox.docker.exchange import EngineResponse, EventStream, NoAnswer, RequestRefused
from sandbox.pool import SandboxLost
from sandbox.protocol import SandboxUnavailable

NEWEST_API = (1, 51)
"""The version of the API that this module was written for."""
OLDEST_API = (1, 41)
"""The version of Docker 20.10. The calls use the engine's newest version between the two."""
_SECONDS = 30.0
_PING_SECONDS = 10.0
_IMAGE_SECONDS = 300.0
"""The time limit for requests that may transfer half a GiB into an image."""


class EngineLost(SandboxLost):
    """The engine does not answer."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """The facts that an engine reports about itself."""

    version: str
    api: str
    kernel: str
    runtimes: tuple[str, ...]
    security: tuple[str, ...]
    """By the engine's names: seccomp, apparmor, rootless, userns, ..."""
    limitable: frozenset[str]
    """The resources (memory, swap, pids, cpu) that the engine can limit for a container."""


@dataclass(frozen=True, slots=True)
class ListedContainer:
    """A container in a list of the engine."""

    id: str
    labels: Mapping[str, str]
    age: float
    """The age in seconds."""


@dataclass(frozen=True, slots=True)
class ListedImage:
    """An image in a list of the engine."""

    id: str
    labels: Mapping[str, str]
    age: float
    """The age in seconds."""


@dataclass(frozen=True, slots=True)
class ContainerEvents:
    """A stream of events of containers."""

    stream: EventStream
    started_at: int
    """When the stream began, in seconds by the engine's clock."""


class DockerEngine:
    """One engine. Calls use the newest version of the API that both sides have."""

    def __init__(self, address: EngineAddress) -> None:
        self.address = address
        self._api = ""
        self._open_calls: set[asyncio.Timeout] = set()
        self._is_dropped = False

    async def open(self) -> None:
        """Agree on a version of the API. Raises EngineLost if no engine answers, SandboxUnavailable
        if the engine is too old.
        """
        response = await self._request("GET", "/_ping", seconds=_PING_SECONDS, versioned=False)
        try:
            major, minor = map(int, response.fields["api-version"].split("."))
        except (KeyError, ValueError):
            raise SandboxUnavailable(f"{self.address} is not a Docker engine") from None
        if (major, minor) < OLDEST_API:
            raise SandboxUnavailable(
                f"the engine at {self.address} speaks version {major}.{minor} of its API; "
                "1.41 (Docker 20.10) or newer is needed"
            )
        self._api = "{}.{}".format(*min((major, minor), NEWEST_API))

    async def answers(self) -> bool:
        """Whether the engine answers now."""
        try:
            await self._request("GET", "/_ping", seconds=_PING_SECONDS, versioned=False)
        except EngineLost:
            return False
        return True

    def drop(self) -> None:
        """End all open and later calls at once with EngineLost. The callers close the connections
        of `attach`, `execute` and `events`.
        """
        self._is_dropped = True
        while self._open_calls:
            self._open_calls.pop().reschedule(asyncio.get_running_loop().time())

    async def facts(self) -> EngineFacts:
        """The facts that the engine reports about itself."""
        info = self._require_object(await self._request_ok("GET", "/info"))
        flags = {"MemoryLimit": "memory", "SwapLimit": "swap", "PidsLimit": "pids"}
        limitable = {word for flag, word in flags.items() if info.get(flag)}
        limitable |= {"cpu"} if info.get("CpuCfsQuota") else set()
        options = (option.removeprefix("name=") for option in info.get("SecurityOptions") or ())
        return EngineFacts(
            version=str(info.get("ServerVersion", "?")),
            api=self._api,
            kernel=str(info.get("KernelVersion", "?")),
            runtimes=tuple(sorted(info.get("Runtimes") or ())),
            security=tuple(option.partition(",")[0] for option in options),
            limitable=frozenset(limitable),
        )

    async def image(self, name: str) -> Mapping[str, Any] | None:
        """The engine's description of an image; None if it has no image of this name."""
        response = await self._request("GET", f"/images/{quote(name, safe='/:@')}/json")
        if response.status == 404:
            return None
        return self._require_object(self._require_ok(response, "/images"))

    async def images(self, label: str) -> tuple[ListedImage, ...]:
        """All images with a label."""
        filters = urlencode({"filters": json.dumps({"label": [label]})})
        response = await self._request_ok("GET", f"/images/json?{filters}")
        if not isinstance(response.body, list):
            raise self._cut_response()
        now = _date(response.fields)
        return tuple(
            ListedImage(str(row["Id"]), dict(row["Labels"]), now - float(row["Created"]))
            for row in response.body
        )

    async def remove_image(self, image: str) -> None:
        """Remove an image with its names, unless a container uses it."""
        response = await self._request("DELETE", f"/images/{quote(image, safe='/:@')}?force=0")
        if response.status not in {404, 409}:
            self._require_ok(response, "an image's removal")

    async def extract(self, container: str, parts: AsyncIterator[bytes]) -> None:
        """Extract a tar archive into a container that was not started."""
        path = f"/containers/{container}/archive?path=/"
        async with self._call(path):
            response = await exchange.upload(
                self.address, self._path(path), parts, seconds=_IMAGE_SECONDS
            )
        self._require_ok(response, "/containers/archive")

    async def commit(self, container: str, tag: str, labels: Mapping[str, str]) -> None:
        """Make an image of a container, with these labels."""
        repository, _, version = tag.partition(":")
        query = urlencode({"container": container, "repo": repository, "tag": version})
        body = {"Labels": dict(labels)}
        response = await self._request("POST", f"/commit?{query}", body, seconds=_IMAGE_SECONDS)
        self._require_ok(response, "/commit")

    async def create(self, body: Mapping[str, Any], name: str) -> str | None:
        """Make a container; returns its id, or None if another container has the name."""
        path = f"/containers/create?{urlencode({'name': name})}"
        response = await self._request("POST", path, body)
        if response.status == 409:
            return None
        return str(self._require_object(self._require_ok(response, "/containers/create"))["Id"])

    async def attach(self, container: str) -> EngineConnection:
        """Open the streams of a container in both directions."""
        path = f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        async with self._call(path):
            return await exchange.hijack(self.address, self._path(path), seconds=_SECONDS)

    async def execute(self, container: str, command: Sequence[str]) -> EngineConnection:
        """Start a program in a running container; returns its streams in both directions. To close
        them ends the program, if it reads its input.
        """
        attached = {f"Attach{name}": True for name in ("Stdin", "Stdout", "Stderr")}
        body = {**attached, "Tty": False, "Cmd": list(command)}
        path = f"/containers/{container}/exec"
        execution = self._require_object(await self._request_ok("POST", path, body))
        path = f"/exec/{execution['Id']}/start"
        async with self._call(path):
            body = {"Detach": False, "Tty": False}
            return await exchange.hijack(self.address, self._path(path), body, seconds=_SECONDS)

    async def start(self, container: str) -> None:
        """Start a container."""
        await self._request_ok("POST", f"/containers/{container}/start")

    async def remove(self, container: str) -> None:
        """Kill and remove a container, and wait for the end of its removal."""
        response = await self._request("DELETE", f"/containers/{container}?force=1&v=1")
        if response.status == 409:  # it has ended, and the engine removes it already
            try:
                await self._request("POST", f"/containers/{container}/wait?condition=removed")
            except EngineLost as error:  # the engine works, but cannot remove this container
                raise SandboxUnavailable("the engine did not finish a removal") from error
        elif response.status != 404:
            self._require_ok(response, "removal")

    async def containers(self, label: str) -> tuple[ListedContainer, ...]:
        """All containers with a label, running or not."""
        filters = urlencode({"all": "1", "filters": json.dumps({"label": [label]})})
        response = await self._request_ok("GET", f"/containers/json?{filters}")
        if not isinstance(response.body, list):
            raise self._cut_response()
        now = _date(response.fields)
        return tuple(
            ListedContainer(str(row["Id"]), dict(row["Labels"]), now - float(row["Created"]))
            for row in response.body
        )

    async def events(
        self, label: str, kinds: Sequence[str], since: int | None = None
    ) -> ContainerEvents:
        """Follow the events of these kinds of containers with a label, from now on, or from a time
        `since` as far as the engine has stored them.
        """
        filters = {"type": ["container"], "event": [*kinds], "label": [label]}
        query = {"filters": json.dumps(filters)} | ({} if since is None else {"since": f"{since}"})
        path = f"/events?{urlencode(query)}"
        async with self._call(path):
            stream = await exchange.follow(self.address, self._path(path), seconds=_SECONDS)
        try:
            return ContainerEvents(stream, _date(stream.fields))
        except SandboxUnavailable:
            stream.close()
            raise

    async def _request_ok(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> EngineResponse:
        return self._require_ok(await self._request(method, path, body), path)

    def _require_ok(self, response: EngineResponse, call: str) -> EngineResponse:
        if response.status < 300:
            return response
        raise self._refusal(response, call)

    def _refusal(self, response: EngineResponse, call: str) -> SandboxUnavailable:
        return SandboxUnavailable(
            f"the engine at {self.address} refused {call.partition('?')[0]} "
            f"({response.status}): {response.message}"
        )

    def _require_object(self, response: EngineResponse) -> Mapping[str, Any]:
        """The body, which must be a JSON object. A response that was cut has no such body."""
        if not isinstance(response.body, dict):
            raise self._cut_response()
        return response.body

    def _cut_response(self) -> EngineLost:
        return EngineLost(_describe(NoAnswer(f"{self.address}: the response is not an engine's")))

    async def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = _SECONDS,
        versioned: bool = True,
    ) -> EngineResponse:
        full_path = self._path(path) if versioned else path
        async with self._call(path):
            return await exchange.request(self.address, method, full_path, body, seconds=seconds)

    @asynccontextmanager
    async def _call(self, path: str) -> AsyncIterator[None]:
        """One call, until it ends or `drop` cuts it. Converts errors to SandboxUnavailable with a
        text for the operator.
        """
        if self._is_dropped:
            raise self._dropped_error()
        try:
            async with asyncio.timeout(None) as call:  # only `drop` lets it expire
                self._open_calls.add(call)
                try:
                    yield
                finally:
                    self._open_calls.discard(call)
        except TimeoutError:
            raise self._dropped_error() from None
        except NoAnswer as error:
            raise EngineLost(_describe(error)) from error
        except RequestRefused as error:
            raise self._refusal(error.response, path) from error

    def _dropped_error(self) -> EngineLost:
        return EngineLost(f"the connection to the engine at {self.address} was closed")

    def _path(self, path: str) -> str:
        return f"/v{self._api}{path}"


def _date(fields: Mapping[str, str]) -> int:
    """The date of a response by the engine's clock, in whole seconds."""
    try:
        return int(parsedate_to_datetime(fields["date"]).timestamp())
    except (KeyError, ValueError):
        raise SandboxUnavailable("the engine's answers have no date") from None


def _describe(error: NoAnswer) -> str:
    return (
        f"no Docker engine answers: {error}. Check that it is running and that this user may "
        "connect to it, or set FETTLE_SANDBOX_ENGINE to another engine"
    )
