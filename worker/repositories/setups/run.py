"""One run of a setup's command in a sandbox: its inputs, its network, and the reason of a failure.

A setup has one network: requests to a proxy go to the operator's indexes, and `PUT /layer`, which
no proxy request is, takes the result of the setup.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from agents.runs.report import ending
from sandbox.protocol import (
    MIB,
    PROXY_PORT,
    Command,
    End,
    Limits,
    RunResult,
    Sandbox,
    SandboxUnavailable,
)
from settings.repositories import RepositorySettings
from worker.egress.authority import Authority
from worker.egress.hosts import HostList
from worker.egress.proxy import Proxy
from worker.repositories.credentials import Credentials, basic, credentials
from worker.repositories.errors import SetupFailed, SetupUnavailable
from worker.repositories.setups.archive import NAME_BYTES
from worker.repositories.setups.inside import ENTRY

LEAVES = b"PUT /layer "
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length: (\d{1,18})\r\n")
_CHUNK = 1024 * 1024


@dataclass(slots=True)
class Door:
    """Answers the connections of one run. An archive of at most `most_bytes` is written to
    `archive`, in place of one before it, as a run that is made once more sends it; `whole`: all of
    it came; `failed`: why this machine's disk did not take it."""

    archive: Path
    most_bytes: int
    authority: Authority
    proxy: Proxy
    whole: bool = False
    failed: OSError | None = None
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    @asynccontextmanager
    async def to(
        cls,
        hosts: tuple[str, ...],
        credentials: Mapping[str, str],
        archive: Path,
        most_bytes: int,
        fetched_bytes: int,
    ) -> AsyncIterator[Door]:
        """One that leads to these hosts. Those that are named in full may be of an intranet."""
        authority = Authority()
        proxy = Proxy(
            HostList(hosts),
            fetched_bytes,
            private=True,
            authority=authority,
            credentials=credentials,
        )
        async with aclosing(proxy):
            yield cls(archive, most_bytes, authority, proxy)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection, and close it."""
        try:
            head = await reader.readuntil(_HEAD_END)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()
            return
        if not head.startswith(LEAVES):
            await self.proxy.answer(reader, writer, head)
            return
        try:
            status, said = await self._take(reader, head)
            text = said.encode()
            writer.write(b"HTTP/1.1 %b\r\nConnection: close\r\n" % status)
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended in the middle
        except OSError as error:
            self.failed = error
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _take(self, reader: asyncio.StreamReader, head: bytes) -> tuple[bytes, str]:
        length = _LENGTH.search(head)
        if length is None or (left := int(length[1])) > self.most_bytes:
            return b"413 Content Too Large", "it left more than is taken"
        async with self._taking:
            self.whole, self.failed = False, None
            with self.archive.open("wb") as file:
                while left:
                    left -= file.write(await reader.readexactly(min(left, _CHUNK)))
            self.whole = True
            return b"200 OK", ""


MOST_FILES = 60_000
MEMORY_BYTES = 2_048 * MIB
SPACE_BYTES = 1_024 * MIB
"""For what is installed, and what programs put aside meanwhile."""
FETCHED_TIMES = 2
"""So many times what may stay may be fetched: some of it is built, and thrown away."""
SAID_CHARACTERS = 3_000
_SCRATCH = ".setup/scratch"
_AT = f"/work/{_SCRATCH}"
_TRUSTS = (
    *("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO"),
)
_QUIET: Mapping[str, str] = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_NO_INPUT": "1",
    "PIP_PROGRESS_BAR": "off",
    "PIP_RETRIES": "2",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
}
_SETTINGS = {
    End.TIMEOUT: "FETTLE_SETUP_SECONDS",
    End.CPU: "FETTLE_SETUP_SECONDS",
    End.DISK: "FETTLE_SETUP_BYTES",
}


@dataclass(frozen=True, slots=True)
class Indexes:
    """Where packages come from."""

    settings: RepositorySettings
    credentials: Credentials = field(default_factory=Credentials, repr=False)

    @classmethod
    def over(cls, settings: RepositorySettings) -> Indexes:
        """Raises RepositoriesUnfit where the file of credentials cannot be used."""
        file = settings.setup_credentials
        if file is None:
            return cls(settings)
        return cls(settings, credentials(file, "FETTLE_SETUP_CREDENTIALS"))

    def headers(self, tenant: str) -> dict[str, str]:
        """The tenant's credentials, as `Authorization` headers by host."""
        grants = self.credentials.of(tenant)
        return {host: basic(granted.credential) for host, granted in grants.items()}

    def owners(self, tenant: str) -> tuple[tuple[str, str], ...]:
        """The hosts of the tenant's credentials, with the tenants that the credentials are for."""
        grants = self.credentials.of(tenant)
        return tuple(sorted((host, granted.owner) for host, granted in grants.items()))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the command sees in its directory: a layer, or these files alone."""

    layers: tuple[str, ...] = ()
    files: Mapping[str, bytes] | None = None


async def run(
    sandbox: Sandbox, indexes: Indexes, tenant: str, command: str, inputs: Inputs, archive: Path
) -> float:
    """Run the command with the tenant's credentials; return how many seconds it took. `archive` has
    the files that it left. Raises SetupFailed, SetupUnavailable if an index gave no answer, OSError
    if this machine's disk does not take the archive, and the sandbox's errors."""
    settings = indexes.settings
    most = settings.setup_bytes + MOST_FILES * (ENTRY.size + NAME_BYTES)
    fetched = FETCHED_TIMES * settings.setup_bytes
    packed = await asyncio.to_thread(pip)
    asked = {
        "command": command,
        "port": PROXY_PORT,
        "environment": environment(settings),
        "most_bytes": settings.setup_bytes,
        "most_files": MOST_FILES,
    }
    limits = limits_of(settings)
    hosts = settings.setup_sources
    async with Door.to(hosts, indexes.headers(tenant), archive, most, fetched) as door:
        own = {
            f"{_SCRATCH}/pip.zip": packed,
            f"{_SCRATCH}/ca.pem": door.authority.certificate(),
        }
        wanted = Command(
            argv=("python", "-I", "-c", (Path(__file__).parent / "inside.py").read_text()),
            files={**(inputs.files or {}), **own},
            stdin=json.dumps(asked).encode(),
            trees=inputs.layers,
            proxy=door,
            collect=False,
        )
        result = await sandbox.run(wanted, limits)
    if result.end is End.KILLED:
        raise SandboxUnavailable("the sandbox of a setup was killed from outside")
    if door.failed is not None:
        raise door.failed
    if not result.succeeded or not door.whole:
        raise _failure(result, limits, door)
    return result.seconds


def limits_of(settings: RepositorySettings) -> Limits:
    """What a setup may use. One file may fill the space: what is left of it is looked at later, and
    refused with the setting's name."""
    space = max(SPACE_BYTES, 2 * settings.setup_bytes)
    return Limits(
        wall_seconds=settings.setup_seconds,
        cpu_seconds=max(1, round(settings.setup_seconds)),
        memory_bytes=MEMORY_BYTES,
        processes=128,
        open_files=1_024,
        file_bytes=space,
        workspace_bytes=space,
        workspace_files=MOST_FILES,
    )


