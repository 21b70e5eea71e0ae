"""Blobs in a bucket of S3-compatible storage, for workers on several machines.

Each blob is one object, named by its digest below a prefix, as in the directory. An object is
complete or absent, and its name is the digest of its content, so no comparison is necessary.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from jobs.blobs.directory import Blobs, check_digest, digest_bytes, verify_bytes
from jobs.errors import BlobMissing, BlobsUnavailable

if TYPE_CHECKING:
    from obstore.store import S3Config  # this name exists for type checkers only

T = TypeVar("T")
_NO_BUCKET = "NoSuchBucket"
"""S3's error code in the answer 404 if the bucket does not exist."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and the access to it. Without keys, the role of the machine or container gives
    access."""

    name: str
    prefix: str = ""
    """The beginning of each object's name."""
    endpoint: str | None = None
    """None: Amazon's endpoint."""
    region: str = "us-east-1"
    access_key: str | None = None
    secret_key: str | None = None
    seconds: float = 10.0
    """How long one request may take. It is tried twice more if the storage is unavailable."""


class S3Blobs(Blobs):
    """The blobs of a bucket. Raises BlobsUnavailable if the storage fails or refuses."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        config: S3Config = {"region": bucket.region}
        if bucket.endpoint is not None:
            # Most storage that is not Amazon's has one host name for all buckets.
            config |= {"endpoint": bucket.endpoint, "virtual_hosted_style_request": False}
        if bucket.access_key is not None and bucket.secret_key is not None:
            config |= {
                "access_key_id": bucket.access_key,
                "secret_access_key": bucket.secret_key,
            }
        plain = (bucket.endpoint or "").startswith("http://")
        limit = dt.timedelta(seconds=bucket.seconds)
        self._store = S3Store(
            bucket.name,
            prefix=bucket.prefix or None,
            config=config,
            client_options={"allow_http": plain, "timeout": limit},
            retry_config={"max_retries": 2, "retry_timeout": limit * 3},
        )

    async def put(self, content: bytes) -> str:
        """See Blobs."""
        digest = await asyncio.to_thread(digest_bytes, content)
        try:
            await obstore.head_async(self._store, _object_name(digest))
        except FileNotFoundError:
            await self._translate_errors(self._create(digest, content))
        except BaseError as error:
            raise self._unavailable(error) from error
        return digest

    async def get(self, digest: str) -> bytes:
        """See Blobs."""
        try:
            response = await obstore.get_async(self._store, _object_name(digest))
            content = bytes(await response.bytes_async())
        except FileNotFoundError as error:
            if _NO_BUCKET in str(error):
                raise self._unavailable(error) from error
            raise BlobMissing(digest) from None
        except BaseError as error:
            raise self._unavailable(error) from error
        return await asyncio.to_thread(verify_bytes, digest, content)

    async def remove(self, digest: str) -> None:
        """See Blobs."""
        await self._translate_errors(obstore.delete_async(self._store, _object_name(digest)))

    async def probe(self) -> None:
        """See Blobs."""
        # Few bytes, because a bucket with versions keeps each probe for ever.
        content = secrets.token_bytes(16)
        name = f".probe/{content.hex()}"
        await self._translate_errors(obstore.put_async(self._store, name, content))
        try:
            response = await self._translate_errors(obstore.get_async(self._store, name))
            if bytes(await self._translate_errors(response.bytes_async())) != content:
                raise self._unavailable(ValueError(f"{name} was read with other bytes"))
        finally:
            await self._translate_errors(obstore.delete_async(self._store, name))

    async def _create(self, digest: str, content: bytes) -> None:
        with contextlib.suppress(AlreadyExistsError):  # another put of the same bytes was first
            await obstore.put_async(self._store, _object_name(digest), content, mode="create")

    async def _translate_errors(self, request: Awaitable[T]) -> T:
        """The answer of the storage; raises BlobsUnavailable. 404 is an outage, too: the bucket is
        missing, or another service answers at this address. Only `get` gives 404 another meaning.
        """
        try:
            return await request
        except (BaseError, OSError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> BlobsUnavailable:
        # The library appends a trace of its own source code to the text.
        text = str(error).split("\n\nDebug source:")[0].strip()
        reason = "it does not answer, or fails"
        if _NO_BUCKET in text:
            reason = "its bucket does not exist"
        elif isinstance(error, PermissionDeniedError | UnauthenticatedError):
            reason = "it refuses access"
        return BlobsUnavailable(f"the bucket {self._bucket.name}: {text}", reason)


def _object_name(digest: str) -> str:
    check_digest(digest)
    return f"{digest[:2]}/{digest[2:]}"
