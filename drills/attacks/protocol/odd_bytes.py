"""Writes what is no text: NUL, halves of surrogates, invalid and cut UTF-8, direction marks."""

from __future__ import annotations

import json
from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.judges import broken, held, reached
from drills.attacks.outcome import Observation, Verdict


def probe(given: dict[str, Any]) -> str | None:
    import os

    odd = (
        b"\0 \xed\xa0\x80 \xed\xb0\x80 \xc0\xaf \xff\xfe \xf8\x88\x80\x80\x80 \xe2\x80\xae \xf0\x9f"
    )
    for fd in (1, 2):
        os.write(fd, b"odd:" + odd)
    os._exit(0)


def judge(seen: Observation) -> Verdict:
    for stream in (seen.result.stdout, seen.result.stderr):
        if not stream.text.startswith("odd:"):
            return broken(f"the output is {stream.text!r}")
        try:
            if json.loads(json.dumps(stream.text).encode()) != stream.text:
                return reached("the text changes on its way through JSON")
            stream.text.encode()
        except UnicodeError as error:
            return reached(f"the text of an output cannot be written down: {error}")
    return held(repr(seen.result.stdout.text))


ATTACK = Attack(
    probe,
    expects="text that can be written down as UTF-8 and as JSON, whatever the bytes were",
    judge=judge,
)
