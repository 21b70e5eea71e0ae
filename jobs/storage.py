"""Where the bytes of a deployment lie, from an operator's settings."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.blobs import Blobs, DirectoryBlobs


def open_blobs(directory: Path, bucket: Mapping[str, Any] | None) -> Blobs:
    """The bucket (fields of `s3_blobs.Bucket`) where one is named, else the directory.

    The bucket's library is an extra of the package, and is loaded for it alone.
    """
    if bucket is None:
        return DirectoryBlobs(directory)
    s3_blobs = importlib.import_module("jobs.s3_blobs")
    blobs: Blobs = s3_blobs.S3Blobs(s3_blobs.Bucket(**bucket))
    return blobs
