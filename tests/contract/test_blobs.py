"""Blobs store bytes under their digest: in a directory, and in a bucket."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from http.server import BaseHTTPRequestHandler

import pytest
from support.servers import s3_server
from support.servers.web_server import listening

from jobs.blobs.directory import DirectoryBlobs, digest_bytes
from jobs.blobs.s3 import S3Blobs
from jobs.errors import BlobMissing, BlobsUnavailable


@pytest.fixture(scope="module")
def bucket():
    with s3_server.bucket() as bucket:
        yield bucket


@pytest.fixture(params=["directory", "s3"])
def blobs(request, tmp_path):
    match request.param:
        case "directory":
            return DirectoryBlobs(tmp_path / "new" / "dir")
        case _:
            return S3Blobs(request.getfixturevalue("bucket"))


@pytest.mark.parametrize("content", [b"", b"text", bytes(range(256)) * 1000])
async def test_bytes_are_returned_by_their_sha256(blobs, content):
    digest = await blobs.put(content)
    assert digest == digest_bytes(content) == hashlib.sha256(content).hexdigest()
    assert await blobs.get(digest) == content
    assert await blobs.put(content) == digest


@pytest.mark.parametrize(
    "digest",
    ["", "0" * 64, "0" * 63, "0" * 65, "A" * 64, "../../../etc/passwd", "0" * 62 + "/.", "é" * 64],
)
async def test_an_unknown_digest_is_missing(blobs, digest):
    await blobs.put(b"something")
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_many_callers_may_store_the_same_bytes_at_once(blobs):
    digests = await asyncio.gather(*(blobs.put(b"same" * 10_000) for _ in range(20)))
    assert len(set(digests)) == 1
    assert await blobs.get(digests[0]) == b"same" * 10_000


async def test_removed_bytes_are_missing_and_can_be_stored_again(blobs):
    digest = await blobs.put(b"for a while")
    await blobs.remove(digest)
    await blobs.remove(digest)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)
    assert await blobs.put(b"for a while") == digest
    assert await blobs.get(digest) == b"for a while"


@pytest.mark.parametrize("wrong", [{"name": "no-such-bucket"}, {"endpoint": "http://127.0.0.1:9"}])
async def test_storage_that_is_unavailable_or_refuses_is_reported(bucket, wrong):
    blobs = S3Blobs(dataclasses.replace(bucket, seconds=0.5, **wrong))
    calls = (
        lambda: blobs.put(b"x"),
        lambda: blobs.get("0" * 64),
        lambda: blobs.remove("0" * 64),
        blobs.probe,
    )
    name = wrong.get("name", bucket.name)
    for ask in calls:
        with pytest.raises(BlobsUnavailable, match=f"the bucket {name}") as raised:
            await ask()
        assert name not in raised.value.reason  # tenants see these words
        assert "127.0.0.1" not in raised.value.reason


def other_service(status: int) -> type[BaseHTTPRequestHandler]:
    """A server that answers every request with `status`, as a proxy or another service would."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    methods = ("GET", "HEAD", "PUT", "POST", "DELETE")
    answers = {f"do_{method}": answer for method in methods}
    return type("OtherService", (BaseHTTPRequestHandler,), answers)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (301, "it does not answer, or fails"),  # the bucket is in another region
        (403, "it refuses access"),
        (404, "it does not answer, or fails"),
        (503, "it does not answer, or fails"),
    ],
)
async def test_every_answer_without_a_bucket_is_an_outage(bucket, status, reason):
    with listening(other_service(status)) as port:
        endpoint = f"http://127.0.0.1:{port}"
        blobs = S3Blobs(dataclasses.replace(bucket, seconds=1.0, endpoint=endpoint))
        for ask in (lambda: blobs.put(b"x"), lambda: blobs.remove("0" * 64), blobs.probe):
            with pytest.raises(BlobsUnavailable, match=f"the bucket {bucket.name}") as raised:
                await ask()
            assert raised.value.reason == reason


async def test_a_probe_leaves_no_object(blobs):
    await blobs.probe()
    if isinstance(blobs, DirectoryBlobs):
        assert [path for path in blobs._root.rglob("*") if path.is_file()] == []
    else:
        assert [name async for name in blobs._store.list(".probe")] == []
