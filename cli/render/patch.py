"""What a job has changed in its repository, and the command that goes on from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli.render.parts import Line, Part
from cli.render.words import patch_text


def patch_of(job: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What is known of the patch of its open review, else of its result; None: there is none."""
    shown = job["review"]["payload"] if job["review"] else job["result"]
    return (shown or {}).get("patch")


def patch_parts(job: Mapping[str, Any]) -> Iterator[Part]:
    """How large it is; how to see what waits for a decision, and how to take a result."""
    if patch := patch_of(job):
        command, does = ("patch", "shows") if job["review"] else ("apply", "applies")
        yield Line("patch", f"{patch_text(patch)}; `fettle {command} {job['id']}` {does} it")
