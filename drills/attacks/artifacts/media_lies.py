"""Calls web pages, drawings that act and programs by the names of pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from api.http.answers import untrusted_headers
from drills.attacks.attack import Attack
from drills.attacks.judges import broken, reached, reported
from drills.attacks.outcome import Observation, Verdict
from sandbox.media import media_type

if TYPE_CHECKING:
    from drills.attacks.context import Context

PAGE, DRAWING = (
    "<!doctype html><script>alert(1)</script>",
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
)
LIES = {
    "plot.png": PAGE,
    "photo.jpg": DRAWING,
    "anim.gif": "GIF89a/*" + PAGE,
    "notes.txt": PAGE,
    "page.html": PAGE,
    "drawing.svg": DRAWING,
    "run.js": "alert(1)",
    "plot.png.html": PAGE,
}
_PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/webp": b"RIFF",
}


def probe(given: dict[str, Any]) -> str | None:
    for name, text in given["lies"].items():
        with open(name, "w") as file:
            file.write(text)
    return None


async def drive(context: Context) -> Observation:
    """In a control, the API's headers are left out: what a careless server would send."""
    seen = await context.run()
    faults = []
    for name, data in seen.result.changed.items():
        said = media_type(name, data)
        sent = {} if context.is_control else untrusted_headers(name, said, "0" * 64)
        faults += [f"{name} is served as {said}: {why}" for why in _faults(said, data, sent)]
    return replace(seen, notes={"faults": faults})


def judge(seen: Observation) -> Verdict:
    if seen.result.changed.keys() != LIES.keys():
        return broken(f"came home: {sorted(seen.result.changed)}")
    faults = seen.notes["faults"]
    return reached(faults[0]) if faults else reported(seen)


def _faults(said: str, data: bytes, sent: dict[str, str]) -> list[str]:
    faults = []
    if not data.startswith(_PICTURES.get(said, b"")):
        faults.append("its bytes are none of the kind")
    if sent.get("X-Content-Type-Options") != "nosniff":
        faults.append("a browser may think otherwise")
    if "sandbox" not in sent.get("Content-Security-Policy", ""):
        faults.append("a page may act")
    shown = sent.get("Content-Disposition", "inline").startswith("inline")
    if shown and ("html" in said or "svg" in said or "script" in said):
        faults.append("a page is shown in place")
    return faults


ATTACK = Attack(
    probe,
    expects="a type by its bytes, and headers under which nothing that is served can act",
    given={"lies": LIES},
    drive=drive,
    judge=judge,
)
