"""Where the bytes of a deployment lie, from an operator's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.blobs import Blobs, DirectoryBlobs
from jobs.s3_blobs import Bucket, S3Blobs


def open_blobs(directory: Path, bucket: Mapping[str, Any] | None) -> Blobs:
    """The bucket (fields of `s3_blobs.Bucket`) where one is named, else the directory."""
    return S3Blobs(Bucket(**bucket)) if bucket is not None else DirectoryBlobs(directory)