def environment(settings: RepositorySettings) -> dict[str, str]:
    """The variables by which programs find the operator's indexes, and trust the proxy."""
    found = {**_QUIET, **dict.fromkeys(_TRUSTS, f"{_AT}/ca.pem")}
    if settings.setup_index is not None:
        found["PIP_INDEX_URL"] = settings.setup_index
        if settings.setup_index.startswith("http://"):
            found["PIP_TRUSTED_HOST"] = urlsplit(settings.setup_index).netloc
    if settings.setup_npm_registry is not None:
        found["npm_config_registry"] = settings.setup_npm_registry
    return found


@cache
def pip() -> bytes:
    """This worker's pip, as a zip file: sandboxes have none."""
    spec = find_spec("pip")
    if spec is None or spec.origin is None:
        raise SandboxUnavailable("this worker has no pip: install Fettle with its locked packages")
    top = Path(spec.origin).parent
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(top.rglob("*")):
            if path.is_file() and path.suffix not in {".pyc", ".exe"}:
                name = f"pip/{path.relative_to(top)}"
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _failure(result: RunResult, limits: Limits, door: Door) -> SetupFailed | SetupUnavailable:
    how = ending(result.end, result.exit_code, result.signal, limits)
    if (setting := _SETTINGS.get(result.end)) is not None:
        how += f" ({setting})"
    refused = [f"refused: {each}" for each in door.proxy.refused]
    unreached = [f"no answer from {each}" for each in door.proxy.unreached]
    said = "\n".join(part.text.strip() for part in (result.stdout, result.stderr) if part.text)
    text = "\n".join((how, *refused, *unreached))
    kind = SetupUnavailable if unreached and not refused else SetupFailed
    return kind(text, said[-SAID_CHARACTERS:], round(result.seconds, 1))
