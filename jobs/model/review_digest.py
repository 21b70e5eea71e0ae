"""The digest of what a Review shows: a Decision names it, and applies to that content alone.

It covers what is approved: the code, how it ran, what it printed and which files it left (so that a
deleted one counts), the answer, the artifacts by their own digests, the report of checks, the
verification, and the patch by its own digest and base. What an older release did not put into a
review is left out, so that the review keeps its digest. Plan, critiques and earlier decisions are
how it came about. Another kind of review counts whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from jobs.model.codec import dump
from jobs.model.review import Review, ReviewKind

_OF_RUN = ("number", "code", "end", "exit_code", "signal", "stdout", "stderr")
_OF_ARTIFACT = ("name", "digest", "size", "media_type")


def digest_review(review: Review) -> str:
    """SHA-256, as 64 hexadecimal digits, over canonical JSON (keys in order, no spaces, UTF-8)."""
    shown = _approved(review.payload) if review.kind is ReviewKind.REVIEW else review.payload
    return hashlib.sha256(dump(shown, in_order=True).encode()).hexdigest()


def _approved(payload: Mapping[str, Any]) -> dict[str, Any]:
    artifacts = [_part(made, _OF_ARTIFACT) for made in payload.get("artifacts", ())]
    covered = {
        "code": payload.get("code", ""),
        "answer": payload.get("answer", ""),
        "runs": [_run(run) for run in payload.get("runs", ())],
        "artifacts": sorted(artifacts, key=lambda made: str(made["name"])),
    }
    later = ("checks", "verification", "patch")
    return covered | {name: payload[name] for name in later if name in payload}


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    covered = _part(run, _OF_RUN)
    return {**covered, "workspace": run["workspace"]} if "workspace" in run else covered


def _part(whole: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: whole.get(name) for name in names}
