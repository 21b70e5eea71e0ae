"""Authority: certificates for one run, so that the proxy can read its requests over TLS."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from tempfile import NamedTemporaryFile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agents.errors import ToolRefused

MOST_HOSTS = 100
"""The most hosts of one run: each needs 7 ms and 19 KB, and a `*.` pattern matches any number."""
_DAY = timedelta(days=1)
_NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Fettle, for one run")])
_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs a certificate for each host. Its own key stays in this process; the key of a host is in
    a temporary file for a moment."""

    _signs: ec.EllipticCurvePrivateKey = field(default_factory=_key, repr=False)
    _serves: ec.EllipticCurvePrivateKey = field(default_factory=_key, repr=False)
    _contexts: dict[str, ssl.SSLContext] = field(default_factory=dict, repr=False)

    def certificate(self) -> bytes:
        """The authority's certificate as PEM. The code must trust it."""
        builder = (
            self._builder(_NAME, self._signs)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS, critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._signs.public_key()), critical=False
            )
        )
        return self._sign(builder)

    def context(self, host: str) -> ssl.SSLContext:
        """The TLS context of a server with this name. Raises ToolRefused for too many names."""
        if host not in self._contexts:
            if len(self._contexts) >= MOST_HOSTS:
                raise ToolRefused(f"a setup may use at most {MOST_HOSTS} hosts")
            self._contexts[host] = self._served(host)
        return self._contexts[host]

    def _served(self, host: str) -> ssl.SSLContext:
        builder = (
            self._builder(x509.Name([]), self._serves)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._signs.public_key()),
                critical=False,
            )
        )
        key = self._serves.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with NamedTemporaryFile() as file:  # `ssl` reads keys only from files
            file.write(key + self._sign(builder))
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(_NAME)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
        )

    def _sign(self, builder: x509.CertificateBuilder) -> bytes:
        return builder.sign(self._signs, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
