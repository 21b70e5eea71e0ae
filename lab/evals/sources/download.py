"""Downloads published sets of exercises, and caches them."""

from __future__ import annotations

import os
from pathlib import Path

import httpx

from lab.evals.errors import BadSet

URLS = {
    "humaneval": "https://raw.githubusercontent.com/openai/human-eval/master/data/HumanEval.jsonl.gz",
    "mbpp": "https://raw.githubusercontent.com/google-research/google-research/master/mbpp/mbpp.jsonl",
}
MOST_BYTES = 32 * 1024 * 1024
SECONDS = 30.0


def downloaded(name: str, url: str, folder: Path) -> Path:
    """The file, downloaded unless it is in `folder`. Raises BadSet, which suggests `--data`."""
    path = folder / f"{name}-{url.rpartition('/')[2]}"
    if path.exists():
        return path
    try:
        answer = httpx.get(url, follow_redirects=True, timeout=SECONDS)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise _unreachable(name, url, str(error) or type(error).__name__) from None
    if len(answer.content) > MOST_BYTES:
        raise _unreachable(name, url, f"{len(answer.content)} bytes are too many")
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(answer.content)
    part.replace(path)
    return path


def _unreachable(name: str, url: str, reason: str) -> BadSet:
    return BadSet(
        f"{name} could not be downloaded",
        f"{url}: {reason}",
        f"name a file that you have: fettle bench {name} --data PATH (.jsonl or .jsonl.gz)",
    )
