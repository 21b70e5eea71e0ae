"""An S3 server on loopback, for tests: moto's, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import boto3
from moto.server import ThreadedMotoServer

from jobs.blobs.s3 import Bucket


@contextlib.contextmanager
def bucket(name: str = "fettle-blobs") -> Iterator[Bucket]:
    """A new bucket on a new server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        bucket = Bucket(
            name,
            prefix="blobs",
            endpoint=f"http://{host}:{port}",
            access_key="key",
            secret_key="secret",
            seconds=5.0,
        )
        boto3.client(
            "s3",
            endpoint_url=bucket.endpoint,
            aws_access_key_id=bucket.access_key,
            aws_secret_access_key=bucket.secret_key,
            region_name=bucket.region,
        ).create_bucket(Bucket=name)
        yield bucket
    finally:
        server.stop()
