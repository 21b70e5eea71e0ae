"""The digest of a Review. A Decision names the digest, and applies only to a Review with this
digest.

The digest covers the object of the approval: the code, its runs with their output and the files
that they left (so that a deleted file changes it), the answer, the artifacts by their digests, the
report of the checks, the verification, and the patch by its digest and base. Fields that Fettle
0.1.0 did not put into a review are left out of its reviews, so that a review keeps its digest. The
plan, critiques and earlier decisions are not covered. For other kinds of reviews, the digest covers
the full payload.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from jobs.model.codec import dump
from jobs.model.review import Review, ReviewKind

_RUN_FIELDS = ("number", "code", "end", "exit_code", "signal", "stdout", "stderr")
_ARTIFACT_FIELDS = ("name", "digest", "size", "media_type")


def digest_review(review: Review) -> str:
    """SHA-256, as 64 hexadecimal digits, over canonical JSON (keys in order, no spaces, UTF-8)."""
    covered = _approved(review.payload) if review.kind is ReviewKind.REVIEW else review.payload
    return hashlib.sha256(dump(covered, in_order=True).encode()).hexdigest()


def _approved(payload: Mapping[str, Any]) -> dict[str, Any]:
    artifacts = [_select(artifact, _ARTIFACT_FIELDS) for artifact in payload.get("artifacts", ())]
    covered = {
        "code": payload.get("code", ""),
        "answer": payload.get("answer", ""),
        "runs": [_run(run) for run in payload.get("runs", ())],
        "artifacts": sorted(artifacts, key=lambda artifact: str(artifact["name"])),
    }
    optional = ("checks", "verification", "patch")
    return covered | {name: payload[name] for name in optional if name in payload}


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    covered = _select(run, _RUN_FIELDS)
    return {**covered, "workspace": run["workspace"]} if "workspace" in run else covered


def _select(data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: data.get(name) for name in names}
