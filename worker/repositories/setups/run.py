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
from worker.repositories.credentials import HostCredentials, basic, credentials
from worker.repositories.errors import SetupFailed, SetupUnavailable
from worker.repositories.setups.archive import NAME_BYTES
from worker.repositories.setups.inside import ENTRY

RESULT_REQUEST = b"PUT /layer "
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length: (\d{1,18})\r\n")
_CHUNK = 1024 * 1024


@dataclass(slots=True)
class SetupNetwork:
    """Answers the connections of one run: requests to the proxy, and the request with the result.
    A run that is repeated sends its result again, which replaces the archive."""

    archive: Path
    """The file that the result is written to."""
    max_bytes: int
    """The largest archive."""
    authority: Authority
    proxy: Proxy
    is_complete: bool = False
    """Whether the archive has the whole result."""
    disk_error: OSError | None = None
    """The error of this machine's disk while the result was written."""
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        hosts: tuple[str, ...],
        credentials: Mapping[str, str],
        archive: Path,
        max_bytes: int,
        fetched_bytes: int,
    ) -> AsyncIterator[SetupNetwork]:
        """A network with these hosts. Hosts that are named in full may be in an intranet."""
        authority = Authority()
        proxy = Proxy(
            HostList(hosts),
            fetched_bytes,
            private=True,
            authority=authority,
            credentials=credentials,
        )
        async with aclosing(proxy):
            yield cls(archive, max_bytes, authority, proxy)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection, and close it."""
        try:
            head = await reader.readuntil(_HEAD_END)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()
            return
        if not head.startswith(RESULT_REQUEST):
            await self.proxy.answer(reader, writer, head)
            return
        try:
            status, reason = await self._receive(reader, head)
            body = reason.encode()
            writer.write(b"HTTP/1.1 %b\r\nConnection: close\r\n" % status)
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the connection ended within the request
        except OSError as error:
            self.disk_error = error
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _receive(self, reader: asyncio.StreamReader, head: bytes) -> tuple[bytes, str]:
        """Write the result to the archive. Returns a status, and the reason of a refusal."""
        length = _LENGTH.search(head)
        if length is None or (remaining := int(length[1])) > self.max_bytes:
            return b"413 Content Too Large", "it left more than is taken"
        async with self._writing:
            self.is_complete, self.disk_error = False, None
            with self.archive.open("wb") as file:
                while remaining:
                    part = await reader.readexactly(min(remaining, _CHUNK))
                    remaining -= file.write(part)
            self.is_complete = True
            return b"200 OK", ""


MOST_FILES = 60_000
MEMORY_BYTES = 2_048 * MIB
SPACE_BYTES = 1_024 * MIB
"""The space for installed packages and for temporary files of programs."""
FETCHED_TIMES = 2
"""A setup may fetch this many times the bytes that may stay: builds discard some of them."""
OUTPUT_CHARACTERS = 3_000
"""The end of the command's output that an error keeps."""
_SCRATCH = ".setup/scratch"
_AT = f"/work/{_SCRATCH}"
_CERTIFICATE_VARIABLES = (
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
    """The package indexes, by the operator's settings."""

    settings: RepositorySettings
    credentials: HostCredentials = field(default_factory=HostCredentials, repr=False)

    @classmethod
    def from_settings(cls, settings: RepositorySettings) -> Indexes:
        """The indexes of the settings. Raises RepositoriesUnfit if the file of credentials is
        wrong."""
        file = settings.setup_credentials
        if file is None:
            return cls(settings)
        return cls(settings, credentials(file, "FETTLE_SETUP_CREDENTIALS"))

    def headers(self, tenant: str) -> dict[str, str]:
        """The credentials of the tenant, as `Authorization` headers by host."""
        grants = self.credentials.of(tenant)
        return {host: basic(granted.credential) for host, granted in grants.items()}

    def owners(self, tenant: str) -> tuple[tuple[str, str], ...]:
        """The hosts of the tenant's credentials, with the tenants that the credentials are for."""
        grants = self.credentials.of(tenant)
        return tuple(sorted((host, granted.owner) for host, granted in grants.items()))


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files that the command sees: the files of layers, or only `files`."""

    layers: tuple[str, ...] = ()
    files: Mapping[str, bytes] | None = None


async def run(
    sandbox: Sandbox, indexes: Indexes, tenant: str, command: str, inputs: Inputs, archive: Path
) -> float:
    """Run the command with the tenant's credentials, and write its files to `archive`. Returns its
    duration in seconds. Raises SetupFailed, SetupUnavailable if an index did not answer, OSError if
    this machine's disk fails, and SandboxUnavailable."""
    settings = indexes.settings
    archive_bytes = settings.setup_bytes + MOST_FILES * (ENTRY.size + NAME_BYTES)
    fetched_bytes = FETCHED_TIMES * settings.setup_bytes
    request = {
        "command": command,
        "port": PROXY_PORT,
        "environment": environment(settings),
        "most_bytes": settings.setup_bytes,
        "most_files": MOST_FILES,
    }
    limits = limits_of(settings)
    headers = indexes.headers(tenant)
    async with SetupNetwork.open(
        settings.setup_sources, headers, archive, archive_bytes, fetched_bytes
    ) as network:
        tools = {
            f"{_SCRATCH}/pip.zip": await asyncio.to_thread(pip),
            f"{_SCRATCH}/ca.pem": network.authority.certificate(),
        }
        run_command = Command(
            argv=("python", "-I", "-c", (Path(__file__).parent / "inside.py").read_text()),
            files={**(inputs.files or {}), **tools},
            stdin=json.dumps(request).encode(),
            trees=inputs.layers,
            proxy=network,
            collect=False,
        )
        result = await sandbox.run(run_command, limits)
    if result.end is End.KILLED:
        raise SandboxUnavailable("the sandbox of a setup was killed from outside")
    if network.disk_error is not None:
        raise network.disk_error
    if not result.succeeded or not network.is_complete:
        raise _failure(result, limits, network)
    return result.seconds


def limits_of(settings: RepositorySettings) -> Limits:
    """The limits of a setup. One file may fill the space: its size is checked later, so that the
    error names the setting."""
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
    variables = {**_QUIET, **dict.fromkeys(_CERTIFICATE_VARIABLES, f"{_AT}/ca.pem")}
    if settings.setup_index is not None:
        variables["PIP_INDEX_URL"] = settings.setup_index
        if settings.setup_index.startswith("http://"):
            variables["PIP_TRUSTED_HOST"] = urlsplit(settings.setup_index).netloc
    if settings.setup_npm_registry is not None:
        variables["npm_config_registry"] = settings.setup_npm_registry
    return variables


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


def _failure(
    result: RunResult, limits: Limits, network: SetupNetwork
) -> SetupFailed | SetupUnavailable:
    reason = ending(result.end, result.exit_code, result.signal, limits)
    if (setting := _SETTINGS.get(result.end)) is not None:
        reason += f" ({setting})"
    refused = [f"refused: {request}" for request in network.proxy.refused]
    unreached = [f"no answer from {host}" for host in network.proxy.unreached]
    output = "\n".join(part.text.strip() for part in (result.stdout, result.stderr) if part.text)
    text = "\n".join((reason, *refused, *unreached))
    error = SetupUnavailable if unreached and not refused else SetupFailed
    return error(text, output[-OUTPUT_CHARACTERS:], round(result.seconds, 1))
