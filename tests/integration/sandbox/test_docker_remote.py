"""An engine that is reached over TCP with TLS on both sides, on loopback.

The session's engine listens only on a unix socket, so the test puts a relay in front of it. The
relay requires the worker's certificate, as an engine with --tlsverify does.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.docker import DockerSandbox
from sandbox.protocol import Command, Limits, SandboxUnavailable

QUICK = Limits(wall_seconds=30.0)
HELLO = Command.python("print('hello')")


@dataclass(frozen=True)
class Authority:
    """A certificate authority, which writes PEM files."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        return cls(
            _signed(name, key, name, key, x509.BasicConstraints(ca=True, path_length=0)), key
        )

    def write_folder(self, folder: Path, signed_by: Authority | None = None) -> Path:
        """Write ca.pem of this authority, and cert.pem and key.pem of a certificate that
        `signed_by` has signed (by default this authority).
        """
        folder.mkdir()
        signer = signed_by or self
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, folder.name)])
        loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        extension = x509.SubjectAlternativeName([loopback])
        certificate = _signed(name, key, signer.certificate.subject, signer.key, extension)
        pem = serialization.Encoding.PEM
        (folder / "ca.pem").write_bytes(self.certificate.public_bytes(pem))
        (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
        (folder / "key.pem").write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        return folder


def _signed(subject, key, issuer, issuer_key, extension) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(extension, critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy data until one side has closed."""
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def relayed(socket: str, certificates: Path) -> AsyncIterator[int]:
    """A port of loopback that leads to the engine's socket, over TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        engine_reader, engine_writer = await asyncio.open_unix_connection(socket)
        pumps = [pump(reader, engine_writer), pump(engine_reader, writer)]
        _, pending = await asyncio.wait(
            [asyncio.create_task(each) for each in pumps], return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
        for stream in (writer, engine_writer):
            stream.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.fixture
def remote(docker_engine, authority, tmp_path) -> Callable:
    @asynccontextmanager
    async def make_backend(tls: Path | None) -> AsyncIterator[DockerSandbox]:
        engine_folder = authority.write_folder(tmp_path / "engine")
        async with relayed(docker_engine.host.removeprefix("unix://"), engine_folder) as port:
            backend = DockerSandbox(engine=f"tcp://127.0.0.1:{port}", tls=tls, pool_size=1)
            try:
                yield backend
            finally:
                await backend.close()

    return make_backend


async def test_runs_go_over_tls(remote, authority, tmp_path) -> None:
    async with remote(authority.write_folder(tmp_path / "worker")) as backend:
        await backend.wait_until_warm()
        for _ in range(3):
            assert (await backend.run(HELLO, QUICK)).stdout.text == "hello\n"
        large = {"in.bin": bytes(range(256)) * 4096 * 8}
        code = "data = open('in.bin', 'rb').read(); open('out.bin', 'wb').write(data[::-1])"
        result = await backend.run(Command.python(code, large), QUICK)
        assert result.changed == {"out.bin": large["in.bin"][::-1]}
        assert "engine" in {layer.name for layer in await backend.check()}


async def test_an_engine_with_an_untrusted_certificate_is_not_used(remote, tmp_path) -> None:
    stranger = Authority.create()
    async with remote(stranger.write_folder(tmp_path / "worker")) as backend:
        with pytest.raises(SandboxUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await backend.run(HELLO, QUICK)


async def test_a_worker_with_an_untrusted_certificate_is_refused(
    remote, authority, tmp_path
) -> None:
    foreign_folder = authority.write_folder(tmp_path / "worker", signed_by=Authority.create())
    async with remote(foreign_folder) as backend:
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
            await backend.run(HELLO, QUICK)


async def test_tls_is_never_omitted_silently(remote) -> None:
    async with remote(None) as backend:
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
            await backend.run(HELLO, QUICK)
